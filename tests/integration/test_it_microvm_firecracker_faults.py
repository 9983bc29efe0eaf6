"""harenad, harena-machine and the fake Firecracker die at each step of a verb (sdk/support/fault.hpp): the next start of the daemon mends it, a machine
whose own process lives goes on, and at the end nothing is left. What test_it_microvm_faults.py does under QEMU, all of it in every run."""

import os
import time

import pytest

import harena
from firecracker_support import firecracker_daemon, processes_of
from harenad_process import IMAGE
from microvm_support import own_users, remove_groups
from running_daemon import import_tiny
from test_it_microvm_faults import OF_DAEMON, OF_MACHINE, alive, attempt, revive, stop_all

UIDS = range(own_users(), own_users() + 40)
PARENT = "harena-vm-fcf"
SMALL = {"memory": "128MiB", "disk": "32MiB"}


@pytest.fixture(scope="module")
def vms():
    with firecracker_daemon(PARENT, UIDS) as daemon:
        daemon.fault = daemon.folder / "fault"
        os.environ["HARENA_FAULT"] = f"@{daemon.fault}"
        try:
            daemon.start()
            import_tiny(daemon, daemon.folder)
            yield daemon
        finally:
            os.environ.pop("HARENA_FAULT", None)
            if daemon.process is not None and daemon.process.poll() is None:
                daemon.stop()
    remove_groups(PARENT)


def create(client):
    return client.create(harena.MicroVMArgs(image=IMAGE, **SMALL))


def verbs(client, source):
    snapshot = attempt(lambda: source.snapshot())
    attempt(lambda: source.fork(count=1))
    attempt(lambda: source.pause())
    attempt(lambda: source.resume())
    if snapshot is not None:
        attempt(lambda: source.rollback(snapshot))
    attempt(lambda: create(client))


@pytest.mark.parametrize("point", OF_DAEMON + OF_MACHINE)
def test_a_death_at(vms, point):
    with vms.client() as client:
        source = create(client)
        vms.fault.write_text(point)
        if point.startswith("microvm.remove"):
            doomed = create(client)
            attempt(lambda: doomed.stop())
        else:
            verbs(client, source)
        revive(vms)
        assert not vms.fault.exists(), f"{point} wasn't reached"
        source.refresh()
        if point.startswith("microvm.") or source.state in ("running", "paused"):  # it was another machine that died
            assert source.pause().state == "paused" and source.resume().state == "running"
            source.snapshot()
        else:
            assert source.state == "failed" and "infrastructure" in str(source.info.raw), source.info.raw
    stop_all(vms)
    deadline = time.monotonic() + 20
    while processes_of(PARENT) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(vms) == [] and processes_of(PARENT) == []
    assert list((vms.state / "sandboxes").glob("[0-9a-z]*")) == [] and list((vms.state / "snapshots").glob("*")) == []
