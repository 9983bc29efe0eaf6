"""harenad, harena-machine and the VMM die at each step of a verb (sdk/support/fault.hpp). Whatever step it was: the next start of the daemon mends it, a
machine whose own process lives goes on, and at the end nothing is left."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

import harena
from harenad_process import IMAGE
from microvm_support import census, microvm_daemon, remove_groups
from running_daemon import import_tiny

# Where it is the daemon that dies: the machine goes on.
OF_DAEMON = ["microvm.create.groups", "microvm.create.started", "microvm.snapshot.taken", "microvm.fork.frozen", "microvm.remove.begun",
             "microvm.remove.machine", "microvm.remove.files"]
# Where it is the source's own process, which takes its VMM along.
OF_MACHINE = ["machine.snapshot.ahead", "machine.capture.state", "machine.snapshot.captured", "machine.snapshot.unwritten", "machine.pause.frozen",
              "machine.pause.written", "machine.resume.prepared", "machine.going_on", "machine.rollback.prepared", "machine.boot.files",
              "machine.boot.launched", "machine.clone.adopted"]
# A quarter of an hour on a busy machine: all of them in the long form.
SHORT = ["microvm.create.started", "microvm.fork.frozen", "machine.snapshot.captured", "machine.pause.written"]
POINTS = OF_DAEMON + OF_MACHINE if os.environ.get("HARENA_LONG_TESTS") == "1" else SHORT


@pytest.fixture(scope="module")
def vms():
    folder = tempfile.mkdtemp(prefix="harena-vmf-")
    fault = Path(folder) / "fault"
    os.environ["HARENA_FAULT"] = f"@{fault}"
    try:
        daemon = microvm_daemon(folder)
        daemon.fault = fault
        daemon.start()
        try:
            import_tiny(daemon, Path(folder))
            yield daemon
        finally:
            if daemon.process is not None and daemon.process.poll() is None:
                daemon.stop()
        remove_groups()
    finally:
        os.environ.pop("HARENA_FAULT", None)
        shutil.rmtree(folder, ignore_errors=True)


def revive(daemon, change=None):
    """Whether it had died."""
    try:
        daemon.process.wait(timeout=0.5)
    except Exception:
        return False
    daemon.process = None
    daemon.restart(change)
    return True


def attempt(call):
    try:
        return call()
    except (harena.HarenaError, OSError):
        return None


def verbs(client, source):
    """Everything that a machine can be asked for, in a row; failures are what is tried."""
    snapshot = attempt(lambda: source.snapshot())
    attempt(lambda: source.fork(count=1))
    attempt(lambda: source.pause())
    attempt(lambda: source.resume())
    if snapshot is not None:
        attempt(lambda: source.rollback(snapshot))
    attempt(lambda: client.create(harena.MicroVMArgs(image=IMAGE, memory="192MiB", disk="64MiB")))


def stop_all(daemon):
    with daemon.client() as client:
        for sandbox in client.list(states=["creating", "running", "pausing", "paused", "resuming", "stopping"]):
            attempt(lambda: sandbox.stop())
        for snapshot in client.snapshots.list():
            attempt(lambda: client.snapshots.delete(snapshot.id))


def alive(daemon):
    with daemon.client() as client:
        return list(client.list(states=["creating", "running", "pausing", "paused", "resuming", "stopping"]))


@pytest.mark.parametrize("point", POINTS)
def test_a_death_at(vms, point):
    with vms.client() as client:
        source = client.create(harena.MicroVMArgs(image=IMAGE, memory="192MiB", disk="64MiB"))
        source.run_shell("echo kept > /root/a", check=True)
        vms.fault.write_text(point)
        if point.startswith("microvm.remove"):
            doomed = client.create(harena.MicroVMArgs(image=IMAGE, memory="192MiB", disk="64MiB"))
            attempt(lambda: doomed.stop())
        else:
            verbs(client, source)
        revive(vms)
        assert not vms.fault.exists(), f"{point} wasn't reached"
        source.refresh()
        if point.startswith("microvm."):
            assert source.run_shell("cat /root/a", check=True).stdout == "kept\n"
        elif source.state in ("running", "paused"):  # it was another machine that died
            assert source.run_shell("cat /root/a", check=True).stdout == "kept\n"
        else:
            assert source.state == "failed" and "infrastructure" in str(source.info.raw), source.info.raw
    stop_all(vms)
    deadline = time.monotonic() + 20
    while census()["processes"] and time.monotonic() < deadline:
        time.sleep(0.05)
    left = census()
    assert alive(vms) == [] and left["processes"] == [] and left["mounts"] == [], left
    assert list((vms.state / "sandboxes").glob("[0-9a-z]*")) == [] and list((vms.state / "snapshots").glob("*")) == []


# The daemon dies while it makes templates and machines that stand by, or gives one away; or that machine's process does.
WARM = ["microvm.template.booted", "microvm.template.made", "microvm.claim.moved", "microvm.claim.done", "machine.claimed"]


def warm(config):
    config["plugins"]["microvm"]["config"].update(templates="auto", ahead=1)


@pytest.mark.parametrize("point", WARM if os.environ.get("HARENA_LONG_TESTS") == "1" else ["microvm.template.booted", "microvm.claim.moved", "machine.claimed"])
def test_a_death_while_warming(vms, point):
    vms.stop()
    vms.restart(warm)
    params = {"memory": "192MiB", "disk": "64MiB", "template": "make"}

    def create(client):
        return client.create(harena.MicroVMArgs(image=IMAGE, params={**params, "env": {"POINT": point}}))

    with vms.client() as client:
        if "template" not in point:
            create(client).stop()
            deadline = time.monotonic() + 60
            while not [one for one in client.backends() if one.name == "microvm"][0].raw["facts"].get("standing_by"):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        vms.fault.write_text(point)
        attempt(lambda: create(client))
        if point == "microvm.template.booted":  # the machine goes with the daemon, not with the daemon's next start
            deadline = time.monotonic() + 60
            while census()["processes"]:
                assert time.monotonic() < deadline, census()
                time.sleep(0.05)
        if not revive(vms, warm):
            assert point.startswith("machine."), point
        assert not vms.fault.exists(), f"{point} wasn't reached"
        sandbox = create(client)  # all of it works again
        assert sandbox.run_shell("echo $POINT", check=True).stdout == f"{point}\n"
    stop_all(vms)
    vms.stop()
    vms.restart()
    left = census()
    assert alive(vms) == [] and left["processes"] == [] and left["mounts"] == [], left
    assert list((vms.state / "microvm" / "hidden").glob("*")) == [] and list((vms.state / "sandboxes").glob("[0-9a-z]*")) == []
