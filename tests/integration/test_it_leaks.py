"""Nothing stays of a sandbox: harenad, launcher and builder die at each step of create and stop (sdk/support/fault.hpp), and what
recovery leaves is counted from outside: cgroups, processes, loop devices, folders, id ranges, records. HARENA_LONG_TESTS=1: ten
times each, and 1,000 lives."""

import http.client
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from harenad_process import IMAGE, INSTANCE, SOURCE, Harenad
from http_api import LONG, Api, ApiError
from running_daemon import clear_away

# Beside the daemon of the session: other groups, other ids.
OWN = INSTANCE + "x"

# Of sandboxes that are prepared before they are asked for.
POOL_POINTS = ["blank.groups", "blank.made", "create.adopted", "create.folders", "create.launched", "remove.begun", "remove.groups", "remove.platform",
               "init.prepared", "builder.blank", "builder.ordered", "builder.overlay", "init.joined", "init.overlay", "builder.init", "builder.answered"]
# Of those that have a root in advance, which a request with a disk of its own leaves behind.
ROOT_POINTS = ["stage.begun", "init.staged", "stage.moved", "create.folders", "builder.ordered", "init.joined", "builder.init", "remove.groups"]

POINTS = ["create.groups", "create.folders", "create.launched", "remove.begun", "remove.groups", "remove.platform", "remove.files",
          "launcher.asked", "launcher.cloned", "builder.namespaces", "builder.overlay", "builder.init", "builder.answered", "init.joined",
          "init.named"]
ENDED = ("stopped", "failed")


def census(daemon):
    """Names of all that belongs to sandboxes of this daemon."""
    roots = [*Path("/sys/fs/cgroup").glob(f"harena/{OWN}"), *Path("/sys/fs/cgroup").glob(f"*/harena/{OWN}")]
    # os.walk and not glob: a group may go while it is looked at.
    groups = (Path(folder) for root in roots for folder, _, _ in os.walk(root))
    found = {str(group) for group in groups if group.name not in (OWN, "platform", "launcher")}
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


def own_daemon(folder, pool):
    daemon = Harenad(folder, OWN)
    first = (40_000 + os.getpid() % 1000 * 8) * 65536 % (2**32 - 16 * 65536)
    daemon.lowest = max(first, 65536 * 100)

    def configure(config):
        config["plugins"].pop("e2b", None)
        # Without disks that are ready: a living daemon has some (container_disk_pool_test).
        config["plugins"]["container"]["config"].update(id_base=daemon.lowest, id_ranges=8, pool=pool, ready_disks=0)

    daemon.edit_config(configure)
    daemon.fault = Path(folder) / "fault"
    return daemon


@pytest.fixture
def faulty(monkeypatch, image, request):
    """A daemon whose processes die at the point that is written into `fault`; `image` only for its skip. Without a pool, which would take
    names and ranges at its own times; a test that is about the pool asks for one."""
    folder = tempfile.mkdtemp(prefix="harena-leaks-")
    daemon = own_daemon(folder, getattr(request, "param", 0))
    monkeypatch.setenv("HARENA_FAULT", f"@{daemon.fault}")
    daemon.start()
    subprocess.run([str(SOURCE / "tests" / "support" / "tiny_image.sh"), folder + "/tiny"], check=True, stdout=subprocess.DEVNULL)
    with daemon.client() as client:
        client.images.import_image(IMAGE, folder=folder + "/tiny")
    yield daemon
    if daemon.process is None:
        daemon.start()
    stop_all(Api(daemon))
    clear_away(daemon)


def life(api, disk="16MiB"):
    """One create and stop; None if the daemon died of it."""
    try:
        box = api.create(IMAGE, memory="64MiB", **({"disk": disk} if disk else {}))
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


def range_is_free(api, first):
    """A range is given back a moment after the answer of the stop."""
    until = time.monotonic() + 20
    while (got := first_range(api)) != first and time.monotonic() < until:
        time.sleep(0.02)
    return got == first


