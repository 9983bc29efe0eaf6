"""The serial console and the screen of a full machine through the API and the command line."""

import json
import os
import pty
import subprocess
import time

import pytest

from harenad_process import BUILD
from qemu_support import create, leftovers, qemu_daemon, remove_groups, request, stop
from websocket_client import WebSocket


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    made = qemu_daemon(tmp_path_factory.mktemp("qemu"))
    made.start()
    yield made
    made.stop()
    remove_groups()


@pytest.fixture(scope="module")
def machine(daemon):
    made = create(daemon)
    yield made
    stop(daemon, made)
    assert leftovers() == []


def dial(daemon, sandbox, what, **more):
    port = int(daemon.url.rsplit(":", 1)[1])
    return WebSocket(port, f"/v1/sandboxes/{sandbox['id']}/{what}", **{"token": daemon.token, **more})


def refusal(socket):
    socket_error = json.loads(socket.body())["error"]
    socket.close()
    return socket.status, socket_error


def test_the_serial_line_goes_both_ways(daemon, machine):
    console = dial(daemon, machine, "console")
    assert console.status == 101, console.answer
    assert "Sec-WebSocket-Protocol" not in console.answer
    console.wait(b"tiny-ready")
    console.send(b"echo $((6*7))-by-api\n")
    console.wait(b"42-by-api")
    console.close()
    # Who comes later sees what was written before.
    late = dial(daemon, machine, "console")
    late.wait(b"42-by-api")
    late.send(b"not bytes", opcode=1)
    while late.receive() is not None:
        pass
    assert late.close_code == 1003
    late.close()


def test_the_screen_speaks_rfb(daemon, machine):
    screen = dial(daemon, machine, "vnc", protocols=("base64", "binary"))
    assert screen.status == 101 and "Sec-WebSocket-Protocol: binary" in screen.answer, screen.answer
    assert screen.take(12) == b"RFB 003.008\n"
    screen.send(b"RFB 003.008\n")
    assert 1 in screen.take(screen.take(1)[0])  # security: none
    screen.send(b"\x01")
    assert screen.take(4) == b"\0\0\0\0"
    screen.close()


@pytest.mark.parametrize("what", ["console", "vnc"])
def test_refusals(daemon, machine, what):
    assert refusal(dial(daemon, machine, what, token=None))[0] == 401
    assert refusal(dial(daemon, machine, what, token="nobody's"))[0] == 401
    status, error = refusal(dial(daemon, {"id": "sb-0000000000000000000000000000"}, what))
    assert status in (400, 404), error
    status, error = request(daemon, "GET", f"/sandboxes/{machine['id']}/{what}")
    assert status == 400, error  # no WebSocket


def test_a_paused_machine_isnt_resumed_by_a_look(daemon, machine):
    assert request(daemon, "POST", f"/sandboxes/{machine['id']}/pause", {})[0] == 200
    status, error = refusal(dial(daemon, machine, "console"))
    assert status == 409 and "paused" in error["message"] and "console" in error["message"], error
    assert request(daemon, "GET", f"/sandboxes/{machine['id']}")[1]["state"] == "paused"
    assert request(daemon, "POST", f"/sandboxes/{machine['id']}/resume", {})[0] == 200


def test_commands_are_refused_with_the_way_in(daemon, machine):
    status, told = request(daemon, "POST", f"/sandboxes/{machine['id']}/commands", {"argv": ["true"]})
    message = told["error"]["message"]
    assert status == 501 and "qemu" in message and "/console" in message and "VNC" in message, told


def test_without_a_display_there_is_no_screen(daemon):
    sandbox = create(daemon, display=False)
    status, error = refusal(dial(daemon, sandbox, "vnc"))
    assert status == 501 and "qemu" in error["message"] and "vnc" in error["message"], error
    line = dial(daemon, sandbox, "console")
    stop(daemon, sandbox)  # somebody who watches holds nothing up
    while line.receive() is not None:
        pass
    assert line.close_code == 1000
    line.close()


def command_line(daemon, sandbox):
    environment = {**os.environ, "HARENA_URL": daemon.url, "HARENA_TOKEN": daemon.token}
    return [str(BUILD / "bin" / "harena"), "console", sandbox["id"]], environment


def test_the_command_line_in_a_terminal(daemon, machine):
    words, environment = command_line(daemon, machine)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, env=environment, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    text = b""
    os.write(ours, b"echo $((40+3))-by-cli\n")
    deadline = time.monotonic() + 60
    while b"43-by-cli" not in text:
        assert time.monotonic() < deadline, text
        text += os.read(ours, 4096)
    os.write(ours, b"\x10\x11")
    _, error = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0 and b"left the console" in error, error


def test_the_command_line_says_why_not(daemon):
    words, environment = command_line(daemon, {"id": "nothing"})
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == 125 and b"nothing" in done.stderr, done.stderr
