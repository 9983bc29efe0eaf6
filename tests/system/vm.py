"""A virtual machine with systemd, cgroup v2 alone and AppArmor, to try the product in.

    with vm.Vm(base, product_image, work) as machine:
        machine.start()
        result = machine.run("systemctl is-system-running", limit_s=30)     Result(code, out, err)
        machine.reboot()        as an operator would
        machine.cut_power()     as a power cut: what the guest hadn't written is gone

QEMU with KVM where the CPU has it, else TCG. The base's disk is never written: QEMU keeps the changes in a file that it has unlinked
already, and it dies with the process that started it, so that nothing is left whatever happens here.
"""

import ctypes
import itertools
import json
import os
import shlex
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from guest_agent import AgentError, AgentTimeout, GuestAgent

# Every limit is a net for what hangs, not a measure of speed; a machine shared with many others may need more of them.
PATIENCE = float(os.environ.get("HARENA_TEST_VM_PATIENCE", "3"))
BOOT_S = 120 * PATIENCE
HARNESS = "/run/harena-vm"  # in the guest: the outputs of commands
SCRATCH_BYTES = 4 << 30
MOUNT = "/opt/harena-test"
PR_SET_PDEATHSIG = 1


class VmError(Exception):
    """The machine isn't as it should be; the text ends with its console's last lines."""


@dataclass
class Result:
    code: int
    out: str
    err: str
    seconds: float

    def check(self, *codes):
        assert self.code in (codes or (0,)), f"exit status {self.code}\n--- out\n{self.out[-6000:]}\n--- err\n{self.err[-6000:]}"
        return self


