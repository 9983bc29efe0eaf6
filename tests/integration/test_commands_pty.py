"""Terminals: order at speed, size, signals, end of file; through HTTP and through the WebSocket."""

import base64
import json
import os
import socket
import struct

import pytest

from http_api import ApiError

PTY = {"rows": 24, "cols": 80}


def read_until(stream, text):
    """The data of the stream's lines until `text` is in it."""
    got = ""
    while text not in got:
        line = stream.readline()
        assert line, f"the stream ended after {got!r}"
        got += json.loads(line).get("data", "")
    return got


def test_order_at_speed(box):
    """Both streams of a terminal are one, in the order of the writes, however fast."""
    script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo o$i; echo e$i >&2; done"
    result = box.run(script, pty=PTY)
    assert result["stdout"] == "".join(f"o{n}\r\ne{n}\r\n" for n in range(1, 20001)) and result["stderr"] == ""


def test_bulk(box):
    result = box.run("seq 1 300000; echo END", pty=PTY)
    assert result["stdout"] == "".join(f"{n}\r\n" for n in range(1, 300001)) + "END\r\n"


def test_it_is_a_terminal(box):
    result = box.run("tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all; echo $TERM", pty={"rows": 33, "cols": 101})
    name, size, every, term = result["stdout"].split("\r\n")[:4]
    assert name.startswith("/dev/pts/") and (size, every, term) == ("33 101", "all", "xterm-256color")


def test_resize_is_seen(box):
    command = box.start("trap 'stty size' WINCH; stty size; while true; do read -r x && break; done; stty size", pty=PTY, stdin="pipe")["id"]
    stream = box.open_output(command)
    read_until(stream, "24 80\r\n")
    box.resize(command, rows=50, cols=132)
    read_until(stream, "50 132\r\n")
    box.resize(command, rows=3, cols=1000)
    box.stdin(command, b"go\n")
    read_until(stream, "3 1000\r\n")
    stream.connection.close()


def test_end_of_file_and_interrupt(box):
    command = box.start("cat; echo after", pty=PTY, stdin="pipe")["id"]
    box.stdin(command, b"typed\nhalf a line")
    box.stdin(command, b"", eof="true")
    taken = box.collect(command)
    assert taken.stdout.decode().endswith("half a lineafter\r\n") and taken.exit["code"] == 0
    command = box.start("sleep 1000", pty=PTY, stdin="pipe")["id"]
    box.stdin(command, b"\x03")
    assert box.collect(command).exit["signal"] == "INT"


def test_without_a_terminal_there_is_no_size(box):
    command = box.start("sleep 1000")["id"]
    with pytest.raises(ApiError) as caught:
        box.resize(command, rows=1, cols=1)
    assert caught.value.code == "failed_precondition" and "no PTY" in caught.value.message
    box.forget(command)


class Socket:
    """As much of a WebSocket client as these tests need."""

    def __init__(self, box, cid, query=""):
        self.socket = socket.create_connection(("127.0.0.1", box.api.daemon.about["api_port"]), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /v1{box.path}/commands/{cid}/attach{query} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                             f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                             f"Authorization: Bearer {box.api.daemon.token}\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        assert b" 101 " in self.file.readline()
        while self.file.readline() != b"\r\n":
            pass

    def send(self, opcode, data):
        head = bytes([0x80 | opcode]) + (bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data)))
        self.socket.sendall(head + b"\0\0\0\0" + data)

    def receive(self):
        first, size = self.file.read(2)
        if size == 126:
            size = struct.unpack(">H", self.file.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.file.read(8))[0]
        return first & 15, self.file.read(size)

    def until_closed(self):
        """(all bytes, all text messages, close code)."""
        data, texts = b"", []
        while True:
            opcode, payload = self.receive()
            if opcode == 8:
                return data, texts, struct.unpack(">H", payload[:2])[0]
            if opcode == 2:
                data += payload
            elif opcode == 1:
                texts.append(json.loads(payload))


def test_a_session_over_the_websocket(box):
    command = box.start("stty -echo; echo ready; while read -r line; do echo got:$line; stty size; done; echo bye", pty=PTY, stdin="pipe")["id"]
    terminal = Socket(box, command)
    data = b""
    while b"ready\r\n" not in data:
        data += terminal.receive()[1]
    terminal.send(1, json.dumps({"resize": {"rows": 40, "cols": 100}}).encode())
    terminal.send(2, b"hello\n")
    terminal.send(1, b'{"eof": true}')
    data, texts, code = terminal.until_closed()
    assert data == b"got:hello\r\n40 100\r\nbye\r\n" and texts[-1]["exit"]["code"] == 0 and code == 1000


def test_websocket_resumes_at_an_offset(box):
    command = box.run("seq 1 50000", pty=PTY)["id"]
    whole = box.collect(command).stdout
    data, texts, code = Socket(box, command, "?stdout_offset=1000").until_closed()
    assert data == whole[1000:] and "exit" in texts[-1] and code == 1000


@pytest.mark.parametrize("text, said", [
    (b"no json", "JSON"), (b'{"resiz": {}}', "resize"), (b'{"signal": "TERMM"}', "TERM"), (b'{"resize": {"rows": 0}}', "rows"), (b"[1]", "object")])
def test_websocket_refuses_with_a_reason(box, text, said):
    command = box.start("sleep 1000", pty=PTY, stdin="pipe")["id"]
    terminal = Socket(box, command)
    terminal.send(1, text)
    _, texts, code = terminal.until_closed()
    assert texts[-1]["error"]["code"] == "invalid_argument" and said in texts[-1]["error"]["message"] and code == 1008
    assert box.command(command)["state"] == "running"
    box.forget(command)


def test_leaving_the_websocket(box):
    """Leaves the command alone, unless it was started with on_disconnect: kill."""
    kept = box.start("sleep 1000", pty=PTY)["id"]
    killed = box.start("sleep 1000", pty=PTY, on_disconnect="kill")["id"]
    for command in (kept, killed):
        terminal = Socket(box, command)
        terminal.file.close()
        terminal.socket.close()
    assert box.collect(killed).exit["signal"] == "KILL"
    assert box.command(kept)["state"] == "running"
    box.forget(kept)
