"""A container's life through the API beside what a user would pick instead: bare floor, bwrap, runc, podman.

Usage: containers_bench.py [life|burst|idle|mounts|thousands|neighbours|fork|all] [ROUNDS], with HARENA_BUILD_DIR set (bench/run.sh does). Every
round takes one of each, so that a busy machine is busy for all; figures are medians and their ratios. It starts a daemon of its own on free
ports and leaves nothing behind. HARENA_BENCH_POOL: how many sandboxes the daemon prepares in advance, instead of its default.

  life        create + first `true` + stop through the API, beside bare floor, bwrap, runc, podman
  burst       500 creates, 64 at once
  idle        memory of the platform for an idle container
  mounts      create with 2,000 more mounts on the host
  thousands   exec beside 10 and beside 2,000 idle containers
  neighbours  exec beside a fork bomb, a memory bomb and a disk filler
  fork        a fork's time beside a create's
"""

import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ["HARENA_BUILD_DIR"])
sys.path[:0] = [str(SOURCE / "tests" / "integration"), str(SOURCE / "sdk" / "python")]

from harenad_process import IMAGE, Harenad  # noqa: E402
from http_api import Api  # noqa: E402
from running_daemon import clear_away, stop_everything  # noqa: E402

KEEP_RATIO_OF_FLOOR, KEEP_RATIO_OF_RUNC, KEEP_RATIO_OF_CREATE = 3.0, 3.0, 1.3


def milliseconds(body):
    begun = time.monotonic()
    body()
    return (time.monotonic() - begun) * 1000


def command_line(words):
    return lambda: subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def runc_bundle(folder, rootfs):
    bundle = folder / "bundle"
    bundle.mkdir()
    subprocess.run(["runc", "spec"], cwd=bundle, check=True)
    spec = json.loads((bundle / "config.json").read_text())
    spec["process"].update(terminal=False, args=["/bin/true"])
    spec["root"] = {"path": str(rootfs), "readonly": False}
    (bundle / "config.json").write_text(json.dumps(spec))
    return bundle


