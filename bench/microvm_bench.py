"""The promised numbers of the backend microvm, against bare QEMU on the same host: bench/run.sh microvm.

Usage: microvm_bench.py [create|pause|fork|dirty ...], with HARENA_BUILD_DIR and PYTHONPATH set. Starts a daemon of its own. Medians in milliseconds;
with KVM the same bench prints real figures."""

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "tests" / "integration"), str(SOURCE / "bench" / "microvm")]

import harena  # noqa: E402
from bare_child import bare_child_times  # noqa: E402
from harenad_process import IMAGE  # noqa: E402
from microvm_support import find_kernel, microvm_daemon, remove_groups, why_not  # noqa: E402
from running_daemon import import_tiny, stop_everything  # noqa: E402

ROUNDS = int(os.environ.get("HARENA_BENCH_ROUNDS", "9"))
PAUSE_MS = 15


def median(values):
    return statistics.median(values)


def tell(what, ours, promise, fine):
    print(f"{what:58} {ours:>22}   promise {promise:<26} {'kept' if fine else 'MISSED'}", flush=True)


def make(client, memory="256MiB", **params):
    return client.create(harena.MicroVMArgs(image=IMAGE, params={"memory": memory, "disk": "64MiB", **params}))


def wait_for_spare(client):
    for _ in range(600):
        (microvm,) = [one for one in client.backends() if one.name == "microvm"]
        if microvm.raw["facts"].get("standing_by"):
            return
        time.sleep(0.1)
    raise AssertionError("nobody stands by")


def time_of_create(client, want_ahead):
    if want_ahead:
        wait_for_spare(client)
    begun = time.monotonic()
    sandbox = make(client)
    sandbox.run_shell("true", check=True)
    took = (time.monotonic() - begun) * 1000
    start = sandbox.info.raw["details"]["start"]
    assert "template" in start and start["ahead"] is want_ahead, start
    sandbox.stop()
    return took


def bench_create(daemon, client, folder):
    make(client, template="make").stop()
    kvm = [one for one in client.backends() if one.name == "microvm"][0].raw["facts"]["accelerator"] == "kvm"
    bare = median(bare_child_times(folder, find_kernel()[0], 256, kvm, ROUNDS))
    ahead = median([time_of_create(client, True) for _ in range(ROUNDS)])
    daemon.stop()
    daemon.restart(lambda config: config["plugins"]["microvm"]["config"].update(ahead=0))
    with daemon.client() as other:
        plain = median([time_of_create(other, False) for _ in range(ROUNDS)])
    daemon.stop()
    daemon.restart()
    print(f"a bare child: process, pages, state: {bare:.0f} ms")
    tell("create from a template to the first answer", f"{plain:.0f} ms = {plain / bare:.2f}", "<= 1.5 of a bare child", plain <= 1.5 * bare)
    tell("the same with a machine that stands by", f"{ahead:.0f} ms = {ahead / bare:.2f}", "< 0.5 of a bare child", ahead < 0.5 * bare)


def first_pauses(client, memory):
    """Source pauses of first and of second forks."""
    first, second = [], []
    for _ in range(max(3, ROUNDS // 2)):
        source = make(client, memory=memory, template="none")
        for stopped in (first, second):
            child = source.fork()[0]
            stopped.append(child.info.raw["details"]["fork"]["stopped_us"] / 1000)
            child.stop()
        source.stop()
    return median(first), median(second)


def bench_pause(daemon, client, folder):
    small, small_again = first_pauses(client, "256MiB")
    large, large_again = first_pauses(client, "2GiB")
    for memory, first, again in (("256 MiB", small, small_again), ("2 GiB", large, large_again)):
        tell(f"source pause of a fork, {memory}", f"first {first:.1f}, later {again:.1f} ms", f"median < {PAUSE_MS} ms", first < PAUSE_MS)
    ratio = large / small
    tell("source pause, 2 GiB against 256 MiB", f"{ratio:.2f}", "<= 1.3", ratio <= 1.3)


def own_memory(pid):
    """Bytes of a VMM's RAM mapping that are its own, and of all the process."""
    ram = whole = 0
    is_ram = False
    for line in open(f"/proc/{pid}/smaps"):
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            is_ram = words[-1].endswith("/ram")
        elif words[0] == "Anonymous:" and is_ram:
            ram += int(words[1]) * 1024
        elif words[0] in ("Private_Dirty:",):
            whole += int(words[1]) * 1024
    return ram, whole


def bench_fork(daemon, client, folder):
    memory = 512
    source = make(client, memory=f"{memory}MiB")
    begun = time.monotonic()
    children = source.fork(count=16)
    took = time.monotonic() - begun
    parts = []
    for child in children:
        machine = child.info.raw["details"]["machine_pid"]
        (pid,) = Path(f"/proc/{machine}/task/{machine}/children").read_text().split()
        parts.append(own_memory(pid))
    ram = max(part[0] for part in parts) / (memory << 20)
    print(f"fork(16) of {memory} MiB: {took * 1000:.0f} ms; a VMM's own memory in all: {median([part[1] for part in parts]) / 2 ** 20:.0f} MiB")
    tell("fork(16): most of an idle child's RAM that is its own", f"{ram * 100:.1f} %", "< 15 %", ram < 0.15)
    for one in (source, *children):
        one.stop()


def bench_dirty(daemon, client, folder):
    source = make(client, memory="1GiB")
    source.fork()[0].stop()
    points = []
    for mib in (8, 32, 96):
        stopped, pages = [], []
        for _ in range(3):
            source.run_shell(f"dd if=/dev/urandom of=/dev/shm/a bs=1M count={mib} 2>/dev/null", check=True)
            child = source.fork()[0]
            fork = child.info.raw["details"]["fork"]
            stopped.append(fork["stopped_us"] / 1000)
            pages.append(fork.get("changed_pages", 0))
            child.stop()
        points.append((mib, median(pages), median(stopped)))
        print(f"second fork after {mib:4} MiB written: {points[-1][1]:8.0f} pages, the source stood still for {points[-1][2]:7.1f} ms")
    each = [ms / pages for _, pages, ms in points if pages]
    tell("cost a page, the dearest size against the cheapest", f"{max(each) / min(each):.2f}" if each else "?", "in proportion", bool(each) and max(each) < 3 * min(each))
    source.stop()


def main():
    if missing := why_not():
        return print(f"skipped: {missing}")
    benches = {"create": bench_create, "pause": bench_pause, "fork": bench_fork, "dirty": bench_dirty}
    folder = tempfile.mkdtemp(prefix="harena-vmb-")
    daemon = microvm_daemon(folder, templates="auto", ahead=1)
    daemon.start()
    try:
        import_tiny(daemon, Path(folder))
        with daemon.client() as client:
            for name in sys.argv[1:] or benches:
                benches[name](daemon, client, folder)
    finally:
        if daemon.process is not None:
            stop_everything(daemon)
            daemon.stop()
        remove_groups()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
