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
from microvm_support import VM_INSTANCE, census, microvm_daemon, remove_groups
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


def test_each_has_a_user_that_nobody_else_has(vmms):
    users = []
    for pid in vmms["pids"]:
        told = status(Path(f"/proc/{pid}"))
        assert len({*told["Uid"].split(), *told["Gid"].split()}) == 1, told
        users.append(told["Uid"].split()[0])
        assert not re.search(rf":{users[-1]}:", Path("/etc/passwd").read_text() + Path("/etc/group").read_text())
    assert len(set(users)) == len(users) and "0" not in users
    for process in Path("/proc").glob("[0-9]*"):
        try:
            others = status(process)["Uid"].split()[0] in users and int(process.name) not in vmms["pids"]
        except (OSError, KeyError):
            continue  # it ended meanwhile
        assert not others, (process, "has the user of a VMM")


def test_each_is_in_namespaces_and_groups_of_its_own(vmms):
    for kind in ("mnt", "net", "ipc", "uts"):
        seen = {os.readlink(f"/proc/{pid}/ns/{kind}") for pid in [*vmms["pids"], os.getpid()]}
        assert len(seen) == 3, (kind, seen)
    for pid in vmms["pids"]:
        assert Path(f"/proc/{pid}/net/if_inet6").read_text() == ""  # not even the loopback is up
        assert Path(f"/proc/{pid}/net/route").read_text().count("\n") <= 1  # at most the head line
        groups = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        assert any(f"/harena-vm/{VM_INSTANCE}/" in line for line in groups), groups
    assert Path(f"/proc/{vmms['pids'][0]}/cgroup").read_text() != Path(f"/proc/{vmms['pids'][1]}/cgroup").read_text()


def test_another_installation_gives_other_users(vmms):
    """The same `uid_base`, groups of its own: it knows nothing of the first but what the host tells."""
    with tempfile.TemporaryDirectory(prefix="harena-vmj-") as folder:
        other = microvm_daemon(folder, cgroup_parent="harena-vm-other")
        other.start()
        try:
            import_tiny(other, Path(folder))
            with other.client() as client:
                sandbox = client.create(harena.MicroVMArgs(image=IMAGE, memory="192MiB", disk="64MiB"))
                theirs = status(Path(f"/proc/{vmm_of(sandbox)}"))["Uid"]
            assert theirs not in [status(Path(f"/proc/{pid}"))["Uid"] for pid in vmms["pids"]]
        finally:
            stop_everything(other)
            other.stop()
    remove_groups("harena-vm-other")


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
