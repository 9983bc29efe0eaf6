"""microVMs where something is short, and what must stay whole: a fork of which one child fails, a memory folder that is full or too small, frozen
memory that no VMM can change, an image whose tag is another."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import harena
from harenad_process import IMAGE
from microvm_support import VM_INSTANCE, census, microvm_daemon, own_users, remove_groups
from running_daemon import import_tiny
from tiny_image import make_tiny_image

LONG = os.environ.get("HARENA_LONG_TESTS") == "1"
CHILDREN = 32 if LONG else 4
ROOM = 400 << 20


@pytest.fixture(scope="module")
def memory_dir():
    """A file system of its own, which a test can fill."""
    folder = Path(tempfile.mkdtemp(prefix="harena-vml-"))
    image, mounted = folder / "disk.img", folder / "memory"
    mounted.mkdir()
    with open(image, "wb") as file:
        file.truncate(ROOM)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", str(image)], check=True)
    done = subprocess.run(["mount", "-o", "loop", str(image), str(mounted)], capture_output=True, text=True)
    try:
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted from a file here: {done.stderr.strip()}")
        yield mounted
    finally:
        if os.path.ismount(mounted):
            subprocess.run(["umount", str(mounted)], check=True)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def vms(memory_dir):
    folder = tempfile.mkdtemp(prefix="harena-vmd-")
    try:
        # As many users as the source and all children but one need.
        daemon = microvm_daemon(folder, memory_dir=str(memory_dir), uid_base=own_users(), uids=CHILDREN)
        daemon.start()
        try:
            import_tiny(daemon, Path(folder))
            yield daemon
        finally:
            daemon.stop()
        left = census()
        assert left["processes"] == [] and left["mounts"] == [], left
        remove_groups()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def api(vms):
    with vms.client() as client:
        yield client
        for sandbox in client.list(states=["running", "paused"]):
            sandbox.stop()


def make(client, **params):
    return client.create(harena.MicroVMArgs(image=IMAGE, **{"memory": "192MiB", "disk": "64MiB", **params}))


def lines(sandbox, text):
    return sandbox.run_shell(text, check=True).stdout


def files_of(memory_dir, sandbox):
    return memory_dir / VM_INSTANCE / "machines" / sandbox.id


def vmm_of(sandbox):
    machine = sandbox.info.raw["details"]["machine_pid"]
    (pid,) = Path(f"/proc/{machine}/task/{machine}/children").read_text().split()
    return pid


def test_one_child_that_fails_is_one_error_beside_the_others(api):
    source = make(api)
    lines(source, "echo kept > /dev/shm/a")
    with pytest.raises(harena.BatchFailed) as failed:
        source.fork(count=CHILDREN)
    (error,) = failed.value.errors.values()
    assert isinstance(error, harena.HarenaError) and error.code == "resource_exhausted", error
    made = failed.value.sandboxes
    assert len(made) == CHILDREN - 1
    assert [lines(one, "cat /dev/shm/a") for one in made] == ["kept\n"] * len(made)
    assert lines(source, "cat /dev/shm/a") == "kept\n"
    made[0].stop()  # what it had is free for another
    again = source.fork()[0]
    assert lines(again, "cat /dev/shm/a") == "kept\n"


def test_frozen_memory_cant_be_changed_by_a_vmm(memory_dir, api):
    source = make(api)
    child = source.fork()[0]
    (ram,) = files_of(memory_dir, child).glob("ram.*")
    before = hashlib.sha256(ram.read_bytes()).hexdigest()
    for one in (source, child):
        pid = vmm_of(one)
        # What QEMU has, and what it could open again: not even root writes through its mount.
        held = [fd.name for fd in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(fd).endswith("/ram")
                or "/ram." in os.readlink(fd)]
        assert held, "QEMU holds no descriptor of its RAM"
        for fd in held:
            (flags,) = [line.split()[1] for line in Path(f"/proc/{pid}/fdinfo/{fd}").read_text().splitlines() if line.startswith("flags:")]
            assert int(flags, 8) & os.O_ACCMODE == os.O_RDONLY
        with pytest.raises(OSError) as refused:
            os.open(f"/proc/{pid}/root/ram", os.O_RDWR)
        assert "Read-only" in str(refused.value)
        lines(one, "dd if=/dev/urandom of=/dev/shm/much bs=1M count=30 2>/dev/null")
    assert hashlib.sha256(ram.read_bytes()).hexdigest() == before


def test_a_machine_that_cant_fit_is_refused_with_the_folder(memory_dir, api):
    with pytest.raises(harena.HarenaError) as refused:
        make(api, memory="1GiB")
    assert refused.value.code == "resource_exhausted" and str(memory_dir) in str(refused.value) and str(1 << 30) in str(refused.value)
    machine = make(api)  # what was refused took nothing
    assert list(files_of(memory_dir, machine).glob("ram.*"))


def fill(memory_dir):
    """All that is left, to the last block."""
    filler = memory_dir / "filler"
    with open(filler, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1024, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
    return filler


def test_a_full_disk_while_pausing_is_an_error_and_the_machine_goes_on(memory_dir, api):
    machine = make(api)
    lines(machine, "echo kept > /dev/shm/a; dd if=/dev/urandom of=/root/b bs=64k count=4 2>/dev/null; sync")
    machine.pause()
    machine.resume()  # RAM is its own from here on: what it writes isn't on the full disk
    lines(machine, "dd if=/dev/urandom of=/dev/shm/dirty bs=1M count=8 2>/dev/null")
    before = sorted(path.name for path in files_of(memory_dir, machine).iterdir())
    command = machine.start("i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo $i; sleep 0.1; done")
    filler = fill(memory_dir)
    try:
        for verb in (machine.pause, machine.snapshot, machine.fork):
            with pytest.raises(harena.HarenaError) as refused:
                verb()
            assert getattr(refused.value, "code", "") == "resource_exhausted", refused.value
            assert machine.refresh().state == "running" and lines(machine, "cat /dev/shm/a") == "kept\n"
        assert sorted(path.name for path in files_of(memory_dir, machine).iterdir()) == before
        # A write to the machine's own disk is told as an I/O error to whom it belongs; nobody hangs.
        written = machine.run_shell("dd if=/dev/urandom of=/root/big bs=1M count=20 conv=fsync")
        assert written.exit.code != 0, written
    finally:
        filler.unlink()
    assert lines(machine, "rm -f /root/big; dd if=/dev/urandom of=/root/c bs=1M count=4 conv=fsync 2>/dev/null; wc -c < /root/c") == "4194304\n"
    machine.pause()
    assert lines(machine, "cat /dev/shm/a") == "kept\n"
    assert command.result().stdout.split() == [str(i) for i in range(1, 21)]


def test_a_snapshot_outlives_the_retag_of_its_image(vms, api):
    machine = make(api)
    lines(machine, "echo kept > /dev/shm/a")
    snapshot = machine.snapshot()
    machine.stop()
    root = make_tiny_image(Path(vms.folder) / "retagged")
    (root / "marker").write_text("another image")
    api.images.import_image(IMAGE, folder=str(root))
    newer = make(api)
    assert lines(newer, "cat /marker") == "another image"  # the tag is another image now
    restored = api.create(harena.MicroVMArgs(snapshot=snapshot.id))
    assert lines(restored, "cat /dev/shm/a; ls /marker 2>/dev/null; true") == "kept\n"
