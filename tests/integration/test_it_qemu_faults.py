"""harenad and harena-qemu-machine die at each step of a verb (sdk/support/fault.hpp). Whatever step it was: the next start of the daemon mends it, a machine
whose own process lives goes on, snapshots that are ready are whole, and at the end nothing is left."""

import os
from pathlib import Path

import pytest

from qemu_support import Console, create, leftovers, qemu_daemon, remove_groups, request, tiny, wait_for_state

OF_DAEMON = ["qemu.create.groups", "qemu.create.started", "qemu.snapshot.taken", "qemu.fork.frozen", "qemu.resize.room", "qemu.resize.plugged",
             "qemu.remove.begun", "qemu.remove.machine", "qemu.remove.files"]
OF_MACHINE = ["qemu.machine.snapshot.noted", "qemu.machine.snapshot.saved", "qemu.machine.snapshot.linked", "qemu.machine.rollback.ended",
              "qemu.machine.rollback.loaded", "qemu.machine.resize.cpu"]
# Some minutes on a busy machine: all of them in the long form.
SHORT = ["qemu.snapshot.taken", "qemu.resize.plugged", "qemu.machine.snapshot.saved", "qemu.machine.rollback.loaded"]
POINTS = OF_DAEMON + OF_MACHINE if os.environ.get("HARENA_LONG_TESTS") == "1" else SHORT


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("qemu")
    fault = Path(folder) / "fault"
    os.environ["HARENA_FAULT"] = f"@{fault}"
    try:
        made = qemu_daemon(folder)
        made.fault = fault
        made.start()
        yield made
        made.stop()
        remove_groups()
    finally:
        os.environ.pop("HARENA_FAULT", None)


def attempt(daemon, *words):
    """(status, answer); None when the daemon died of it."""
    try:
        return request(daemon, *words)
    except OSError:
        return None


def revive(daemon):
    """Whether it had died."""
    try:
        daemon.process.wait(timeout=0.5)
    except Exception:
        return False
    daemon.process = None
    daemon.restart()
    return True


def verbs(daemon, sandbox):
    """Everything that can fail at a point, in a row; failures are what is tried."""
    url = f"/sandboxes/{sandbox['id']}"
    taken = attempt(daemon, "POST", f"{url}/snapshots", {})
    revive(daemon)
    if taken and taken[0] == 201:
        attempt(daemon, "POST", f"{url}/rollback", {"snapshot": taken[1]["id"]})
    attempt(daemon, "PATCH", url, {"params": {"cpu": 2}})
    revive(daemon)
    attempt(daemon, "POST", f"{url}/fork", {"count": 1})
    revive(daemon)
    attempt(daemon, "POST", "/backends/qemu/sandboxes", {"params": tiny(daemon, display=False)})


def stop_all(daemon):
    for one in request(daemon, "GET", "/sandboxes?state=creating,running,pausing,paused,resuming,stopping")[1]["sandboxes"]:
        attempt(daemon, "DELETE", f"/sandboxes/{one['id']}")
    for one in request(daemon, "GET", "/snapshots")[1]["snapshots"]:
        attempt(daemon, "DELETE", f"/snapshots/{one['id']}")


@pytest.mark.parametrize("point", POINTS)
def test_a_death_at(daemon, point):
    sandbox = create(daemon, display=False, cpu_max=2)
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    console.run("X=kept; echo $((1+1))-set", b"2-set")
    status, made = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {})
    assert status == 201, made
    daemon.fault.write_text(point)
    if point.startswith("qemu.remove"):
        doomed = attempt(daemon, "POST", "/backends/qemu/sandboxes", {"params": tiny(daemon, display=False)})[1]
        attempt(daemon, "DELETE", f"/sandboxes/{doomed['id']}")
    else:
        verbs(daemon, sandbox)
    revive(daemon)
    assert not daemon.fault.exists(), f"{point} wasn't reached"
    if point.startswith("qemu.machine"):
        ended = wait_for_state(daemon, sandbox, "failed")
        assert "infrastructure" in str(ended), ended
        # What was ready before is whole, although its machine died.
        status, twin = request(daemon, "POST", "/backends/qemu/sandboxes", {"snapshot": made["id"]})
        assert status == 201, twin
        console.close()
        console = Console(twin["details"]["consoles"]["serial"])
        console.run("echo $X-$((1+2))", b"kept-3")
    else:
        assert request(daemon, "GET", f"/sandboxes/{sandbox['id']}")[1]["state"] == "running"
        console.run("echo $X-$((1+2))", b"kept-3")
        status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": made["id"]})
        assert status == 200, told
        console.run("echo $X-$((1+3))", b"kept-4")
    console.close()
    stop_all(daemon)
    assert leftovers() == []
    assert list((daemon.state / "sandboxes").glob("[0-9a-z]*")) == [] and list((daemon.state / "snapshots").glob("*")) == []
