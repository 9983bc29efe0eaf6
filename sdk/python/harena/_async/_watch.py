"""What happens in a folder of a sandbox, as it happens."""

from __future__ import annotations

from typing import Any, AsyncIterator, Dict

from .. import errors
from .._wire import LineSplitter, parse_line
from ..types import FileEvent
from . import _runtime
from ._transport import AsyncTransport

#: The server sends a sign of life every 15 s.
_SILENCE_S = 40.0


async def watch(transport: AsyncTransport, where: str) -> AsyncIterator[FileEvent]:
    """Events of one ``files/watch``. After a lost connection the folder is watched anew and ``overflow`` says that
    something may have been missed."""
    attempts, seen_ready = transport.stream_attempts(), False
    while True:
        try:
            async with _runtime.closing(_lines(transport, where)) as lines:
                async for line in lines:
                    attempts = transport.stream_attempts()
                    event = FileEvent.from_json(line)
                    if event.kind == "ready" and seen_ready:
                        event = FileEvent("overflow", "")
                    seen_ready = True
                    yield event
            return
        except errors.HarenaError as error:
            delay = attempts.next_delay(error)
        await _runtime.sleep(delay)


async def _lines(transport: AsyncTransport, where: str) -> AsyncIterator[Dict[str, Any]]:
    splitter = LineSplitter()
    async with transport.stream("GET", where, read_timeout=_SILENCE_S, repeat=False) as response:
        async for piece in response.aiter_bytes():
            for raw in splitter.feed(piece):
                line = parse_line(raw)
                if "error" in line:
                    raise errors.error_from_body(line["error"])
                if line:  # else a sign of life
                    yield line
