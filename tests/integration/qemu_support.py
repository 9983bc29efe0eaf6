"""A private harenad whose backend qemu has a folder of disks with a kernel and a tiny initramfs; a serial console by its socket."""

import lzma
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

import raw_api
from harenad_process import BUILD, INSTANCE, Harenad
from microvm_support import find_kernel

QEMU_INSTANCE = f"{INSTANCE}q"
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
for m in $(cat /modules/order); do insmod /modules/$m; done
echo tiny-ready
while true; do /bin/busybox sh; done
"""


def why_not():
    for program in ("qemu-system-x86_64", "qemu-img", "genisoimage", "busybox"):
        if shutil.which(program) is None:
            return f"there is no {program} here"
    if not find_kernel()[0]:
        return "there is no /boot/vmlinuz-*cloud* here; apt-get install linux-image-cloud-amd64, or name one with HARENA_GUEST_KERNEL"
    if not (BUILD / "bin" / "harena-qemu-machine").exists():
        return "harena-qemu-machine isn't built"
    return None


def newc(name, mode, data=b""):
    """One entry of a cpio archive, as the kernel reads it (Documentation/driver-api/early-userspace/buffer-format)."""
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


# What a full machine's guest needs of the distribution's kernel, each after what it stands on: disks, the power button, the seed's file system.
MODULES = ("virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk evdev button cdrom isofs efivarfs").split()


def module_files():
    """(name, bytes) of those of MODULES that aren't built into the kernel."""
    kernel, modules = find_kernel()
    release = Path(modules) / Path(kernel).name.split("vmlinuz-", 1)[-1]
    for name in MODULES:
        for path in (release if release.exists() else Path(modules)).rglob(f"{name}.ko*"):
            data = path.read_bytes()
            if path.suffix == ".xz":
                data = lzma.decompress(data)
            elif path.suffix == ".zst":
                data = subprocess.run(["zstd", "-dqc", str(path)], capture_output=True, check=True).stdout
            yield f"{name}.ko", data


def make_initramfs(folder):
    entries = [newc(name, 0o040755) for name in ("bin", "proc", "sys", "dev", "modules", "mnt")]
    entries.append(newc("bin/busybox", 0o100755, Path(shutil.which("busybox")).read_bytes()))
    entries.append(newc("init", 0o100755, INIT.encode()))
    modules = list(module_files())
    entries.append(newc("modules/order", 0o100644, " ".join(name for name, _ in modules).encode()))
    entries += [newc(f"modules/{name}", 0o100644, data) for name, data in modules]
    (Path(folder) / "tiny.cpio").write_bytes(b"".join(entries) + newc("TRAILER!!!", 0))


class QemuHarenad(Harenad):
    """Machines outlive their daemon: those of a test that failed end before it."""

    def stop(self):
        if self.process is not None:
            for one in request(self, "GET", "/sandboxes?state=creating,running,pausing,paused,resuming,stopping")[1]["sandboxes"]:
                request(self, "DELETE", f"/sandboxes/{one['id']}")
        super().stop()


def qemu_daemon(folder):
    """Not started."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    disks = Path(folder) / "disks"
    disks.mkdir()
    make_initramfs(disks)
    shutil.copy(find_kernel()[0], disks / "vmlinuz")
    daemon = QemuHarenad(folder)

    def configure(document):
        document["plugins"] = {"qemu": {"config": {"instance": QEMU_INSTANCE, "disk_roots": [str(disks)]}}}

    daemon.edit_config(configure)
    daemon.disks = disks
    return daemon


def tiny(daemon, **more):
    """Parameters of a machine that boots a busybox from memory; None takes one away."""
    params = {"kernel": str(daemon.disks / "vmlinuz"), "initramfs": str(daemon.disks / "tiny.cpio"),
              "command_line": "console=ttyS0 quiet", "memory": "256MiB", "disks": [{"size": "64MiB"}], **more}
    return {name: value for name, value in params.items() if value is not None}


class Console:
    """Somebody at the serial line."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.text = b""
        self.asked = 0

    def wait(self, wanted, patience=300):
        """What comes before it. Firmware, a boot loader and a kernel may all lie in one wait, under emulation on a busy host."""
        deadline = time.monotonic() + patience
        while wanted not in self.text:
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            got = self.socket.recv(65536)
            assert got, f"the console ended: {self.text[-2000:]!r}"
            self.text += got
        before, _, self.text = self.text.partition(wanted)
        return before

    def ask(self, command):
        """What the command prints; the marks around it aren't in the line that is echoed."""
        self.asked += 1
        begin, end = 100_000 + self.asked, 200_000 + self.asked
        self.socket.sendall(f"echo $(({begin}))-begin; {command}; echo $(({end}))-end\n".encode())
        self.wait(f"{begin}-begin\r\n".encode())
        before = self.wait(f"{end}-end\r\n".encode())
        return before.decode(errors="replace").replace("\r", "")

    def run(self, command, wanted):
        """`wanted` mustn't be in the command itself: the line echoes."""
        self.socket.sendall(command.encode() + b"\n")
        self.wait(wanted)

    def close(self):
        self.socket.close()


def leftovers():
    return sorted(path for path, _, _ in os.walk("/sys/fs/cgroup") if f"/harena-qemu/{QEMU_INSTANCE}/" in path + "/" and
                  not path.endswith((f"/{QEMU_INSTANCE}", "/platform")))


def remove_groups():
    for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if folder.endswith((f"/harena-qemu/{QEMU_INSTANCE}", f"/harena-qemu/{QEMU_INSTANCE}/platform")):
            os.rmdir(folder)


def request(daemon, method, path, body=None):
    """(status, body as JSON). Verbs of a machine under emulation take their time on a busy host."""
    status, _, told = raw_api.call(daemon, method, path, body, timeout=600)
    return status, told


def create(daemon, **params):
    status, made = request(daemon, "POST", "/backends/qemu/sandboxes", {"params": tiny(daemon, **params)})
    assert status in (200, 201), made
    return made


def stop(daemon, sandbox):
    status, ended = request(daemon, "DELETE", f"/sandboxes/{sandbox['id']}")
    assert status in (200, 202, 204), ended


def wait_for_state(daemon, sandbox, wanted):
    deadline = time.monotonic() + 120
    while True:
        now = request(daemon, "GET", f"/sandboxes/{sandbox['id']}")[1]
        if now["state"] == wanted:
            return now
        assert time.monotonic() < deadline, now
        time.sleep(0.05)
