"""The SDK's raw connections to a port: ends, resets and time limits told apart."""

import asyncio

import pytest

import harena
from port_tools import ports, python_image, service_sandbox  # noqa: F401


def test_ends_and_limits(service_sandbox):  # noqa: F811
    with service_sandbox.ports.tcp(8000) as stream:
        stream.write(b"ECHO\n")
        with pytest.raises(harena.ReadTimeout, match="0.2 s"):
            stream.read(timeout=0.2)
        stream.write(b"after the limit")
        assert stream.read(timeout=60) == b"after the limit"
        stream.write_eof()
        assert stream.read(timeout=60) == b"|end" and stream.read(timeout=60) == b""
    with service_sandbox.ports.tcp(8000) as stream:
        stream.write(b"RESET\n")
        assert stream.read(timeout=60) == b"before"
        stream.write(b"!")
        with pytest.raises(harena.ConnectionLost):
            stream.read(timeout=60)
    with service_sandbox.ports.tcp(8000) as stream:
        stream.write(b"STALL\n")
        with pytest.raises(harena.WriteTimeout):
            for _ in range(1000):
                stream.write(b"x" * 1_000_000, timeout=0.5)


def test_the_same_with_await(harenad, service_sandbox):  # noqa: F811
    async def main():
        async with harenad.async_client() as client:
            sandbox = await client.get(service_sandbox.id)
            async with await sandbox.ports.tcp(8000) as stream:
                await stream.write(b"ECHO\n")
                with pytest.raises(harena.ReadTimeout):
                    await stream.read(timeout=0.2)
                await stream.write(b"x")
                assert await stream.read() == b"x"
                await stream.write_eof()
                assert await stream.read() == b"|end" and await stream.read() == b""
            async with await sandbox.ports.tcp(8000) as stream:
                await stream.write(b"RESET\n")
                assert await stream.read() == b"before"
                await stream.write(b"!")
                with pytest.raises(harena.ConnectionLost):
                    await stream.read()

    asyncio.run(main())