def reached(daemon):
    """Whether somebody died at the point; some of a stop's come a moment after its answer."""
    until = time.monotonic() + 10
    while daemon.fault.exists() and time.monotonic() < until:
        time.sleep(0.01)
    return not daemon.fault.exists()


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
    first, before = faulty.lowest, census(faulty)
    died = 0
    for _ in range(10 if LONG else 1):
        faulty.fault.write_text(point)
        life(api)
        if not reached(faulty):
            pytest.skip(f"the build has no fault points ({point} wasn't reached)")
        died += revive(faulty)
        # A start undoes what was half-made; a stop that was interrupted is carried on by it.
        stop_all(api)
        assert not alive(api)
    assert not left_over(faulty, before)
    assert range_is_free(api, first)
    assert died or not point.startswith(("create.", "remove."))


def test_many_lives(faulty):
    api = Api(faulty)
    assert life(api)
    first, before = faulty.lowest, census(faulty)
    descriptors = len(os.listdir(f"/proc/{faulty.process.pid}/fd"))
    for _ in range(1000 if LONG else 50):
        assert life(api)
    assert not left_over(faulty, before)
    assert range_is_free(api, first)
    assert len(os.listdir(f"/proc/{faulty.process.pid}/fd")) <= descriptors + 4


def test_killed_in_the_middle_of_a_burst(faulty):
    api = Api(faulty)
    assert life(api)
    first, before = faulty.lowest, census(faulty)
    for round in range(10 if LONG else 2):
        threads = [threading.Thread(target=life, args=(Api(faulty),)) for _ in range(6)]
        [thread.start() for thread in threads]
        time.sleep(0.01 + 0.02 * round)  # at another moment each round; what has to hold, holds at all of them
        faulty.kill()
        [thread.join() for thread in threads]
        faulty.start()
        stop_all(api)
    assert not left_over(faulty, before)
    assert range_is_free(api, first)


def owner(group):
    try:
        return os.getxattr(group, "trusted.harena.sandbox")
    except OSError:
        return b""


def blanks(found):
    """Groups of those that are no sandbox's yet."""
    return {name for name in found if Path(name).name.startswith("blank-") and not owner(name)}


def await_prepared(api):
    """Until the next create finds one that is prepared."""
    until = time.monotonic() + 20
    while True:
        box = api.create(IMAGE)
        prepared = api.call("GET", box.path)["details"]["prepared"]
        box.stop()
        if prepared:
            return
        assert time.monotonic() < until, "the pool isn't filled"
        time.sleep(0.02)


def every_range(api):
    """As many sandboxes at once as there are ranges of ids: none is lost, and those that wait take nobody's place."""
    boxes = [api.create(IMAGE, memory="16MiB") for _ in range(8)]
    with pytest.raises(ApiError) as caught:
        api.create(IMAGE)
    assert caught.value.code == "resource_exhausted"
    for box in boxes:
        box.stop()


@pytest.mark.parametrize("faulty", [2], indirect=True)
@pytest.mark.parametrize("point, disk", [(point, "16MiB") for point in POOL_POINTS] + [(point, None) for point in ROOT_POINTS])
def test_a_death_at_each_step_of_the_pool_leaves_nothing(faulty, point, disk):
    api = Api(faulty)
    await_prepared(api)
    before = census(faulty)
    before -= blanks(before)
    for _ in range(5 if LONG else 1):
        faulty.fault.write_text(point)
        # Some are points of making one, which is done after the answers.
        until = time.monotonic() + 20
        while faulty.fault.exists() and time.monotonic() < until:
            life(api, disk)
            if faulty.process.poll() is not None:
                break
        assert not faulty.fault.exists(), f"{point} wasn't reached"
        revive(faulty)
        stop_all(api)
        assert not alive(api)
        await_prepared(api)
    faulty.stop()  # those that wait end with it
    assert not left_over(faulty, before)
    faulty.start()
    every_range(api)


@pytest.mark.parametrize("faulty", [2], indirect=True)
def test_a_daemon_that_ends_leaves_nothing_of_the_pool(faulty):
    api = Api(faulty)
    await_prepared(api)
    kept = api.create(IMAGE)
    faulty.kill()
    faulty.start()
    assert not blanks(census(faulty)), "what an earlier daemon had prepared"
    assert kept.run("echo alive")["stdout"] == "alive\n"
    await_prepared(api)
    faulty.stop()
    assert not blanks(census(faulty))
    faulty.start()
    assert kept.run("echo alive")["stdout"] == "alive\n"
    kept.stop()
