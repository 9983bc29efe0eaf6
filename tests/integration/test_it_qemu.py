"""Full machines through harenad: the serial console, VNC's socket, pause, a restart of the daemon, deaths, what is left behind."""

import dataclasses
import os
import signal
import socket
import struct

import pytest

import harena
from qemu_support import Console, create, leftovers, qemu_daemon, remove_groups, request, stop, tiny, wait_for_state


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    made = qemu_daemon(tmp_path_factory.mktemp("qemu"))
    made.start()
    yield made
    made.stop()
    remove_groups()


def test_console_pause_restart_and_stop(daemon):
    sandbox = create(daemon)
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    console.run("echo $((6*7))-is-it", b"42-is-it")
    # Who comes later sees what was written before.
    late = Console(sandbox["details"]["consoles"]["serial"])
    late.wait(b"42-is-it")
    late.close()
    for verb, state in (("pause", "paused"), ("resume", "running")):
        status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/{verb}", {})
        assert status == 200 and told["state"] == state, told
    console.run("X=kept; echo $X-$((1+1))", b"kept-2")
    daemon.kill()
    daemon.restart()
    console.run("echo $X-$((2+1))", b"kept-3")
    assert request(daemon, "GET", f"/sandboxes/{sandbox['id']}")[1]["state"] == "running"
    console.close()
    stop(daemon, sandbox)
    assert leftovers() == []


def test_a_machine_that_lives_isnt_given_up_because_it_cant_be_asked(daemon):
    """A daemon that starts while a long verb is under way waits for it; what it doesn't hear mustn't cost a machine and its disks."""
    sandbox = create(daemon, display=False)
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    console.run("X=kept; echo $X-$((1+1))", b"kept-2")
    control = os.path.join(os.path.dirname(sandbox["details"]["consoles"]["serial"]), "machine.sock")
    daemon.kill()
    os.rename(control, control + ".away")
    daemon.restart()
    os.rename(control + ".away", control)
    assert request(daemon, "GET", f"/sandboxes/{sandbox['id']}")[1]["state"] == "running"
    console.run("echo $X-$((2+1))", b"kept-3")
    for verb, state in (("pause", "paused"), ("resume", "running")):
        status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/{verb}", {})
        assert status == 200 and told["state"] == state, told
    console.close()
    stop(daemon, sandbox)
    assert leftovers() == []


def test_a_guest_without_agent_refuses_commands(daemon):
    sandbox = create(daemon, display=False)
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/commands", {"argv": ["true"]})
    assert status == 501 and "qemu" in told["error"]["message"], told
    stop(daemon, sandbox)


@pytest.mark.skipif(not os.path.exists("/usr/share/OVMF/OVMF_CODE_4M.fd"), reason="there is no OVMF here; apt-get install ovmf")
def test_uefi_starts_the_kernel_and_a_seed_is_made(daemon):
    sandbox = create(daemon, firmware="uefi", display=False, cloud_init={"user_data": "#cloud-config\n{}\n"})
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    console.run("test -d /sys/firmware/efi && echo by-$((1+1))-uefi", b"by-2-uefi")
    console.close()
    stop(daemon, sandbox)


def test_vnc_speaks_rfb_and_shows_the_screen(daemon):
    sandbox = create(daemon)
    vnc = socket.socket(socket.AF_UNIX)
    vnc.settimeout(60)
    vnc.connect(sandbox["details"]["consoles"]["vnc"])

    def take(count):
        data = b""
        while len(data) < count:
            got = vnc.recv(count - len(data))
            assert got, "VNC ended"
            data += got
        return data

    assert take(12) == b"RFB 003.008\n"
    vnc.sendall(b"RFB 003.008\n")
    assert 1 in take(take(1)[0])  # security: none
    vnc.sendall(b"\x01")
    assert take(4) == b"\0\0\0\0"
    vnc.sendall(b"\x01")
    width, height = struct.unpack(">HH", take(4))
    take(16)
    take(struct.unpack(">I", take(4))[0])
    assert width >= 640 and height >= 400
    vnc.sendall(struct.pack(">BxHi", 2, 1, 0))  # raw encoding alone
    vnc.sendall(struct.pack(">BBHHHH", 3, 0, 0, 0, width, height))
    kind, rectangles = struct.unpack(">BxH", take(4))
    assert kind == 0 and rectangles >= 1
    shown = struct.unpack(">HHHHi", take(12))
    pixels = take(shown[2] * shown[3] * 4)
    assert len(pixels) > 0
    vnc.close()
    stop(daemon, sandbox)


@pytest.mark.parametrize("which", ["vmm", "machine"])
def test_a_death_is_failed_with_cause(daemon, which):
    sandbox = create(daemon, display=False)
    details = sandbox["details"]
    os.kill(details["start"]["vmm_pid"] if which == "vmm" else details["machine_pid"], signal.SIGKILL)
    ended = wait_for_state(daemon, sandbox, "failed")
    assert "infrastructure" in str(ended), ended
    stop(daemon, sandbox)
    assert leftovers() == []


def test_bad_parameters_are_named(daemon):
    for params, name in (({"disks": [{"image": "/etc/passwd", "format": "raw"}]}, "disks[0].image"), ({"firmware": "coreboot"}, "firmware"),
                         ({"disks": []}, "disks")):
        status, told = request(daemon, "POST", "/backends/qemu/sandboxes", {"params": tiny(daemon, **params)})
        assert status == 400 and name.split("[")[0] in told["error"]["message"], told
    assert leftovers() == []


def test_the_sdks_arguments_are_the_backends(daemon):
    backend = next(one for one in request(daemon, "GET", "/backends")[1]["backends"] if one["name"] == "qemu")
    fields = {one.name for one in dataclasses.fields(harena.QemuArgs) if one.metadata.get("param")}
    # Bytes are memory too; there is no network yet.
    assert fields == set(backend["params_schema"]["properties"]) - {"memory_bytes", "network"}
