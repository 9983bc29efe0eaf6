"""Files of 1 GiB through harenad into a container and out of it, against a plain Beast file server, in turns.

Usage: files_bench.py [MiB [rounds]], with HARENA_BUILD_DIR and PYTHONPATH set (bench/run.sh does). Both servers keep the file on the same
file system, and are asked by the same curl; harenad's memory is its peak over its resident size before.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HARENA_BUILD_DIR"])
sys.path[:0] = [str(SOURCE / "tests" / "integration"), str(SOURCE / "bench")]

import harena  # noqa: E402
from harenad_process import IMAGE, Harenad  # noqa: E402
from peak_memory import memory_bytes  # noqa: E402
from running_daemon import clear_away, stop_everything  # noqa: E402
from service_bench import import_tiny_image  # noqa: E402


def curl(url, *options):
    """Seconds of one transfer."""
    done = subprocess.run(["curl", "-sS", "--fail", "-H", "Expect:", "-o", "/dev/null", "-w", "%{json}", *options, url], check=True, capture_output=True)
    return json.loads(done.stdout)["time_total"]


def median(values):
    return sorted(values)[len(values) // 2]


def compare(daemon, sandbox, plain_url, source, rounds):
    harena_url = f"{daemon.url}/v1/sandboxes/{sandbox.id}/files?path=/tmp/large"
    token = ["-H", f"Authorization: Bearer {daemon.token}"]
    times = {"write": ([], []), "read": ([], [])}
    for _ in range(rounds):
        times["write"][0].append(curl(plain_url, "-T", source))
        times["write"][1].append(curl(harena_url, "-T", source, *token))
        times["read"][0].append(curl(plain_url))
        times["read"][1].append(curl(harena_url, *token))
    return times


def main(mebibytes, rounds):
    folder = tempfile.mkdtemp(prefix="harena-bench-")
    daemon = Harenad(folder)
    plain = subprocess.Popen([str(BUILD / "bin" / "beast_files"), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        daemon.start()
        with daemon.client() as client:
            import_tiny_image(client, folder)
            sandbox = client.create(harena.ContainerArgs(image=IMAGE, memory="8GiB", cpu=2, idle_ttl_s=0))
        source = f"{folder}/source"
        subprocess.run(["dd", "if=/dev/urandom", f"of={source}", "bs=1M", f"count={mebibytes}"], check=True, stderr=subprocess.DEVNULL)
        before = memory_bytes(daemon.process.pid, 'VmHWM')
        times = compare(daemon, sandbox, f"http://127.0.0.1:{plain.stdout.readline().strip()}/large", source, rounds)
        for verb, (theirs, ours) in times.items():
            print(f"{verb} of {mebibytes} MiB: Beast {mebibytes / median(theirs):.0f} MiB/s, harena {mebibytes / median(ours):.0f} MiB/s: "
                  f"{100 * median(theirs) / median(ours):.0f} %")
        print(f"harenad's peak: {memory_bytes(daemon.process.pid, 'VmHWM') >> 20} MiB, {before >> 20} MiB before")
        stop_everything(daemon)
    finally:
        plain.stdin.close()
        plain.wait()
        clear_away(daemon)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