def has_kvm():
    """A paravirtual /dev/kvm without the CPU's flag boots a stock kernel for minutes: not that."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Vm:
    def __init__(self, base, product, work, memory_mib=4096, cpus=2, disks=()):
        """`base`: base_image.Base; `product`: the image of product_disk.make; `work`: a folder of our own; `disks`: further raw images, which
        the guest may write (/dev/vdd ...); /dev/vdc is an empty disk of SCRATCH_BYTES, to format as a test likes."""
        self.base, self.product, self.work = base, product, Path(work)
        self.memory_mib, self.cpus, self.disks = memory_mib, cpus, disks
        self.console, self.agent, self.process, self.monitor = self.work / "console.log", None, None, None
        self.numbers = itertools.count(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def command_line(self):
        accel = ["-accel", "kvm", "-cpu", "host"] if has_kvm() else ["-accel", "tcg,thread=multi", "-cpu", "max"]
        # no_timer_check: on a busy host the emulated timer is late for the kernel's early test of it.
        kernel = "console=ttyS0 root=/dev/vda rw quiet systemd.show_status=0 apparmor=1 security=apparmor no_timer_check panic=10"
        line = ["qemu-system-x86_64", "-M", "q35", *accel, "-smp", str(self.cpus), "-m", str(self.memory_mib),
                "-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-serial", f"file:{self.console}",
                "-kernel", str(self.base.folder / "vmlinuz"), "-initrd", str(self.base.folder / "initrd.img"), "-append", kernel,
                "-drive", f"file={self.base.folder / 'disk.img'},if=virtio,format=raw,snapshot=on,cache=unsafe",
                "-drive", f"file={self.product},if=virtio,format=raw,readonly=on",
                "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=agent,path={self.work / 'agent.sock'},server=on,wait=off",
                "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
                "-qmp", f"unix:{self.work / 'qmp.sock'},server=on,wait=off"]
        scratch = self.work / "scratch.img"
        with open(scratch, "wb") as file:
            file.truncate(SCRATCH_BYTES)
        for disk in [scratch, *self.disks]:
            line += ["-drive", f"file={disk},if=virtio,format=raw,cache=unsafe"]
        return line

    def start(self):
        self.process = subprocess.Popen(
            self.command_line(), stdin=subprocess.DEVNULL, stdout=open(self.work / "qemu.log", "wb"), stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent)
        self.wait_for_socket(self.work / "qmp.sock")
        self.monitor = Monitor(self.work / "qmp.sock")
        self.agent = GuestAgent(self.work / "agent.sock")
        self.wait_booted()

    def wait_for_socket(self, path, limit_s=30):
        deadline = time.monotonic() + limit_s
        while not path.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise VmError(f"QEMU didn't start: {(self.work / 'qemu.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def wait_booted(self):
        """Until systemd has started all that it starts, of a boot other than the last one that we saw."""
        try:
            self.synchronise(time.monotonic() + BOOT_S)
            self.agent.execute(["/bin/mkdir", "-p", HARNESS])
            self.run("systemctl is-system-running --wait", limit_s=BOOT_S)
            # The mount of the product is no reason for a boot to fail or wait (nofail): on a busy host it may be late.
            self.run(f"mountpoint -q {MOUNT} || {{ udevadm settle; mountpoint -q {MOUNT} || mount {MOUNT} || mount -r /dev/vdb {MOUNT}; }}", limit_s=BOOT_S).check()
        except AgentError as error:
            raise VmError(f"the machine didn't boot: {error}; its console:\n{self.console_tail()}") from None

    def synchronise(self, deadline):
        while True:
            try:
                return self.agent.synchronise(min(deadline, time.monotonic() + 5))
            except AgentTimeout:
                if "panic" in self.console_tail(1000) or time.monotonic() >= deadline:
                    raise

    def console_tail(self, most=4000):
        return self.console.read_text(errors="replace")[-most:] if self.console.exists() else "(no console)"

    def begin(self, command, env=None):
        """Starts a bash command in the background, in a session of its own; a Job."""
        number = next(self.numbers)
        stem = f"{HARNESS}/{os.getpid()}-{number}"
        words = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **(env or {})}
        exports = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in words.items())
        inner = f"cd /root && export {exports} && {{ {command}\n}}"
        script = f"mkdir -p {HARNESS}; exec /bin/bash -c {shlex.quote(inner)} >{stem}.out 2>{stem}.err </dev/null"
        return Job(self, self.agent.execute(["/usr/bin/setsid", "/bin/bash", "-c", script]), stem, command)

    def run(self, command, limit_s=120, env=None):
        """A bash command as root, from /root. After `limit_s` (times PATIENCE) it and its session are killed and VmError says what it wrote."""
        return self.begin(command, env).wait(limit_s)

    def put(self, path, content):
        self.agent.write_file(path, content.encode() if isinstance(content, str) else content)

    def get(self, path):
        return self.agent.read_file(path)

    def boot_id(self):
        return self.run("cat /proc/sys/kernel/random/boot_id").check().out.strip()

    def reboot(self):
        """Clean: systemd stops everything in its order."""
        before = self.boot_id()
        self.agent.call("guest-exec", path="/bin/systemctl", arg=["--no-block", "reboot"])
        self.wait_other_boot(before)

    def cut_power(self):
        before = self.boot_id()
        self.monitor.call("system_reset")
        self.wait_other_boot(before)

    def wait_other_boot(self, before):
        deadline = time.monotonic() + BOOT_S
        while time.monotonic() < deadline:
            try:
                # The agent of the old boot may still answer, and it may end in the middle of an answer.
                self.synchronise(min(deadline, time.monotonic() + 60))
                if self.boot_id() != before:
                    return self.wait_booted()
            except (AgentError, VmError):
                pass
            time.sleep(0.5)
        raise VmError(f"the machine didn't come back; its console:\n{self.console_tail()}")

    def stop(self):
        for channel in (self.agent, self.monitor):
            if channel:
                channel.close()
        if self.process:
            self.process.kill()
            self.process.wait()
        self.agent = self.monitor = self.process = None


class Job:
    def __init__(self, machine, pid, stem, command):
        self.machine, self.pid, self.stem, self.command, self.began = machine, pid, stem, command, time.monotonic()

    def wait(self, limit_s):
        limit_s *= PATIENCE
        deadline, pause = self.began + limit_s, 0.01
        while True:
            ended, code, signal_number = self.machine.agent.exit_of(self.pid)
            if ended:
                return Result(code if code is not None else 128 + (signal_number or 0), *self.outputs(), time.monotonic() - self.began)
            if time.monotonic() > deadline:
                self.machine.agent.execute(["/bin/bash", "-c", f"kill -KILL -- -{self.pid}"])
                out, err = self.outputs()
                raise VmError(f"not done after {limit_s:.0f} s: {self.command[:500]}\n--- out\n{out[-4000:]}\n--- err\n{err[-4000:]}\n"
                              f"--- console\n{self.machine.console_tail(2000)}")
            time.sleep(pause)
            pause = min(0.25, pause * 1.5)

    def outputs(self):
        texts = [self.machine.agent.read_file(f"{self.stem}.{kind}").decode(errors="replace") for kind in ("out", "err")]
        self.machine.agent.execute(["/bin/rm", "-f", f"{self.stem}.out", f"{self.stem}.err"])
        return texts


class Monitor:
    """QEMU's own control socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")
        self.lines.readline()
        self.call("qmp_capabilities")

    def call(self, command):
        self.socket.sendall(json.dumps({"execute": command}).encode() + b"\n")
        while True:
            answer = json.loads(self.lines.readline())
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise VmError(f"{command}: {answer['error']}")

    def close(self):
        self.lines.close()
        self.socket.close()


__all__ = ["AgentTimeout", "Job", "Result", "Vm", "VmError", "has_kvm"]
