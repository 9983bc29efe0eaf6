"""What one execution has put out and its reader hasn't taken: a bounded queue that can hold its kernel back."""

import asyncio
import json

from .limits import PENDING_HIGH_BYTES, PENDING_LOW_BYTES


def encoded(event):
    """One line of the stream. Values that JSON has no word for (NaN, infinite) become null, as clients' parsers demand."""
    try:
        text = json.dumps(event, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(json.loads(json.dumps(event), parse_constant=lambda _: None), separators=(",", ":"))
    return text.encode() + b"\n"


class Output:
    """What ``bind`` names is called when the pending bytes pass the marks of limits.py: ``hold`` and ``go_on`` in turns."""

    def __init__(self):
        self._hold = self._go_on = lambda: None
        self._lines = []
        self._bytes = 0
        self._held = False
        self._wanted = True
        self._ended = False
        self._changed = asyncio.Event()

    def bind(self, hold=lambda: None, go_on=lambda: None):
        """From here on another kernel is held; the one before goes on."""
        self._release()
        self._hold, self._go_on = hold, go_on
        self._check()

    def put(self, event):
        if not self._wanted or self._ended:
            return
        line = encoded(event)
        self._lines.append(line)
        self._bytes += len(line)
        self._check()
        self._changed.set()

    def _check(self):
        if self._bytes > PENDING_HIGH_BYTES and not self._held:
            self._held = True
            self._hold()

    def end(self):
        """The last event was put."""
        self.put({"type": "end_of_execution"})
        self._ended = True
        self._changed.set()

    def discard(self):
        """The reader is gone: what is pending and what comes is dropped, and the kernel isn't held back by it."""
        self._wanted = False
        self._lines.clear()
        self._bytes = 0
        self._release()

    async def take(self, timeout):
        """The lines so far as bytes; b"" when ``timeout`` seconds brought none; None after the end."""
        if not self._lines and not self._ended:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), timeout)
            except asyncio.TimeoutError:
                return b""
        if not self._lines:
            return None if self._ended else b""
        taken = b"".join(self._lines)
        self._lines.clear()
        return taken

    def sent(self, count):
        """``count`` bytes of what was taken have gone out."""
        self._bytes -= count
        if self._bytes <= PENDING_LOW_BYTES:
            self._release()

    def _release(self):
        if self._held:
            self._held = False
            self._go_on()
