"""Snapshots of microVMs as files: whole, moved, copied, damaged; and what the host's report says of machines."""

import shutil
import tempfile
import time
from pathlib import Path

import pytest

import harena
from harenad_process import IMAGE
from microvm_support import census, microvm_daemon, remove_groups
from running_daemon import import_tiny, stop_everything

SMALL = {"memory": "192MiB", "disk": "64MiB"}


@pytest.fixture(scope="module")
def vms():
    folder = tempfile.mkdtemp(prefix="harena-vmi-")
    try:
        daemon = microvm_daemon(folder)
        daemon.start()
        try:
            import_tiny(daemon, Path(folder))
            yield daemon
            if daemon.process is None:
                daemon.start()
            stop_everything(daemon)
        finally:
            daemon.stop()
        left = census()
        assert left["processes"] == [] and left["mounts"] == [], left
        remove_groups()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def api(vms):
    with vms.client() as client:
        yield client


@pytest.fixture(scope="module")
def machine(vms):
    with vms.client() as client:
        yield client.create(harena.MicroVMArgs(image=IMAGE, params=SMALL))


def lines(sandbox, shell):
    result = sandbox.run(shell)
    assert result.exit.code == 0, result
    return result.stdout


@pytest.fixture
def snapshot(vms, api, machine):
    """Sealed: its digests are there."""
    lines(machine, "echo kept > /dev/shm/memory; echo kept > /root/unsynced")
    taken = machine.snapshot()
    deadline = time.monotonic() + 600  # the sealer gives way to everything else on the host
    while not (folder_of(vms, taken) / "digests.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield taken
    api.snapshots.delete(taken.id)


def folder_of(vms, snapshot):
    return vms.state / "snapshots" / snapshot.id


def replace_by_copy(folder):
    """Other files with the same content: what the machine that lives still stands on isn't touched by what is done to them."""
    copy = folder.with_name(folder.name + ".copy")
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    copy.rename(folder)


def start(api, snapshot, **params):
    return api.create(harena.MicroVMArgs(snapshot=snapshot.id, params=params))


def refused(api, snapshot, *words):
    with pytest.raises(harena.HarenaError) as error:
        start(api, snapshot)
    assert error.value.code == "data_loss", error.value
    for word in words:
        assert word in str(error.value), (word, str(error.value))


def test_a_copy_is_read_once_and_starts(vms, api, machine, snapshot):
    folder = folder_of(vms, snapshot)
    assert str(vms.state) not in (folder / "manifest.json").read_text() + (folder / "digests.json").read_text()
    replace_by_copy(folder)
    before = (folder / "digests.json").read_text()
    for _ in range(2):
        sandbox = start(api, snapshot)
        assert lines(sandbox, "cat /dev/shm/memory /root/unsynced") == "kept\nkept\n"
        sandbox.stop()
        after = (folder / "digests.json").read_text()
        assert after != before, "what was found well is known by its new inodes"
    sandbox = start(api, snapshot, verify="all")
    assert lines(sandbox, "cat /dev/shm/memory") == "kept\n"
    own = sandbox.snapshot()  # not sealed yet, and nobody asks for all of it
    sandbox.stop()
    sandbox = start(api, own)
    assert lines(sandbox, "cat /dev/shm/memory") == "kept\n" and sandbox.info.raw["params"]["verify"] == "changed"
    sandbox.stop()
    api.snapshots.delete(own.id)


def test_a_flipped_bit_is_refused(vms, api, machine, snapshot):
    folder = folder_of(vms, snapshot)
    replace_by_copy(folder)
    ram = next(folder.glob("ram.*"))
    with open(ram, "r+b") as file:
        file.seek(9 * 2 ** 20 + 5)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    refused(api, snapshot, ram.name, "bytes 8388608 to 12582912")
    with pytest.raises(harena.HarenaError, match=ram.name.replace(".", r"\.")):
        machine.rollback(snapshot)
    assert lines(machine, "cat /dev/shm/memory") == "kept\n", "the machine goes on"


@pytest.mark.parametrize("kind", ["ram", "state", "disk"])
def test_a_file_that_is_short_or_gone_is_refused(vms, api, machine, snapshot, kind):
    folder = folder_of(vms, snapshot)
    replace_by_copy(folder)
    file = next(folder.glob(f"{kind}.*"))
    with open(file, "r+b") as opened:
        opened.truncate(file.stat().st_size - 1)
    refused(api, snapshot, file.name, "bytes; it had")
    (folder / "digests.json").unlink()  # as after a crash before it was sealed: sizes are looked at all the same
    refused(api, snapshot, file.name, "bytes; it had")
    file.unlink()
    refused(api, snapshot, f"lacks its file {file.name}")


def test_verify_is_for_snapshots(api):
    with pytest.raises(harena.HarenaError, match="'verify'") as error:
        api.create(harena.MicroVMArgs(image=IMAGE, params={**SMALL, "verify": "all"}))
    assert error.value.code == "invalid_argument"


def test_the_host_is_told_to_doctor_and_to_the_node_table(vms, api):
    found = {finding["id"]: finding for finding in api.doctor()}
    for name in ("accelerator", "vmm", "qemu", "kernel", "initramfs", "machine", "mke2fs", "limits", "snapshots"):
        assert found[f"microvm.{name}"]["what"], name
    assert found["microvm.vmm"]["level"] == "ok" and "qemu" in found["microvm.vmm"]["what"]
    for finding in found.values():
        if finding["id"].startswith("microvm."):
            assert (finding["level"] == "ok") == (finding["fix"] == ""), finding
    (backend,) = [one for one in api.backends() if one.name == "microvm"]
    labels = backend.raw["facts"]["labels"]
    assert labels["snapshots"] == "memory" and labels["vmm"].startswith("qemu ") and labels["accelerator"] in ("kvm", "tcg")
    (node,) = api.nodes()
    assert {f"microvm.{key}": value for key, value in labels.items()}.items() <= node["labels"].items()


def test_doctor_names_what_is_missing_and_its_cure(vms, api):
    vms.stop()
    vms.restart(lambda config: config["plugins"]["microvm"]["config"].update(kernel="/no/kernel", initramfs="/no/initramfs"))
    try:
        with vms.client() as client:
            found = {finding["id"]: finding for finding in client.doctor()}
            assert found["backend.microvm"]["level"] == "error"
            assert found["microvm.kernel"]["level"] == "error" and "apt-get install linux-image-cloud-amd64" in found["microvm.kernel"]["fix"]
            assert found["microvm.initramfs"]["level"] == "error" and "deploy/microvm.sh" in found["microvm.initramfs"]["fix"]
    finally:
        vms.stop()
