"""harenad, launcher and their helpers die at each step of a fork, a snapshot and a rollback (sdk/support/fault.hpp). Whatever step it
was: a start mends it, the source goes on with what it had, and after its end nothing is left: no layer, no snapshot, no mount."""

import http.client
import os
import time

import pytest

from harenad_process import IMAGE
from http_api import LONG, Api, ApiError, Box
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


@pytest.mark.parametrize("verb", ["fork", "rollback"])
@pytest.mark.parametrize("point", ["swap.attached", "swap.carried", "swap.pivoted"])
def test_a_death_inside_of_the_sandbox(faulty, monkeypatch, point, verb):  # noqa: F811
    """The helper that changes the root has entered the sandbox, where it finds no fault file: here every helper dies there, as often as it is
    tried, and harenad lives. Then harenad dies too."""
    api = Api(faulty)
    assert life(api)
    api.call("POST", f"{api.create(IMAGE).path}/fork", {})  # the layers' folder, which stays
    stop_all(api)
    first, before = faulty.lowest, census(faulty)
    box = api.create(IMAGE, memory="64MiB")
    box.run("echo one > /a; mkdir -p /d; echo 1 > /d/f; echo kept > /dev/shm/f")
    snapshot = api.call("POST", f"{box.path}/snapshots", {"name": "one"})["id"]
    box.run("echo two > /a")
    faulty.stop()
    fault = os.environ["HARENA_FAULT"]
    monkeypatch.setenv("HARENA_FAULT", point)
    faulty.start()
    api = Api(faulty)
    box = Box(api, box.id)
    whole = "cat /a /d/f /dev/shm/f; test -e /proc/1/stat && test -c /dev/null && mount | grep -c ' / '"
    for _ in range(2):
        act = {"fork": lambda: api.call("POST", f"{box.path}/fork", {}),
               "rollback": lambda: api.call("POST", f"{box.path}/rollback", {"snapshot": snapshot})}[verb]
        # Behind the pivot the change is made, whoever died: the look at what is there finds it.
        if tried(act) and point != "swap.pivoted":
            pytest.skip(f"the build has no fault points ({point} wasn't reached)")
        # Whether the old root or the new one: it is whole, and there is one.
        said = box.run(whole)["stdout"]
        assert said in {"fork": {"two\n1\nkept\n1\n"}, "rollback": {"one\n1\nkept\n1\n", "two\n1\nkept\n1\n"}}[verb], said
    faulty.kill()
    monkeypatch.setenv("HARENA_FAULT", fault)
    faulty.start()
    api = Api(faulty)
    box = Box(api, box.id)
    assert box.run(whole)["stdout"].endswith("1\nkept\n1\n")
    assert tried(lambda: api.call("POST", f"{box.path}/rollback", {"snapshot": snapshot}))
    assert box.run("cat /a; echo more > /b; cat /b")["stdout"] == "one\nmore\n"
    child = api.call("POST", f"{box.path}/fork", {})["results"][0]["sandbox"]["id"]
    answer = api.call("POST", f"/sandboxes/{child}/commands", {"shell": "cat /a /b", "wait": True})
    assert answer["stdout"] == "one\nmore\n", answer
    api.call("DELETE", f"/snapshots/{snapshot}")
    stop_all(api)
    nothing_left(faulty, api, first, before)


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
