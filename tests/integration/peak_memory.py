"""How much memory a process takes: what must not grow with a body is measured at the peak, not after it.

    peak = PeakMemory(harenad.process.pid); ...; assert peak.growth() < bound
"""

import re
from pathlib import Path


def memory_bytes(pid, field):
    """`field` is VmRSS (now) or VmHWM (the most since the peak began anew)."""
    return int(re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


class PeakMemory:
    """How much more memory a process had at its peak than at the beginning."""

    def __init__(self, pid):
        self.pid = pid
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        self.before = memory_bytes(pid, "VmRSS")

    def growth(self):
        return memory_bytes(self.pid, "VmHWM") - self.before
