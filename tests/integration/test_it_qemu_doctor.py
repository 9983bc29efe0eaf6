"""What `harena doctor` and the node table know of full machines."""

import pytest

from qemu_support import qemu_daemon


@pytest.fixture
def daemon(tmp_path):
    daemon = qemu_daemon(tmp_path)
    daemon.start()
    yield daemon
    daemon.stop()


def findings(daemon):
    with daemon.client() as client:
        return {finding["id"]: finding for finding in client.doctor()}


def test_a_host_that_has_all_and_one_that_hasnt(daemon):
    found = findings(daemon)
    for name in ("qemu", "vmm", "qemu_img", "iso_maker", "machine", "limits", "snapshots"):
        assert found[f"qemu.{name}"]["level"] == "ok", found[f"qemu.{name}"]
    assert found["qemu.accelerator"]["level"] in ("ok", "warning")
    assert found["qemu.firmware"]["level"] == "ok" or "ovmf" in found["qemu.firmware"]["fix"]
    with daemon.client() as client:
        (node,) = client.nodes()
        (backend,) = [one for one in client.backends() if one.name == "qemu"]
    assert node["labels"]["qemu.vmm"].startswith("qemu ") and node["labels"]["qemu.accelerator"] in ("kvm", "tcg")
    assert backend.raw["facts"]["labels"]["snapshots"] == "memory"

    daemon.stop()
    daemon.restart(lambda config: config["plugins"]["qemu"]["config"].update(qemu_path="/no/qemu", iso_maker_path="/no/iso"))
    found = findings(daemon)
    assert found["backend.qemu"]["level"] == "error" and "/no/qemu" in found["backend.qemu"]["why"]
    assert found["qemu.qemu"]["fix"] == "apt-get install qemu-system-x86"
    assert found["qemu.iso_maker"]["fix"] == "apt-get install genisoimage"
