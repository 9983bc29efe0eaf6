"""Ports in a sandbox: HTTP through the API's proxy, and raw TCP."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional

import httpcore
import httpx

from .. import errors
from .._wire import segment
from ._transport import AsyncTransport


class AsyncTcpStream:
    """Raw bytes to a port in a sandbox. ``async with`` closes it."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._stream = response.extensions["network_stream"]

    async def read(self, max_bytes: int = 65536, timeout: Optional[float] = None) -> bytes:
        """At least one byte, or none at the end. ``ReadTimeout`` after ``timeout`` seconds, and reading may go on then;
        ``ConnectionLost`` when the port, or the way to it, broke the connection."""
        with _told("reading from", timeout):
            data: bytes = await self._stream.read(max_bytes, timeout)
        return data

    async def write(self, data: bytes, timeout: Optional[float] = None) -> None:
        """All of it is on its way when this returns. ``WriteTimeout`` when the port took none of it for ``timeout`` seconds: how
        much of ``data`` has gone isn't known then."""
        with _told("writing to", timeout):
            await self._stream.write(data, timeout)

    async def write_eof(self) -> None:
        """Ends our direction: the port reads the end of file; reading goes on. Over TLS, which can't be half closed here, it is
        ``Unimplemented``."""
        if self._stream.get_extra_info("ssl_object") is not None:
            raise errors.Unimplemented("a TLS connection can't be half closed by this client; 'harena port-forward' can")
        self._stream.get_extra_info("socket").shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        await self._response.aclose()

    async def __aenter__(self) -> "AsyncTcpStream":
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.aclose()


class AsyncPorts:
    def __init__(self, transport: AsyncTransport, sandbox_id: str) -> None:
        self._transport = transport
        self._path = f"/sandboxes/{segment(sandbox_id)}/ports"

    def url(self, port: int, path: str = "/") -> str:
        """Where the port's HTTP server answers; requests to it need ``headers()``. WebSocket works under ``ws`` too."""
        return f"{self._transport.config.base_url}{self._path}/{_port(port)}/{path.lstrip('/')}"

    def headers(self) -> Dict[str, str]:
        return self._transport.headers()

    async def request(self, method: str, port: int, path: str = "/", **options: Any) -> httpx.Response:
        """One HTTP request to the port. The answer is the sandbox's own, whatever its status, and isn't repeated."""
        headers = self._transport.headers(options.pop("headers", None))
        try:
            return await self._transport.http.request(method, self.url(port, path), headers=headers, **options)
        except httpx.TransportError as failure:
            raise self._transport.wrap(failure) from failure

    async def tcp(self, port: int) -> AsyncTcpStream:
        """Connects to any TCP server in the sandbox; its loopback included."""
        http = self._transport.http
        request = http.build_request(
            "GET", f"{self._transport.config.base_url}{self._path}/{_port(port)}",
            headers=self._transport.headers({"Connection": "Upgrade", "Upgrade": "tcp"}),
            timeout=httpx.Timeout(self._transport.timeouts.connect, read=self._transport.timeouts.read))
        try:
            response = await http.send(request, stream=True)
        except httpx.TransportError as failure:
            raise self._transport.wrap(failure) from failure
        if response.status_code == 101:
            return AsyncTcpStream(response)
        await response.aread()
        await response.aclose()
        raise errors.error_from_body(_error_body(response), response.status_code)


@contextmanager
def _told(what: str, timeout: Optional[float]) -> Iterator[None]:
    """The errors of the transport below, in this SDK's words."""
    try:
        yield
    except httpcore.ReadTimeout:
        raise errors.ReadTimeout(f"{what} the port: nothing came for {timeout:g} s") from None
    except httpcore.WriteTimeout:
        raise errors.WriteTimeout(f"{what} the port: nothing was taken for {timeout:g} s") from None
    except (httpcore.NetworkError, OSError) as failure:
        raise errors.ConnectionLost(f"{what} the port: the connection was broken: {failure or type(failure).__name__}") from failure


def _port(port: int) -> int:
    if not isinstance(port, int) or not 1 <= port <= 65535:
        raise ValueError(f"port {port!r}: a port is a number from 1 to 65535")
    return port


def _error_body(response: httpx.Response) -> Any:
    try:
        return response.json().get("error")
    except (ValueError, AttributeError):
        return None
