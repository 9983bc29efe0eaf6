"""A private harenad whose microVMs run under the strict fakes of Firecracker and its jailer (plugins/microvm/machine/testing)."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harenad_process import BUILD, Harenad
from microvm_support import VM_INSTANCE


def pretend_kvm(folder):
    """A harenad whose /proc/cpuinfo says that the CPU virtualises: the fake runs nothing on it."""
    cpuinfo = folder / "cpuinfo"
    cpuinfo.write_text("flags\t\t: fpu vmx\n")
    program = folder / "harenad-with-kvm"
    program.write_text("#!/bin/sh\n"
                       f"exec unshare -m --propagation private sh -c 'mount --bind {cpuinfo} /proc/cpuinfo && exec \"$0\" \"$@\"' "
                       f"{BUILD / 'bin' / 'harenad'} \"$@\"\n")
    program.chmod(0o755)
    return program


def why_not():
    if not os.path.exists("/dev/kvm"):
        return "there is no /dev/kvm here, which the driver opens before it starts Firecracker"
    for program in ("mkfs.erofs", "mke2fs", "busybox", "unshare"):
        if shutil.which(program) is None:
            return f"there is no {program} here"
    if not (BUILD / "bin" / "fake_guest").exists():
        return "fake_guest isn't built"
    return None


@contextlib.contextmanager
def firecracker_daemon(parent, users, **config):
    """Not started; its folder goes at the end. `parent`: of its machines' groups."""
    if why_not():
        pytest.skip(why_not())
    folder = Path(tempfile.mkdtemp(prefix="harena-fc-"))
    guests = subprocess.Popen([str(BUILD / "bin" / "fake_guest"), str(folder / "guest")], stdout=subprocess.PIPE, text=True)
    try:
        assert guests.stdout.readline() == "ready\n"
        (folder / "guest").chmod(0o777)  # each VMM is another user
        shutil.copy(BUILD / "bin" / "fake_firecracker", folder)
        (folder / "vmlinux").write_bytes(b"\177ELF no real one\n")
        (folder / "initramfs").write_bytes(b"cpio")
        daemon = Harenad(folder)

        def configure(document):
            document["plugins"].pop("e2b", None)
            document["plugins"]["microvm"] = {"config": {
                "instance": VM_INSTANCE, "cgroup_parent": parent, "vmm": "firecracker", "firecracker_path": str(folder / "fake_firecracker"),
                "jailer_path": str(BUILD / "bin" / "fake_jailer"), "kernel": str(folder / "vmlinux"), "initramfs": str(folder / "initramfs"),
                "templates": "off", "ahead": 0, "uid_base": users.start, "uids": len(users), **config}}

        daemon.edit_config(configure)
        daemon.program = str(pretend_kvm(folder))
        yield daemon
    finally:
        guests.kill()
        guests.wait()
        shutil.rmtree(folder, ignore_errors=True)


def processes_of(parent):
    """Those in groups of this test's machines: VMMs and what they are under."""
    found = []
    for groups in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            if f"/{parent}/{VM_INSTANCE}/" in groups.read_text() and " Z " not in groups.with_name("stat").read_text():
                found.append(groups.parent.name)
        except OSError:
            pass  # it ended meanwhile
    return found
