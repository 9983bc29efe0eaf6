"""The floor of creating from memory: a bare QEMU microvm that is stopped and saved, and children that map its RAM privately and go on. Nothing of Harena
is in it: the same kernel, machine and accelerator, one static program that prints ticks, no jail, no disks, no agent."""

import json
import os
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path

PAGE = 4096
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
i=0; while :; do i=$((i+1)); echo "tick $i"; /bin/busybox usleep 100000; done
"""


def cpio(entries):
    """A newc archive of (name, mode, content)."""
    out = bytearray()
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


class BareMachine:
    def __init__(self, folder, name, kernel, ram, ram_mib, kvm, child):
        self.log, self.ram_file = folder / f"{name}.log", ram
        qmp = folder / f"{name}.qmp"
        self.begun = time.monotonic()
        accelerator = "kvm" if kvm else "tcg,thread=multi,tb-size=32"
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-M", "microvm,rtc=on,memory-backend=ram", "-accel", accelerator, "-cpu", "max", "-m", str(ram_mib),
             "-object", f"memory-backend-file,id=ram,share={'off' if child else 'on'},mem-path={ram},size={ram_mib}M",
             "-nodefaults", "-display", "none", "-serial", f"file:{self.log}", "-no-reboot", "-global", "migration.send-configuration=off",
             "-qmp", f"unix:{qmp},server,nowait"]
            + (["-incoming", "defer"] if child else ["-kernel", kernel, "-initrd", str(folder / "bare.cpio"), "-append", "console=ttyS0 quiet panic=-1"]),
            stderr=subprocess.DEVNULL)
        while True:
            try:
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(str(qmp))
                break
            except OSError:
                assert self.process.poll() is None, "bare QEMU ended"
                time.sleep(0.002)
        self.channel = connection.makefile("rw")
        self.channel.readline()
        self.order("qmp_capabilities")

    def order(self, command, **arguments):
        self.channel.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.channel.flush()
        while True:
            reply = json.loads(self.channel.readline())
            assert "error" not in reply, reply
            if "return" in reply:
                return reply["return"]

    def wait_tick(self):
        while not self.log.exists() or "tick" not in self.log.read_text():
            time.sleep(0.002)

    def mapping(self):
        for line in open(f"/proc/{self.process.pid}/maps"):
            if line.rstrip().endswith(str(self.ram_file)):
                return tuple(int(part, 16) for part in line.split()[0].split("-"))
        raise AssertionError("no RAM mapping")

    def own_pages(self):
        low, high = self.mapping()
        with open(f"/proc/{self.process.pid}/pagemap", "rb") as pagemap:
            pagemap.seek(low // PAGE * 8)
            raw = pagemap.read((high - low) // PAGE * 8)
        indices = [i for i, (value,) in enumerate(struct.iter_unpack("<Q", raw)) if (value >> 62) & 3 and not (value >> 61) & 1]
        with open(f"/proc/{self.process.pid}/mem", "rb", 0) as memory:
            return [(i, os.pread(memory.fileno(), PAGE, low + i * PAGE)) for i in indices]

    def save(self, path):
        self.order("stop")
        self.order("xen-save-devices-state", filename=str(path), live=False)

    def go_on(self, state, pages=()):
        if pages:
            low, _ = self.mapping()
            with open(f"/proc/{self.process.pid}/mem", "r+b", 0) as memory:
                for index, content in pages:
                    os.pwrite(memory.fileno(), content, low + index * PAGE)
        self.order("migrate-incoming", uri=f"exec:cat {state}")
        while self.order("query-status")["status"] == "inmigrate":
            pass
        self.order("cont")

    def end(self):
        self.process.kill()
        self.process.wait()


def bare_child_times(folder, kernel, ram_mib, kvm, rounds):
    """Milliseconds of one child each: process, pages and state, until it goes on; loaded from what a child of the source wrote too."""
    folder = Path(folder)
    ram = folder / "bare.ram"
    busybox = Path(shutil.which("busybox")).read_bytes()
    folders = [(name, 0o040755, b"") for name in ("bin", "proc")]
    (folder / "bare.cpio").write_bytes(cpio([*folders, ("bin/busybox", 0o100755, busybox), ("init", 0o100755, INIT.encode())]))
    source = BareMachine(folder, "source", kernel, ram, ram_mib, kvm, child=False)
    source.wait_tick()
    ahead = BareMachine(folder, "ahead", kernel, ram, ram_mib, kvm, child=True)
    source.save(folder / "state.1")
    ahead.go_on(folder / "state.1")
    source.end()
    ahead.wait_tick()
    ahead.save(folder / "state.2")
    pages = ahead.own_pages()
    times = []
    for number in range(rounds):
        child = BareMachine(folder, f"child{number}", kernel, ram, ram_mib, kvm, child=True)
        child.go_on(folder / "state.2", pages)
        times.append((time.monotonic() - child.begun) * 1000)
        child.end()
    ahead.end()
    return times
