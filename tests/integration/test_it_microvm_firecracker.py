"""harenad with the driver for Firecracker, against the strict fake of its API and of its jailer: what the core, the plugin, harena-machine and the
jail do is real; the guest is fake_guest. Sessions are for the real one."""

import os
import signal
import time
from pathlib import Path

import pytest

import harena
from firecracker_support import firecracker_daemon, processes_of
from harenad_process import IMAGE
from microvm_support import own_users, remove_groups
from running_daemon import import_tiny, stop_everything

UIDS = range(own_users(), own_users() + 40)
PARENT = "harena-vm-fc"


@pytest.fixture(scope="module")
def vms():
    with firecracker_daemon(PARENT, UIDS) as daemon:
        daemon.start()
        try:
            import_tiny(daemon, daemon.folder)
            yield daemon
            if daemon.process is None:
                daemon.start()
            stop_everything(daemon)
        finally:
            daemon.stop()
        assert processes_of(PARENT) == []
    remove_groups(PARENT)


@pytest.fixture
def api(vms):
    with vms.client() as client:
        yield client


@pytest.fixture
def machine(api):
    one = api.create(harena.MicroVMArgs(image=IMAGE, memory="128MiB", disk="32MiB"))
    yield one
    one.stop()


def vmm_of(sandbox):
    """The process that answers the API: below harena-machine and the jail's keeper."""
    found = [sandbox.refresh().raw["details"]["machine_pid"]]
    for pid in found:
        found += [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    (vmm,) = [pid for pid in found if Path(f"/proc/{pid}/comm").read_text().startswith("fake_firecrack")]
    return vmm


def user_of(sandbox):
    return os.stat(f"/proc/{vmm_of(sandbox)}").st_uid


def test_it_says_what_it_is(api, machine):
    details = machine.info.raw["details"]
    assert details["accelerator"] == "kvm" and details["start"]["vmm"] == "firecracker 1.10.1" and "boot_us" in details["start"]
    (backend,) = [one for one in api.backends() if one.name == "microvm"]
    assert backend.raw["facts"]["labels"] == {"accelerator": "kvm", "snapshots": "memory", "vmm": "firecracker 1.10.1"}
    found = {finding["id"]: finding["level"] for finding in api.doctor()}
    for name in ("accelerator", "vmm", "firecracker", "jailer", "kernel", "initramfs", "snapshots"):
        assert found[f"microvm.{name}"] == "ok", name


def test_pause_and_resume(machine):
    for _ in range(3):
        before = vmm_of(machine)
        assert machine.pause().state == "paused" and not os.path.exists(f"/proc/{before}")
        resumed = machine.resume()
        assert resumed.state == "running" and resumed.raw["details"]["resume"]["renewed"] == ["clock", "entropy"]
        assert vmm_of(machine) != before


def test_snapshots_forks_and_a_rollback(api, machine):
    taken = [machine.snapshot(f"s{number}") for number in range(3)]  # one that is whole, two of what changed
    assert {snapshot.kept for snapshot in taken} == {"memory"}
    children = machine.fork(count=3)
    restored = api.create(harena.MicroVMArgs(snapshot=taken[1].id))
    family = [machine, *children, restored]
    try:
        assert len({user_of(one) for one in family}) == len(family)
        assert {user_of(one) for one in family} <= set(UIDS)
        grandchild = children[0].fork()[0]
        family.append(grandchild)
        before = vmm_of(machine)
        machine.rollback(taken[0])
        assert machine.refresh().state == "running" and vmm_of(machine) != before
        machine.pause()
        family += machine.fork()
        assert machine.refresh().state == "paused"
    finally:
        for one in family[1:]:
            one.stop()
        for snapshot in taken:
            api.snapshots.delete(snapshot.id)


def test_a_daemon_that_is_killed_leaves_machines_alone(vms, api, machine):
    paused = api.create(harena.MicroVMArgs(image=IMAGE, memory="128MiB", disk="32MiB"))
    paused.pause()
    vmm = vmm_of(machine)
    vms.kill()
    vms.restart()
    assert machine.refresh().state == "running" and vmm_of(machine) == vmm
    assert paused.refresh().state == "paused" and paused.resume().state == "running"
    machine.pause()
    machine.resume()
    paused.stop()


def test_a_vmm_that_dies_is_an_infrastructure_failure(api):
    sandbox = api.create(harena.MicroVMArgs(image=IMAGE, memory="128MiB", disk="32MiB"))
    os.kill(vmm_of(sandbox), signal.SIGKILL)
    deadline = time.monotonic() + 30
    while sandbox.refresh().state == "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert sandbox.info.state == "failed" and sandbox.info.raw["ending"]["cause"] == "infrastructure", sandbox.info.raw


def test_nothing_is_left(vms, api):
    stop_everything(vms)
    assert processes_of(PARENT) == []
    assert [line for line in open("/proc/self/mounts") if str(vms.state) in line and "/vm" in line] == []
    assert list((vms.state / "sandboxes").glob("*/vm*")) == []
