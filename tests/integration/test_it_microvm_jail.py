"""What the QEMU of a running microVM has: the walls that docs/microvm.md promises, read from the kernel for every thread of the process."""

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

import harena
from harenad_process import IMAGE
from microvm_support import census, microvm_daemon, remove_groups
from running_daemon import import_tiny, stop_everything


@pytest.fixture(scope="module")
def vmms():
    """Of two machines that run, each after a snapshot and a fork: QEMU has been started with a kernel, with a state, and has written one."""
    folder = tempfile.mkdtemp(prefix="harena-vmj-")
    try:
        daemon = microvm_daemon(folder)
        daemon.start()
        try:
            import_tiny(daemon, Path(folder))
            with daemon.client() as client:
                first = client.create(harena.MicroVMArgs(image=IMAGE, memory="192MiB", disk="64MiB"))
                clone = first.fork()[0]
                yield {"daemon": daemon, "pids": [vmm_of(sandbox) for sandbox in (first, clone)], "ids": [first.id, clone.id]}
            stop_everything(daemon)
        finally:
            daemon.stop()
        left = census()
        assert left["processes"] == [] and left["mounts"] == [], left
        remove_groups()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def vmm_of(sandbox):
    keeper = sandbox.refresh().raw["details"]["machine_pid"]
    (pid,) = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    assert Path(f"/proc/{pid}/comm").read_text().startswith("qemu")
    return int(pid)


def status(path):
    return dict(line.split(":\t", 1) for line in (path / "status").read_text().splitlines() if ":\t" in line)


def test_no_thread_has_rights_or_may_make_every_call(vmms):
    for pid in vmms["pids"]:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            told = status(thread)
            for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                assert int(told[kind], 16) == 0, (thread, kind, told[kind])
            assert told["NoNewPrivs"] == "1" and told["Seccomp"] == "2", told
            assert told["Groups"].split() == []


def mounts_of(pid):
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        yield before.split()[4], before.split()[5].split(","), after.split()[0]


def test_its_root_has_programs_devices_and_the_memory_alone(vmms):
    allowed = {"lib", "lib64", "usr", "etc", "dev", "ram", "libharena-ram-guard.so", "kernel", "initramfs", "opt"}
    for pid in vmms["pids"]:
        root = Path(f"/proc/{pid}/root")
        assert set(os.listdir(root)) <= allowed, os.listdir(root)
        assert set(os.listdir(root / "etc")) <= {"ld.so.cache"}
        assert set(os.listdir(root / "dev")) <= {"null", "zero", "urandom", "random", "kvm"}
        for place, options, kind in mounts_of(pid):
            device = place.startswith("/dev/")
            assert kind not in ("proc", "sysfs", "cgroup", "cgroup2", "devtmpfs") or device, (place, kind)
            assert "nosuid" in options, (place, options)
            assert "ro" in options or device, (place, options)
            assert "nodev" in options or device or place in ("/", "/etc/ld.so.cache"), (place, options)
            assert "noexec" in options or not (device or place in ("/ram", "/kernel", "/initramfs")), (place, options)


def files_of(daemon, sandbox):
    """(device, inode) of what belongs to the machine."""
    found = set()
    for folder in daemon.state.glob(f"**/{sandbox}"):
        found |= {(file.stat().st_dev, file.stat().st_ino) for file in folder.rglob("*") if file.is_file()}
    assert found
    return found


def test_its_descriptors_lead_to_its_own_files_and_sockets_alone(vmms):
    for pid, sandbox in zip(vmms["pids"], vmms["ids"]):
        mine = files_of(vmms["daemon"], sandbox)
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                info, target = entry.stat(), os.readlink(entry)
                flags = int(re.search(r"flags:\s*(\d+)", Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text()).group(1), 8)
            except OSError:
                continue  # closed meanwhile
            assert not stat.S_ISDIR(info.st_mode) and not stat.S_ISBLK(info.st_mode), (entry, target)
            if stat.S_ISREG(info.st_mode) and not target.startswith(("/memfd:", "anon_inode:")):
                layer = flags & os.O_ACCMODE == os.O_RDONLY and "erofs" in kind_of_file(entry)
                assert (info.st_dev, info.st_ino) in mine or layer, (target, oct(flags))
            if stat.S_ISCHR(info.st_mode):
                assert target in ("/dev/null", "/dev/kvm", "/dev/urandom", "/dev/random", "/dev/zero"), target


def kind_of_file(entry):
    """By its superblock: a layer is an EROFS image."""
    with open(entry, "rb") as file:
        file.seek(1024)
        return "erofs" if file.read(4) == b"\xe2\xe1\xf5\xe0" else "something else"


def test_its_limits(vmms):
    for pid in vmms["pids"]:
        limits = {line[:26].strip(): line[26:].split()[:2] for line in Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]}
        assert limits["Max core file size"] == ["0", "0"]
        assert limits["Max locked memory"] == ["0", "0"]
        assert limits["Max open files"] == ["512", "512"]