def peers(folder, rootfs):
    """name: one whole life of /bin/true; only those that run here."""
    found = {}
    floor = subprocess.Popen([str(BUILD / "bin" / "container_floor"), str(rootfs), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def bare():
        floor.stdin.write(b"\n")
        floor.stdin.flush()
        assert floor.stdout.readline() == b"0\n"

    found["bare floor"] = bare
    if shutil.which("bwrap"):
        found["bwrap"] = command_line(["bwrap", "--bind", str(rootfs), "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", "/bin/true"])
    if shutil.which("runc"):
        bundle = runc_bundle(folder, rootfs)
        found["runc run"] = command_line(["runc", "run", "--bundle", str(bundle), f"bench-{os.getpid()}"])
    if shutil.which("podman"):
        found["podman run"] = command_line(["podman", "run", "--rm", "--network", "none", "--rootfs", str(rootfs), "/bin/true"])
    for name in list(found):
        try:
            found[name]()
        except (subprocess.CalledProcessError, AssertionError, BrokenPipeError) as error:
            print(f"  {name} doesn't run here: {error}")
            del found[name]
    return floor, found


def settle():
    """What one way leaves to be done after its answer (teardown in the kernel's workers, the pool's refilling) isn't charged to the next."""
    time.sleep(0.03)


def bench_life(daemon, folder, rounds):
    api = Api(daemon)
    prepared = 0
    parts = {"create": [], "first true": [], "stop": []}

    def life():
        nonlocal prepared
        marks = [time.monotonic()]
        box = api.create(IMAGE)
        marks.append(time.monotonic())
        assert box.run(argv=["/bin/true"])["exit"]["code"] == 0
        marks.append(time.monotonic())
        box.stop()
        marks.append(time.monotonic())
        prepared += api.call("GET", box.path)["details"].get("prepared", False)
        for name, begun, ended in zip(parts, marks, marks[1:]):
            parts[name].append((ended - begun) * 1000)
        return (marks[-1] - marks[0]) * 1000

    floor, ways = peers(folder, folder / "tiny")
    ways["harena API"] = life
    taken = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            settle()
            taken[name].append(way() if way is life else milliseconds(way))
    floor.stdin.close()
    floor.wait()
    medians = {name: statistics.median(values) for name, values in taken.items()}
    for name, value in medians.items():
        print(f"  {name:12} {value:8.2f} ms   {value / medians['harena API']:6.2f} x harena   p10 {sorted(taken[name])[len(taken[name]) // 10]:8.2f}   p90 {sorted(taken[name])[len(taken[name]) * 9 // 10]:8.2f}")
    for name, values in parts.items():
        print(f"    {name:10} {statistics.median(values):8.2f} ms   p10 {sorted(values)[len(values) // 10]:8.2f}")
    print(f"    {prepared} of {rounds} were prepared in advance")
    ratio = medians["harena API"] / medians["bare floor"]
    print(f"  create + first true + stop: {ratio:.2f} x the floor (promised: at most {KEEP_RATIO_OF_FLOOR})")
    if "bwrap" in medians:
        print(f"  bwrap takes {medians['bwrap'] / medians['harena API']:.2f} x as long (promised: over 1)")
    if "runc run" in medians:
        print(f"  runc takes {medians['runc run'] / medians['harena API']:.2f} x as long (promised: at least {KEEP_RATIO_OF_RUNC})")


def bench_burst(daemon, count=500):
    api = Api(daemon, timeout=300)
    latencies, boxes, failed = [], [], []
    lock, todo = threading.Lock(), list(range(count))
    begun = time.monotonic()

    def work():
        while True:
            with lock:
                if not todo:
                    return
                todo.pop()
            start = time.monotonic()
            try:
                box = api.create(IMAGE, cpu=0.01, memory="16MiB")
                with lock:
                    boxes.append(box)
                    latencies.append(time.monotonic() - start)
            except Exception as error:  # counted: the promise is that all succeed
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(64)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    took = time.monotonic() - begun
    print(f"  burst of {count}: {len(failed)} failed, {count / took:.0f} a second, p99 {sorted(latencies)[len(latencies) * 99 // 100]:.2f} s"
          " (promised: none, 150, 3 s)")
    for error in failed[:3]:
        print(f"    {error}")
    for box in boxes:
        box.stop()


def memory_of(pid):
    """Private pages of a process: what it costs that nobody else holds."""
    return sum(int(line.split()[1]) for line in open(f"/proc/{pid}/smaps_rollup") if line.startswith(("Private_Clean", "Private_Dirty")))


def bench_idle(daemon, count=100):
    api = Api(daemon)

    def platform():
        pids = []
        for procs in Path("/sys/fs/cgroup").glob(f"**/harena/it{os.getpid()}/**/cgroup.procs"):
            pids += [int(pid) for pid in procs.read_text().split()]
        return sum(memory_of(pid) for pid in set(pids) | {daemon.process.pid})

    small = {"cpu": 0.1, "memory": "32MiB"}
    warm = api.create(IMAGE, **small)
    before = platform()
    boxes = [api.create(IMAGE, **small) for _ in range(count)]
    each = (platform() - before) / count
    print(f"  an idle container: {each / 1024:.2f} MiB of shim, init and harenad (promised: under 1.5)")
    for box in [warm, *boxes]:
        box.stop()


class ManyMounts:
    """So many mounts more where the daemon looks."""

    MS_BIND, MNT_DETACH = 4096, 2

    def __init__(self, folder, count):
        self.root, self.count = folder / "mounts", count
        self.libc = ctypes.CDLL(None, use_errno=True)

    def call(self, name, *arguments):
        if getattr(self.libc, name)(*arguments) != 0:
            raise OSError(ctypes.get_errno(), name)

    def __enter__(self):
        self.root.mkdir(exist_ok=True)
        self.call("mount", b"tmpfs", bytes(self.root), b"tmpfs", 0, None)
        for number in range(self.count - 1):
            spot = self.root / str(number)
            spot.mkdir()
            self.call("mount", bytes(self.root), bytes(spot), None, self.MS_BIND, None)

    def __exit__(self, *_):
        self.call("umount2", bytes(self.root), self.MNT_DETACH)


def creates(daemon, rounds):
    api, taken = Api(daemon), []
    for _ in range(rounds):
        settle()
        begun = time.monotonic()
        box = api.create(IMAGE)
        taken.append((time.monotonic() - begun) * 1000)
        box.stop()
    return taken


def bench_mounts(daemon, folder, rounds, more=2000):
    """The daemon is started anew each time: its launcher begins among the mounts that there are."""
    few, many = [], []
    for _ in range(3):
        daemon.stop()
        daemon.start()
        creates(daemon, 5)
        few += creates(daemon, rounds)
        with ManyMounts(folder, more):
            daemon.stop()
            daemon.start()
            creates(daemon, 5)
            many += creates(daemon, rounds)
    ratio = statistics.median(many) / statistics.median(few)
    print(f"  create: {statistics.median(few):.2f} ms, with {more} more mounts on the host {statistics.median(many):.2f} ms: {ratio:.2f} x (promised: 1.2)")


def bench_thousands(daemon, count=2000, few=10, seconds=8):
    """Exec in one container beside few and beside thousands of idle ones."""
    api = Api(daemon, timeout=300)
    boxes, failed, lock = [], [], threading.Lock()

    def make(how_many):
        def work():
            while True:
                with lock:
                    if len(boxes) + len(failed) + len(running) >= how_many:
                        return
                    running.append(1)
                try:
                    box = api.create(IMAGE, cpu=0.01, memory="8MiB")
                    with lock:
                        boxes.append(box)
                except Exception as error:
                    failed.append(error)
                finally:
                    running.pop()

        running = []
        threads = [threading.Thread(target=work) for _ in range(16)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    begun = time.monotonic()
    measured = api.create(IMAGE)
    make(few)
    exec_p99(measured, 1)
    time.sleep(1)
    beside_few, n = exec_p99(measured, seconds)
    make(count)
    made = time.monotonic() - begun
    time.sleep(2)
    beside_many, m = exec_p99(measured, seconds)
    print(f"  exec p99: {beside_few:.2f} ms beside {few} idle containers ({n}), {beside_many:.2f} ms beside {len(boxes)} ({m}):"
          f" {beside_many / beside_few:.2f} x (promised: 3); {len(failed)} failed, all made after {made:.0f} s")
    for error in failed[:3]:
        print(f"    {error}")
    lists = [boxes[i::16] for i in range(16)]
    threads = [threading.Thread(target=lambda part=part: [box.stop() for box in part]) for part in [*lists, [measured]]]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


def exec_p99(box, seconds):
    taken, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        taken.append(milliseconds(lambda: box.run(argv=["/bin/true"])))
    return sorted(taken)[len(taken) * 99 // 100], len(taken)


def bench_neighbours(daemon, seconds=10):
    """A fork bomb, a memory bomb and a disk filler, each with half a core; the neighbour's exec."""
    api = Api(daemon)
    quiet = api.create(IMAGE)
    exec_p99(quiet, 1)
    idle, n = exec_p99(quiet, seconds)
    bombs = [api.create(IMAGE, cpu=0.25, memory="64MiB", pids=64, disk="64MiB") for _ in range(3)]
    bombs[0].start(shell="while true; do sh -c 'while true; do true & done'; done")
    bombs[1].start(shell="while true; do dd if=/dev/zero of=/dev/shm/x bs=1M 2>/dev/null; head -c 1G /dev/zero | tail; done")
    bombs[2].start(shell="while true; do dd if=/dev/zero of=/fill bs=1M 2>/dev/null; rm /fill; done")
    under, m = exec_p99(quiet, seconds)
    print(f"  the neighbour's exec p99: {idle:.1f} ms idle ({n}), {under:.1f} ms beside the bombs ({m}): {under / idle:.2f} x (promised: 2)")
    for box in [quiet, *bombs]:
        box.stop()


def bench_fork(daemon, rounds):
    """A create and a fork in turns, both through the API; the source has written something since its last fork."""
    api = Api(daemon)
    small = {"cpu": 0.1, "memory": "32MiB"}  # eleven at once must find room on any machine
    source = api.create(IMAGE, **small)
    first = api.call("POST", f"{source.path}/fork", {})["results"][0]["sandbox"]["id"]
    taken = {"create": [], "fork": [], "fork, nothing new": [], "fork of 8, each": []}
    ended = [first]

    def create():
        ended.append(api.create(IMAGE, **small).id)

    def fork(count=1):
        answer = api.call("POST", f"{source.path}/fork", {"count": count})
        ended.extend(one["sandbox"]["id"] for one in answer["results"])

    for number in range(rounds):
        taken["create"].append(milliseconds(create))
        source.run(f"echo {number} >> /log; mkdir -p /d; echo {number} > /d/{number}")
        taken["fork"].append(milliseconds(fork))
        taken["fork, nothing new"].append(milliseconds(fork))
        taken["fork of 8, each"].append(milliseconds(lambda: fork(8)) / 8)
        while ended:
            api.call("POST", f"/sandboxes/{ended.pop()}/stop", {})
    source.stop()
    medians = {name: statistics.median(values) for name, values in taken.items()}
    for name, value in medians.items():
        print(f"  {name:18} {value:8.2f} ms   {value / medians['create']:5.2f} x create   p90 {sorted(taken[name])[len(taken[name]) * 9 // 10]:8.2f}")
    print(f"  container fork: {medians['fork'] / medians['create']:.2f} x create (promised: at most {KEEP_RATIO_OF_CREATE})")


def configure(config):
    config["plugins"].pop("e2b", None)  # nothing here speaks it, and it needn't be built
    # Apart from those of the tests (33,000 and more) and of a daemon with the defaults (28,672 to 32,765).
    config["plugins"]["container"]["config"].update(id_base=(2_000 + os.getpid() % 8 * 2_300) * 65536, id_ranges=2_200)
    config["edge"] = {"cpu_overcommit": 64}  # thousands of idle ones are promised more than two cores times 8
    if pool := os.environ.get("HARENA_BENCH_POOL"):
        config["plugins"]["container"]["config"]["pool"] = int(pool)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    folder = Path(tempfile.mkdtemp(prefix="harena-bench-"))
    daemon = Harenad(folder)
    daemon.edit_config(configure)
    try:
        daemon.start()
        subprocess.run([str(SOURCE / "tests" / "support" / "tiny_image.sh"), str(folder / "tiny")], check=True, stdout=subprocess.DEVNULL)
        with daemon.client() as client:
            client.images.import_image(IMAGE, folder=str(folder / "tiny"))
        print(f"containers, load before: {open('/proc/loadavg').read().split()[0]} on {os.cpu_count()} cores")
        if what in ("life", "all"):
            bench_life(daemon, folder, rounds)
        if what in ("burst", "all"):
            bench_burst(daemon)
        if what in ("idle", "all"):
            bench_idle(daemon)
        if what in ("mounts", "all"):
            bench_mounts(daemon, folder, max(rounds // 5, 5))
        if what in ("thousands", "all"):
            bench_thousands(daemon)
        if what in ("neighbours", "all"):
            bench_neighbours(daemon)
        if what in ("fork", "all"):
            bench_fork(daemon, rounds)
    finally:
        stop_everything(daemon)
        clear_away(daemon)


if __name__ == "__main__":
    main()
