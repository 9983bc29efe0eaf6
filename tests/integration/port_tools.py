"""What the tests of ports share: a sandbox with port_service.py in it, and a client that says and hears exact bytes.

    def test_x(ports): ...     ports.raw("GET", "/raw?a=b"), ports.http(...), ports.tcp()
"""

import os
import re
import socket
import struct
import time
from pathlib import Path

import pytest

from python_image import python_image  # noqa: F401

SERVICE = Path(__file__).parent / "port_service.py"
LONG = os.environ.get("HARENA_LONG_TESTS") == "1"
PATIENCE_S = 120


class Answer:
    def __init__(self, head, body, trailers=b""):
        self.head, self.body, self.trailers = head, body, trailers
        self.line, _, fields = head.partition(b"\r\n")
        self.status = int(self.line.split(b" ")[1])
        self.fields = [tuple(one.split(b": ", 1)) for one in fields.split(b"\r\n") if one]

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]


class Raw:
    """A connection to the API; every byte is the test's."""

    def __init__(self, daemon, receive_buffer=0):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", daemon.about["api_port"]))
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def fill(self):
        data = self.socket.recv(1 << 20)
        self.buffer += data
        return bool(data)

    def until(self, mark):
        while mark not in self.buffer:
            assert self.fill(), (mark, self.buffer)
        at = self.buffer.index(mark) + len(mark)
        taken, self.buffer = self.buffer[:at], self.buffer[at:]
        return taken

    def exactly(self, count):
        while len(self.buffer) < count:
            assert self.fill(), (count, len(self.buffer))
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def rest(self):
        while self.fill():
            pass
        taken, self.buffer = self.buffer, b""
        return taken

    def head(self):
        return self.until(b"\r\n\r\n")[:-4]

    def answer(self, bodiless=False):
        """One whole final answer."""
        head = self.head()
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
        if bodiless or head.split(b" ")[1] in (b"204", b"304"):
            return Answer(head, b"")
        if length:
            return Answer(head, self.exactly(int(length[1])))
        if not re.search(rb"\r\ntransfer-encoding: *chunked", head, re.I):
            return Answer(head, self.rest())
        body = b""
        while size := int(self.until(b"\r\n"), 16):
            body += self.exactly(size)
            assert self.exactly(2) == b"\r\n"
        trailers = b""
        while (line := self.until(b"\r\n")) != b"\r\n":
            trailers += line
        return Answer(head, body, trailers)


class Ports:
    def __init__(self, daemon, sandbox, port):
        self.daemon, self.sandbox, self.port = daemon, sandbox, port

    def connect(self, **options):
        return Raw(self.daemon, **options)

    def path(self, rest):
        return f"/v1/sandboxes/{self.sandbox.id}/ports/{self.port}".encode() + (rest if isinstance(rest, bytes) else rest.encode())

    def request(self, method, rest, fields=(), body=b"", version=b"1.1"):
        """The bytes of a request; ``fields`` are (name, value), in order."""
        token = b"Authorization: Bearer " + self.daemon.token.encode()
        lines = [method.encode() + b" " + self.path(rest) + b" HTTP/" + version, b"Host: inside.test:80", token]
        lines += [name.encode() + b": " + value.encode("latin-1") for name, value in fields]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    def exchange(self, method, rest, fields=(), body=b"", **options):
        with self.connect() as connection:
            connection.send(self.request(method, rest, fields, body, **options))
            return connection.answer(bodiless=method == "HEAD")

    def script(self, raw, method="POST", rest="/answer"):
        """The answer that comes when the service sends exactly ``raw``; the connection is left open."""
        connection = self.connect()
        connection.send(self.request(method, rest, [("Content-Length", str(len(raw)))], raw))
        return connection

    def arrived(self, method, rest, fields=(), body=b"", **options):
        """What the service got: (first line, fields, body bytes)."""
        got = self.exchange(method, rest, fields, body, **options)
        assert got.status == 200, got.head
        head, _, raw_body = got.body.partition(b"\r\n\r\n")
        line, *lines = head.split(b"\r\n")
        return line, [tuple(one.split(b": ", 1)) for one in lines], raw_body

    def tcp(self, first=b"", **options):
        """Raw bytes to the port."""
        connection = self.connect(**options)
        connection.send(self.request("GET", "", [("Connection", "Upgrade"), ("Upgrade", "tcp")]))
        head = connection.head()
        assert head.startswith(b"HTTP/1.1 101 "), head
        connection.send(first)
        return connection


def start_service(sandbox, port, address="0.0.0.0"):
    command = sandbox.start(["python3", "/port_service.py", address, str(port)])
    for chunk in command.stream():
        if "ready" in chunk.text:
            return command
        raise AssertionError(chunk.text)
    raise AssertionError(f"the service ended: {command.exit}")


@pytest.fixture(scope="module")
def service_sandbox(harenad, python_image):  # noqa: F811
    import harena

    with harenad.client() as client, client.create(harena.ContainerArgs(image=python_image, memory="512MiB")) as sandbox:
        sandbox.files.write("/port_service.py", SERVICE.read_bytes())
        start_service(sandbox, 8000)
        yield sandbox


@pytest.fixture
def ports(harenad, service_sandbox):
    return Ports(harenad, service_sandbox, 8000)


def settled(read):
    """The value of ``read()`` once it has stopped changing for a second."""
    value, since = read(), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.05)
        now = read()
        if now != value:
            value, since = now, time.monotonic()
    return value
