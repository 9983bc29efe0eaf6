"""Folders of a sandbox as tar streams: one request for all that is in them."""

from __future__ import annotations

import os
from typing import AsyncIterator, Callable, IO, Optional

from .. import errors
from .._tar import pack, unpack
from ..types import Progress, ProgressCallback
from . import _runtime
from ._transport import AsyncTransport

_TAR = {"Content-Type": "application/x-tar"}


class _Meter:
    """Tells the caller how far it is; the total isn't known before the end."""

    def __init__(self, callback: Optional[ProgressCallback]) -> None:
        self._callback = callback
        self._what, self._bytes, self._entries = "", 0, 0

    def restart(self) -> None:
        self._bytes = self._entries = 0

    def add(self, count: int) -> None:
        self._bytes += count
        self.tell()

    def entry(self, name: str) -> None:
        self._what = name
        self._entries += 1

    def tell(self) -> None:
        if self._callback is not None:
            self._callback(Progress(self._what, self._bytes, None, self._entries))


async def upload_tree(transport: AsyncTransport, where: str, root: str, progress: Optional[ProgressCallback]) -> None:
    meter = _Meter(progress)
    await transport.request("PUT", where, content=lambda: _packed(root, meter), headers=_TAR, begun=True)


async def _packed(root: str, meter: _Meter) -> AsyncIterator[bytes]:
    meter.restart()
    pieces = pack(root)
    while True:
        piece = await _runtime.in_thread(next, pieces, b"")
        if not piece:
            return
        meter.add(len(piece))
        yield piece


async def download_tree(transport: AsyncTransport, where: str, root: str, progress: Optional[ProgressCallback]) -> None:
    """A lost connection begins again: what was laid out already is replaced by the same."""
    meter = _Meter(progress)
    attempts = transport.stream_attempts()
    while True:
        meter.restart()
        try:
            async with transport.stream("GET", where, headers={"Accept": "application/x-tar"}, repeat=False) as response:
                await _lay_out(response.aiter_bytes(), root, meter)
            return meter.tell()
        except errors.TransportError as error:
            delay = attempts.next_delay(error)
        await _runtime.sleep(delay)


async def _lay_out(pieces: AsyncIterator[bytes], root: str, meter: _Meter) -> None:
    """The bytes go through a pipe to the one who lays them out beside us: he reads, we are called."""
    reader, writer = os.pipe()
    worker = _runtime.Background()
    worker.start(_read_archive, os.fdopen(reader, "rb"), root, meter.entry)
    with os.fdopen(writer, "wb", buffering=0) as pipe:
        try:
            async for piece in pieces:
                meter.add(len(piece))
                await _runtime.in_thread(_write_all, pipe, piece)
        except BrokenPipeError:
            pass  # he gave up, and says why below
        except BaseException:
            pipe.close()
            await _runtime.quietly(worker)
            raise
    await worker.finish()


async def _read_archive(source: IO[bytes], root: str, on_entry: Callable[[str], None]) -> None:
    await _runtime.in_thread(_unpack, source, root, on_entry)


def _unpack(source: IO[bytes], root: str, on_entry: Callable[[str], None]) -> None:
    with source:
        unpack(source, root, on_entry)


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[pipe.write(view):]
