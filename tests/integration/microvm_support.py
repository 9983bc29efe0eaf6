"""A private harenad whose backend microvm has a kernel and an initramfs: made once a session, from what this build has."""

import glob
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harenad_process import BUILD, INSTANCE, SOURCE, Harenad

VM_INSTANCE = f"{INSTANCE}vm"


def own_users():
    """The first of 64 users of VMMs that no other daemon on this host counts on: for tests that count them."""
    return 1_880_000_000 + os.getpid() % 4_194_304 * 64


def find_kernel():
    """HARENA_GUEST_KERNEL with HARENA_GUEST_MODULES, or the newest cloud kernel of the host, as tests/guest does it."""
    kernel = os.environ.get("HARENA_GUEST_KERNEL") or max(glob.glob("/boot/vmlinuz-*cloud*"), default="")
    modules = os.environ.get("HARENA_GUEST_MODULES", str(Path(kernel).parent.parent / "lib" / "modules"))
    return kernel, modules


def why_not():
    for program in ("qemu-system-x86_64", "mkfs.erofs", "mke2fs", "busybox"):
        if shutil.which(program) is None:
            return f"there is no {program} here"
    if not find_kernel()[0]:
        return "there is no /boot/vmlinuz-*cloud* here; apt-get install linux-image-cloud-amd64, or name one with HARENA_GUEST_KERNEL"
    if not (BUILD / "bin" / "harena-machine").exists() or not (BUILD / "bin" / "harena-guest").exists():
        return "harena-machine and harena-guest aren't built"
    return None


def make_initramfs(folder):
    kernel, modules = find_kernel()
    release = Path(modules) / kernel.split("vmlinuz-", 1)[-1]
    done = subprocess.run(
        [str(SOURCE / "deploy" / "guest-image" / "harena-guest-image"), "--kernel", kernel,
         "--modules", str(release if release.exists() else modules), "--guest", str(BUILD / "bin" / "harena-guest"),
         "--shim", str(BUILD / "bin" / "harena-shim"), "--tools", str(BUILD / "bin" / "tools"), "--out", str(folder)],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def microvm_daemon(folder, **config):
    """Not started. Its sandboxes' groups are below harena-vm/VM_INSTANCE."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    folder = Path(folder)
    (folder / "guest").mkdir(exist_ok=True)
    daemon = Harenad(folder)
    initramfs = make_initramfs(folder / "guest")

    def configure(document):
        document["plugins"].pop("e2b", None)
        # Without templates and machines that stand by, where a test doesn't say otherwise: what runs is what the test made.
        document["plugins"]["microvm"] = {"config": {"instance": VM_INSTANCE, "kernel": find_kernel()[0], "initramfs": initramfs,
                                                     "templates": "off", "ahead": 0, **config}}

    daemon.edit_config(configure)
    return daemon


def census():
    """What machines leave traces in: processes, groups, mounts. Of this test's instance alone."""
    groups = [path for path, _, _ in os.walk("/sys/fs/cgroup") if f"/harena-vm/{VM_INSTANCE}/" in path + "/"]
    processes = []
    for comm in glob.glob("/proc/[0-9]*/cgroup"):
        try:
            # A dead one that nobody has waited for yet is no process any more; init takes its time with orphans.
            if f"/harena-vm/{VM_INSTANCE}/" in Path(comm).read_text() and " Z " not in Path(comm).with_name("stat").read_text():
                processes.append(comm)
        except OSError:
            pass  # it ended meanwhile
    mounts = [line for line in open("/proc/self/mounts") if "/vm/" in line or "/jail" in line]
    return {"groups": sorted(groups), "processes": processes, "mounts": mounts}


def remove_groups(parent="harena-vm"):
    for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if f"/{parent}/{VM_INSTANCE}" in folder:
            os.rmdir(folder)
