"""Nothing stays of a sandbox: harenad, launcher and builder die at each step of create and stop (sdk/support/fault.hpp), and what
recovery leaves is counted from outside: cgroups, processes, loop devices, folders, id ranges, records. HARENA_LONG_TESTS=1: ten
times each, and 1,000 lives."""

import http.client
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from harenad_process import IMAGE, INSTANCE, SOURCE, Harenad
from http_api import LONG, Api, ApiError

# Beside the daemon of the session: other groups, other ids.
OWN = INSTANCE + "x"

POINTS = ["create.groups", "create.folders", "create.launched", "remove.begun", "remove.groups", "remove.platform", "remove.files",
          "launcher.asked", "launcher.cloned", "builder.namespaces", "builder.overlay", "builder.init", "builder.answered", "init.joined",
          "init.named"]
ENDED = ("stopped", "failed")


def census(daemon):
    """Names of all that belongs to sandboxes of this daemon."""
    roots = [*Path("/sys/fs/cgroup").glob(f"harena/{OWN}"), *Path("/sys/fs/cgroup").glob(f"*/harena/{OWN}")]
    found = {str(group) for root in roots for group in root.glob("**/") if group.name not in (OWN, "platform", "launcher")}
    for parent in (daemon.state, daemon.run):
        found |= {str(one) for one in (parent / "sandboxes").glob("*")}
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            name = backing.read_text()
        except OSError:
            continue  # freed in between
        if name.startswith(str(daemon.folder)):
            found.add(f"{backing.parts[3]} of {name}")
    found |= {line.split()[1] for line in open("/proc/self/mounts") if str(daemon.folder) in line}
    return found


def left_over(daemon, before):
    """The kernel frees file systems and loop devices in workers of its own: looks for 20 s at most."""
    until = time.monotonic() + 20
    while (left := census(daemon) - before) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def alive(api):
    return [one["id"] for one in api.call("GET", "/sandboxes?limit=1000")["sandboxes"] if one["state"] not in ENDED]


def stop_all(api):
    for sandbox in alive(api):
        try:
            api.call("POST", f"/sandboxes/{sandbox}/stop", {})
        except ApiError as error:
            if error.code != "not_found":
                raise


def own_daemon(folder):
    daemon = Harenad(folder)
    config = json.loads(daemon.config.read_text())
    first = (40_000 + os.getpid() % 1000 * 8) * 65536 % (2**32 - 16 * 65536)
    config["plugins"]["container"]["config"].update(instance=OWN, id_base=max(first, 65536 * 100), id_ranges=8)
    daemon.config.write_text(json.dumps(config))
    daemon.fault = Path(folder) / "fault"
    return daemon


@pytest.fixture
def faulty(monkeypatch, image):
    """A daemon whose processes die at the point that is written into `fault`; `image` only for its skip."""
    folder = tempfile.mkdtemp(prefix="harena-leaks-")
    daemon = own_daemon(folder)
    monkeypatch.setenv("HARENA_FAULT", f"@{daemon.fault}")
    daemon.start()
    subprocess.run([str(SOURCE / "tests" / "support" / "tiny_image.sh"), folder + "/tiny"], check=True, stdout=subprocess.DEVNULL)
    with daemon.client() as client:
        client.images.import_image(IMAGE, folder=folder + "/tiny")
    yield daemon
    if daemon.process is None:
        daemon.start()
    stop_all(Api(daemon))
    daemon.stop()
    shutil.rmtree(folder, ignore_errors=True)
    for parent, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if f"/harena/{OWN}" in parent:
            os.rmdir(parent)


def life(api):
    """One create and stop; None if the daemon died of it."""
    try:
        box = api.create(IMAGE, disk="16MiB", memory="64MiB")
        box.stop()
    except (http.client.HTTPException, OSError):
        return None
    except ApiError as error:
        assert error.error["cause"] == "infrastructure", error.error
    return True


def first_range(api):
    box = api.create(IMAGE)
    first = api.call("GET", box.path)["details"]["first_id"]
    box.stop()
    return first


def revive(daemon):
    """Starts it again if it died."""
    try:
        daemon.process.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        return False
    daemon.process = None
    daemon.start()
    return True


@pytest.mark.parametrize("point", POINTS)
def test_a_death_at_each_step_leaves_nothing(faulty, point):
    api = Api(faulty)
    assert life(api)
    first, before = first_range(api), census(faulty)
    died = 0
    for _ in range(10 if LONG else 1):
        faulty.fault.write_text(point)
        life(api)
        if faulty.fault.exists():
            pytest.skip(f"the build has no fault points ({point} wasn't reached)")
        died += revive(faulty)
        # A start undoes what was half-made; a stop that was interrupted is carried on by it.
        stop_all(api)
        assert not alive(api)
    assert not left_over(faulty, before)
    assert first_range(api) == first
    assert died or not point.startswith(("create.", "remove."))


def test_many_lives(faulty):
    api = Api(faulty)
    assert life(api)
    first, before = first_range(api), census(faulty)
    descriptors = len(os.listdir(f"/proc/{faulty.process.pid}/fd"))
    for _ in range(1000 if LONG else 50):
        assert life(api)
    assert not left_over(faulty, before)
    assert first_range(api) == first
    assert len(os.listdir(f"/proc/{faulty.process.pid}/fd")) <= descriptors + 4


def test_killed_in_the_middle_of_a_burst(faulty):
    api = Api(faulty)
    assert life(api)
    first, before = first_range(api), census(faulty)
    for round in range(10 if LONG else 2):
        threads = [threading.Thread(target=life, args=(Api(faulty),)) for _ in range(6)]
        [thread.start() for thread in threads]
        time.sleep(0.01 + 0.02 * round)  # at another moment each round; what has to hold, holds at all of them
        faulty.kill()
        [thread.join() for thread in threads]
        faulty.start()
        stop_all(api)
    assert not left_over(faulty, before)
    assert first_range(api) == first
