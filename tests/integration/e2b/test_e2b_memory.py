"""Large files through E2B's Python SDK: harenad's memory doesn't grow with them. HARENA_LONG_TESTS=1: 1 GiB instead of 128 MiB."""

import hashlib
import io
import os

import pytest

from peak_memory import PeakMemory

SIZE = (1 << 30) if os.environ.get("HARENA_LONG_TESTS") == "1" else (128 << 20)
BOUND = 32 << 20  # in flight: some buffers of 64 KiB to 1 MiB a direction; never a part of the file that grows with it
# Half of a block is noise: with gzip it must not shrink to nothing.
BLOCK = os.urandom(1 << 19) + bytes(1 << 19)


class Blocks(io.RawIOBase):
    """A file of SIZE bytes that nobody holds."""

    def __init__(self):
        self._left, self._pending = SIZE // len(BLOCK), b""

    def readable(self):
        return True

    def seekable(self):
        return False

    def readinto(self, buffer):
        if not self._pending:
            if self._left == 0:
                return 0
            self._left, self._pending = self._left - 1, memoryview(BLOCK)
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count


def expected_digest():
    digest = hashlib.sha256()
    for _ in range(SIZE // len(BLOCK)):
        digest.update(BLOCK)
    return digest.hexdigest()


@pytest.fixture
def files(python_sdk):
    sandbox = python_sdk.Sandbox.create(timeout=1800)
    yield sandbox.files
    sandbox.kill()


@pytest.mark.parametrize("options", [{"use_octet_stream": True}, {"use_octet_stream": False}, {"gzip": True}], ids=["octets", "multipart", "gzip"])
def test_a_large_file_in_flat_memory(harenad, files, options):
    peak = PeakMemory(harenad.process.pid)
    files.write("large", Blocks(), request_timeout=0, **options)
    written = peak.growth()
    digest, size = hashlib.sha256(), 0
    for chunk in files.read("large", format="stream", gzip="gzip" in options, request_timeout=0):
        digest.update(chunk)
        size += len(chunk)
    read = peak.growth()
    print(f"harenad: {peak.before >> 20} MiB before, at most {written >> 20} MiB more in files.write of {SIZE >> 20} MiB, {read >> 20} with files.read")
    assert size == SIZE and digest.hexdigest() == expected_digest()
    assert read < BOUND, f"{read} bytes more than before"
