"""Benches that need a running harenad: the rate of GET /v1/sandboxes/{id}, the demo's batch, commands and their output.

Usage: service_bench.py api|batch|commands|output|all, with HARENA_BUILD_DIR and PYTHONPATH set (bench/run.sh does). It starts a daemon of its
own on free ports, with its state in a temporary folder, and leaves nothing behind.
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ["HARENA_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "integration"))

import harena  # noqa: E402
from harenad_process import IMAGE, Harenad  # noqa: E402
from running_daemon import clear_away, stop_everything  # noqa: E402

BATCHES = 5
SANDBOXES = 20


def fetch(daemon, target):
    request = urllib.request.Request(daemon.url + target, headers={"Authorization": "Bearer " + daemon.token})
    return urllib.request.urlopen(request).read()


def import_tiny_image(client, folder):
    subprocess.run([str(SOURCE / "tests" / "support" / "tiny_image.sh"), folder + "/tiny"], check=True, stdout=subprocess.DEVNULL)
    client.images.import_image(IMAGE, folder=folder + "/tiny")


def pin(daemon, cpus):
    command = ["taskset", "-a", "-p", "-c", cpus, str(daemon.process.pid)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def bench_api(daemon, client):
    sandbox = client.create(harena.ContainerArgs(image=IMAGE, idle_ttl_s=0))
    target = f"/v1/sandboxes/{sandbox.id}"
    body = fetch(daemon, target)
    pin(daemon, "0")
    load = ["5", str(daemon.about["api_port"]), target, daemon.token, str(len(body))]
    subprocess.run([str(BUILD / "bin" / "http_bench"), *load], check=True)
    pin(daemon, f"0-{os.cpu_count() - 1}")
    sandbox.stop()


def bench_exec(daemon, client, what):
    """exec_bench in a sandbox that may use the whole machine, as the floors beside it do."""
    sandbox = client.create(harena.ContainerArgs(image=IMAGE, cpu=os.cpu_count(), memory="4GiB", idle_ttl_s=0))
    rounds = {"commands": "1000", "output": "5"}[what]
    command = [str(BUILD / "bin" / "exec_bench"), what, str(daemon.about["api_port"]), daemon.token, sandbox.id, rounds]
    subprocess.run(command, check=True)
    sandbox.stop()


def bench_batch(client):
    times = []
    for _ in range(BATCHES):
        begun = time.monotonic()
        sandboxes = list(client.create_batch(harena.ContainerArgs(image=IMAGE), count=SANDBOXES))
        times.append(time.monotonic() - begun)
        for sandbox in sandboxes:
            sandbox.stop()
    times.sort()
    print(f"batch of {SANDBOXES} containers, all ready: median {times[len(times) // 2]:.2f} s, worst {times[-1]:.2f} s")


def main(what):
    folder = tempfile.mkdtemp(prefix="harena-bench-")
    daemon = Harenad(folder)
    try:
        daemon.start()
        with daemon.client() as client:
            import_tiny_image(client, folder)
            if what in ("api", "all"):
                bench_api(daemon, client)
            if what in ("batch", "all"):
                bench_batch(client)
            for one in ("commands", "output"):
                if what in (one, "all"):
                    bench_exec(daemon, client, one)
        stop_everything(daemon)
    finally:
        clear_away(daemon)


if __name__ == "__main__":
    main(sys.argv[1])
