"""What a guest has freed goes back to the host, whether its RAM is a file of its own or a private mapping of a frozen one; nobody else's page goes."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

import harena
from harenad_process import IMAGE
from microvm_support import census, microvm_daemon, remove_groups
from running_daemon import import_tiny, stop_everything

MIB = 1 << 20
FILL = "dd if=/dev/urandom of=/dev/shm/much bs=1M count=48 2>/dev/null"


@pytest.fixture(scope="module")
def vms():
    folder = tempfile.mkdtemp(prefix="harena-vmd-")
    try:
        daemon = microvm_daemon(folder)
        daemon.start()
        try:
            import_tiny(daemon, Path(folder))
            yield daemon
            stop_everything(daemon)
        finally:
            daemon.stop()
        left = census()
        assert left["processes"] == [] and left["mounts"] == [], left
        remove_groups()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lines(sandbox, shell):
    result = sandbox.run(shell)
    assert result.exit.code == 0, result
    return result.stdout


def ram_of(vms, sandbox):
    (ram,) = (vms.state / "sandboxes" / sandbox.id / "vm").glob("ram.*")
    return ram


def held_by(vms, sandbox):
    """Bytes of the machine's own in its RAM: anonymous pages of the private mapping, or what the shared file takes."""
    ram = ram_of(vms, sandbox)
    keeper = sandbox.refresh().raw["details"]["machine_pid"]
    (vmm,) = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    own, shared, here = 0, False, False
    for line in Path(f"/proc/{vmm}/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            here = words[4] == str(ram.stat().st_ino)
            shared = shared or (here and words[1].endswith("s"))
        elif here and words[0] == "Anonymous:":
            own += int(words[1]) * 1024
    return ram.stat().st_blocks * 512 if shared else own


def falls_below(vms, sandbox, most):
    deadline = time.monotonic() + 90  # the guest tells of it two seconds later, in parts
    while (held := held_by(vms, sandbox)) > most:
        assert time.monotonic() < deadline, (held, most)
        time.sleep(0.1)


def test_freed_memory_goes_back_and_nobody_elses(vms):
    with vms.client() as client:
        source = client.create(harena.MicroVMArgs(image=IMAGE, memory="192MiB", disk="64MiB"))
        lines(source, FILL)
        full = held_by(vms, source)
        lines(source, "rm /dev/shm/much")
        falls_below(vms, source, full - 32 * MIB)

        # From here on both map one frozen file privately.
        lines(source, "dd if=/dev/urandom of=/dev/shm/kept bs=1M count=16 2>/dev/null")
        kept = lines(source, "sha256sum /dev/shm/kept")
        child = source.fork()[0]
        frozen = ram_of(vms, child)
        assert frozen.stat().st_ino == ram_of(vms, source).stat().st_ino
        with open(frozen, "rb") as file:
            os.fsync(file.fileno())  # a block is counted when its page is written back
        before = frozen.stat()
        lines(child, FILL)
        full = held_by(vms, child)
        assert full > 32 * MIB
        lines(child, "rm /dev/shm/much /dev/shm/kept")  # its own pages, and some that are in the frozen file
        falls_below(vms, child, full - 32 * MIB)
        after = frozen.stat()
        assert after.st_blocks >= before.st_blocks and after.st_mtime_ns == before.st_mtime_ns, (before, after)
        assert lines(source, "sha256sum /dev/shm/kept") == kept

        # What it takes up again is right, also after a pause, and its next capture has only what it holds.
        lines(child, "dd if=/dev/urandom of=/dev/shm/again bs=1M count=24 2>/dev/null")
        again = lines(child, "sha256sum /dev/shm/again")
        child.pause()
        assert lines(child, "sha256sum /dev/shm/again") == again
        grandchild = child.fork()[0]
        assert lines(grandchild, "sha256sum /dev/shm/again") == again
        assert lines(source, "sha256sum /dev/shm/kept") == kept
        for sandbox in (grandchild, child, source):
            sandbox.stop()
