"""harenad, launcher and their helpers die at each step of a fork, a snapshot and a rollback (sdk/support/fault.hpp). Whatever step it
was: a start mends it, the source goes on with what it had, and after its end nothing is left: no layer, no snapshot, no mount."""

import http.client
import time

import pytest

from harenad_process import IMAGE
from http_api import LONG, Api, ApiError
from test_it_leaks import alive, census, faulty, left_over, life, range_is_free, reached, revive, stop_all  # noqa: F401 (a fixture)

# From swap.attached on the launcher's process is inside of the sandbox, where no fault file is: those come by the variable alone.
ROOT = ["root.written", "root.prepared", "root.changed", "root.moved", "root.committed", "swap.mounted"]
FORK = ["fork.frozen", "fork.written", "fork.used", "create.groups", "create.folders", "create.launched", "builder.overlay", "init.joined"]
COPY = ["layer.begun", "layer.laid"]


def layers(daemon):
    root = daemon.state / "sandboxes" / ".container-layers"
    return {str(one) for one in root.glob("[lt]*")} | {str(one) for one in (daemon.state / "snapshots").glob("*")}


def layers_are_gone(daemon):
    """A stop's answer doesn't wait for it."""
    until = time.monotonic() + 20
    while (left := layers(daemon)) and time.monotonic() < until:
        time.sleep(0.02)
    return not left


def tried(call):
    """None when the daemon died of it, else whether it went well."""
    try:
        call()
        return True
    except (http.client.HTTPException, OSError):
        return None
    except ApiError as error:
        assert error.error["cause"] == "infrastructure" or error.code in ("aborted", "not_found"), error.error
        return False


def at_point(daemon, point, prepare, act):
    """`act` with a death at `point`; then a source that still has its files, its mounts, and can be forked."""
    api = Api(daemon)
    assert life(api)
    api.call("POST", f"{api.create(IMAGE).path}/fork", {})  # the layers' folder, which stays
    stop_all(api)
    first, before = daemon.lowest, census(daemon)
    died = 0
    for _ in range(5 if LONG else 1):
        box = api.create(IMAGE, memory="64MiB")
        box.run("echo one > /a; mkdir -p /d; echo 1 > /d/f")
        kept = prepare(api, box)
        daemon.fault.write_text(point)
        tried(lambda: act(api, box, kept))
        if not reached(daemon):
            pytest.skip(f"the build has no fault points ({point} wasn't reached)")
        died += revive(daemon)
        view = api.call("GET", box.path)
        assert view["state"] == "running", view
        assert box.run("cat /a /d/f; test -e /proc/1/stat && test -c /dev/null && mount | grep -c ' / '")["stdout"] == "one\n1\n1\n"
        box.run("echo two > /b")
        child = api.call("POST", f"{box.path}/fork", {})["results"][0]["sandbox"]["id"]
        answer = api.call("POST", f"/sandboxes/{child}/commands", {"shell": "cat /a /b", "wait": True})
        assert answer["stdout"] == "one\ntwo\n", answer
        for one in api.call("GET", "/snapshots")["snapshots"]:
            api.call("DELETE", f"/snapshots/{one['id']}")
        stop_all(api)
        assert not alive(api)
    return api, first, before, died


def nothing_left(daemon, api, first, before):
    assert not left_over(daemon, before)
    assert range_is_free(api, first)
    assert layers_are_gone(daemon)


@pytest.mark.parametrize("point", ROOT + FORK)
def test_a_death_in_a_fork(faulty, point):  # noqa: F811
    def fork(api, box, _):
        api.call("POST", f"{box.path}/fork", {"count": 2})

    api, first, before, died = at_point(faulty, point, lambda api, box: None, fork)
    nothing_left(faulty, api, first, before)
    assert died or not point.startswith(("root.", "fork.", "create."))


@pytest.mark.parametrize("point", COPY)
def test_a_death_in_a_copy(faulty, point):  # noqa: F811
    def busy(api, box):
        box.run("(sleep 1000 &) ; true")

    def fork(api, box, _):
        api.call("POST", f"{box.path}/fork", {})

    api, first, before, died = at_point(faulty, point, busy, fork)
    nothing_left(faulty, api, first, before)
    assert died


@pytest.mark.parametrize("point", ["snapshot.frozen", "root.changed", "root.committed"])
def test_a_death_in_a_snapshot(faulty, point):  # noqa: F811
    def snapshot(api, box, _):
        api.call("POST", f"{box.path}/snapshots", {"name": "one"})

    api, first, before, died = at_point(faulty, point, lambda api, box: None, snapshot)
    nothing_left(faulty, api, first, before)
    assert died


@pytest.mark.parametrize("point", ["rollback.ended"] + ROOT)
def test_a_death_in_a_rollback(faulty, point):  # noqa: F811
    """The files are those of the snapshot or those of before: here they are the same."""
    def snapshot(api, box):
        return api.call("POST", f"{box.path}/snapshots", {"name": "one"})["id"]

    def rollback(api, box, snapshot):
        api.call("POST", f"{box.path}/rollback", {"snapshot": snapshot})

    api, first, before, died = at_point(faulty, point, snapshot, rollback)
    nothing_left(faulty, api, first, before)
    assert died or point.startswith("swap.")


def test_a_death_in_the_removal_of_a_layer(faulty):  # noqa: F811
    api = Api(faulty)
    assert life(api)
    box = api.create(IMAGE)
    box.run("echo one > /a")
    snapshot = api.call("POST", f"{box.path}/snapshots", {"name": "one"})["id"]
    box.stop()
    faulty.fault.write_text("layer.discarded")
    tried(lambda: api.call("DELETE", f"/snapshots/{snapshot}"))
    if not reached(faulty):
        pytest.skip("the build has no fault points")
    assert revive(faulty)
    assert api.call("GET", "/snapshots")["snapshots"] == []
    assert life(api)  # the folder is looked at when the next sandbox is made
    assert layers_are_gone(faulty)
