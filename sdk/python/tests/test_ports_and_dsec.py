"""Ports, and the names of the published design."""

import asyncio
import socket
import threading

import pytest
from fake_server import TOKEN

import harena


@pytest.fixture
def echo():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                while True:
                    data = peer.recv(65536)
                    if not data:
                        break
                    peer.sendall(data)
    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def test_tcp_and_http(sandbox, fake, echo, open_async):
    fake.ports[8080] = echo
    with sandbox.ports.tcp(8080) as stream:
        stream.write(b"\0raw\xff")
        assert stream.read() == b"\0raw\xff"
        stream.write(b"last")
        stream.write_eof()
        assert stream.read() == b"last" and stream.read() == b""
    answer = sandbox.ports.request("DELETE", 8080, "/a/b?c=d")
    assert answer.text == "DELETE 8080/a/b?c=d"
    assert sandbox.ports.url(8080, "/x").endswith(f"/sandboxes/{sandbox.id}/ports/8080/x")
    with pytest.raises(harena.Unavailable) as caught:
        sandbox.ports.tcp(81)
    assert caught.value.details["reason"] == "port_closed"
    with pytest.raises(ValueError, match="1 to 65535"):
        sandbox.ports.tcp(0)

    async def main():
        async with open_async() as client:
            other = await client.get(sandbox.id)
            async with await other.ports.tcp(8080) as stream:
                await stream.write(b"async")
                assert await stream.read() == b"async"
                await stream.write_eof()
                assert await stream.read() == b""

    asyncio.run(main())


def test_listing_one_of_the_paper(fake, monkeypatch):
    monkeypatch.setenv("HARENA_URL", fake.url)
    monkeypatch.setenv("HARENA_TOKEN", TOKEN)

    async def main():
        client = harena.DSecClient()
        await client.open()
        args = harena.DSecContainerRunArgs(
            container_image="root/sphinx-9658:official", memory_limit_mb=4096, cpu_cores_limit=4, ttl_running_stop=300,
            network_rules={"npm": False, "pypi": False}, init_user="root")
        sandbox = await client.run_container(args, timeout=120)
        result = await sandbox.run_shell("echo hello world")
        assert result.stdout == "hello world\n"
        await sandbox.stop()
        await client.close()
        return sandbox

    sandbox = asyncio.run(main())
    assert sandbox.info.params == {"memory": 4096 * 1024 * 1024, "cpu": 4, "user": "root"} and sandbox.info.idle_ttl_s == 300
    assert [one[2].get("user") for one in fake.requests if one[1].endswith("/commands")] == ["root"]


def test_the_second_style(fake):
    async def main():
        async with harena.DSecClient(fake.url, TOKEN) as client:
            sb = await client.run_sandbox(harena.DSecRunArgs(backend="container", image="root/base:v1"))
            assert (await sb.run_shell("printf %s $((6*7))")).stdout == "42"
            with pytest.raises(harena.Unimplemented, match="fork"):
                await sb.fork(count=4)
            await sb.stop()

    asyncio.run(main())


def test_open_networks_and_nonsense_are_refused_with_a_sentence():
    args = harena.DSecContainerRunArgs("root/base:v1", network_rules={"npm": False, "pypi": True})
    with pytest.raises(harena.Unimplemented, match="'pypi'.*would open the network"):
        args.to_args()
    with pytest.raises(harena.InvalidArgument, match="'yes'"):
        harena.DSecContainerRunArgs("root/base:v1", network_rules={"pypi": "yes"}).to_args()
    with pytest.raises(harena.InvalidArgument, match="memory_limit_mb=0"):
        harena.DSecContainerRunArgs("root/base:v1", memory_limit_mb=0).to_args()


def test_it_must_be_open(fake):
    async def main():
        with pytest.raises(harena.FailedPrecondition, match="isn't open"):
            await harena.DSecClient(fake.url, TOKEN).run_sandbox(harena.DSecRunArgs("container"))
        with pytest.raises(harena.Unauthenticated):
            await harena.DSecClient(fake.url, "wrong").open()

    asyncio.run(main())
