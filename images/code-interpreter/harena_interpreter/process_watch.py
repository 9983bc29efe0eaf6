"""Tells when a process has ended, without asking again and again."""

import asyncio
import os


class ProcessWatch:
    """Calls ``ended()`` once in the running loop, as soon as the process ``pid`` isn't running any more. It isn't reaped."""

    def __init__(self, pid, ended):
        self._loop = asyncio.get_running_loop()
        self._ended = ended
        self._descriptor = os.pidfd_open(pid)
        self._loop.add_reader(self._descriptor, self._fire)

    def close(self):
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _fire(self):
        self.close()
        self._ended()
