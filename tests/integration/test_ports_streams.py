"""Raw TCP and WebSocket to a port in a container: bytes both ways, half-close, slow readers, and what ends them."""

import hashlib
import os
import socket
import struct
import threading
import time

import pytest

from peak_memory import PeakMemory
from port_tools import LONG, PATIENCE_S, Ports, SERVICE, ports, python_image, service_sandbox, settled, start_service  # noqa: F401

HUGE = (1 << 30) if LONG else (64 << 20)
MASK = b"\x11\x22\x33\x44"


def heard_last(ports):
    """What the last FIRST has read, once it has read to the end."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with ports.tcp(b"GOT\n") as connection:
            if got := connection.rest():
                return got
    raise AssertionError("nothing was heard")


def test_half_close_by_the_client(ports):
    payload = os.urandom(3_000_000)
    with ports.tcp(b"ECHO\n") as connection:
        sender = threading.Thread(target=lambda: (connection.send(payload), connection.half_close()))
        sender.start()
        got = connection.rest()
        sender.join()
    assert got == payload + b"|end"


def test_half_close_by_the_service(ports):
    with ports.tcp(b"FIRST\n") as connection:
        assert connection.rest() == b"first"
        # Its direction has ended, ours goes on: for longer than any grace for clients that are gone.
        for piece in (b"still ", b"being ", b"heard"):
            time.sleep(0.4)
            connection.send(piece)
        connection.half_close()
    assert heard_last(ports) == b"still being heard"


def test_a_half_closed_client_may_be_silent_for_long(ports):
    with ports.tcp(b"ECHO\nx") as connection:
        assert connection.exactly(1) == b"x"
        connection.half_close()
        assert connection.rest() == b"|end"


def test_bytes_sent_with_the_request_arrive(ports):
    with ports.connect() as connection:
        connection.send(ports.request("GET", "", [("Connection", "keep-alive, Upgrade"), ("Upgrade", "TCP")]) + b"ECHO\nearly")
        connection.half_close()
        assert connection.head().startswith(b"HTTP/1.1 101 ")
        assert connection.rest() == b"early|end"


def test_a_reset_inside_is_a_reset_outside_after_what_came_before(ports):
    with ports.tcp(b"RESET\n") as connection:
        assert connection.exactly(6) == b"before"
        connection.send(b"!")
        with pytest.raises(ConnectionResetError):
            connection.rest()


def test_an_answer_before_the_end_of_what_was_sent_arrives_whole(ports):
    """The service closes with bytes unread, and the client reads late: it gets all that was sent to it before."""
    connection = ports.tcp(b"EARLY\n", receive_buffer=64 << 10)

    def send():
        try:
            connection.send(os.urandom(50_000_000))
        except OSError:
            pass

    sender = threading.Thread(target=send)
    sender.start()
    time.sleep(4)  # longer than the two seconds that a side which only sends is listened to
    got = b""
    try:
        while data := connection.socket.recv(65536):
            got += data
    except ConnectionResetError:
        pass
    assert got == bytes(range(250)) * 1200
    connection.socket.close()
    sender.join()


def test_a_client_that_resets_ends_it_inside(ports):
    connection = ports.tcp(b"FIRST\n")
    connection.send(b"last words")
    assert connection.exactly(5) == b"first"

    def got():
        with ports.tcp(b"GOT\n") as other:
            return other.rest()

    connection.send(b"!")
    connection.reset()
    settled(got)  # the service is still there, and answers


@pytest.mark.parametrize("way", ["http", "tcp"])
def test_a_slow_reader_slows_the_service_and_loses_nothing(ports, harenad, way):
    """Nothing is read until the service can't send any more; then everything arrives. harenad's memory stays flat."""
    memory = PeakMemory(harenad.process.pid)
    with ports.connect(receive_buffer=64 << 10) if way == "http" else ports.tcp(receive_buffer=64 << 10) as connection:
        if way == "http":
            connection.send(ports.request("GET", f"/flood?{HUGE}"))
        else:
            connection.send(b"GET /flood?%d HTTP/1.1\r\nHost: x\r\n\r\n" % HUGE)
        head = connection.head()
        assert b"Content-Length: %d" % HUGE in head
        held = settled(lambda: int(ports.exchange("GET", "/progress").body))
        assert 0 < held < 32 << 20
        digest, total, pattern = hashlib.sha256(), 0, bytes(range(256)) * 8192
        expected = hashlib.sha256()
        data = connection.buffer
        while total < HUGE:
            digest.update(data)
            expected.update(pattern[total % 256:][:len(data)])
            total += len(data)
            data = connection.socket.recv(min(1 << 20, HUGE - total)) if total < HUGE else b""
            assert data or total == HUGE
        assert digest.digest() == expected.digest()
    assert memory.growth() < 32 << 20


def test_a_large_upload_into_a_slow_service(ports, harenad):
    memory = PeakMemory(harenad.process.pid)
    block = os.urandom(1 << 20)
    digest = hashlib.sha256()
    with ports.connect() as connection:
        connection.send(ports.request("PUT", "/sink", [("Content-Length", str(HUGE))]))
        for _ in range(HUGE >> 20):
            connection.send(block)
            digest.update(block)
        assert connection.answer().body.decode() == f"{HUGE} {digest.hexdigest()}"
    assert memory.growth() < 32 << 20


def frame(opcode, payload, final=True, rsv1=False):
    first = bytes([(0x80 if final else 0) | (0x40 if rsv1 else 0) | opcode])
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + struct.pack(">H", size) if size < 65536 else bytes([0xFF]) + struct.pack(">Q", size)
    pattern = (MASK * (size // 4 + 1))[:size]
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")).to_bytes(size, "big") if size else b""
    return first + length + MASK + masked


FRAMES = {
    "text": frame(1, "h\u00e9llo \u2603".encode()),
    "binary": frame(2, bytes(range(256))),
    "empty": frame(1, b"") + frame(2, b""),
    "fragments with a ping between": frame(1, b"one ", final=False) + frame(9, b"ping") + frame(0, b"two ", final=False) + frame(0, b"three"),
    "pong unasked": frame(10, b"pong"),
    "deflated": frame(2, b"\xca\x48\xcd\xc9\xc9\x07\x00", rsv1=True),
    "not UTF-8": frame(1, b"\xff\xfe"),
    "reserved opcode": frame(3, b"?"),
    "close": frame(8, struct.pack(">H", 1000)),
    "close 4999 with a reason": frame(8, struct.pack(">H", 4999) + "r\u00e9ason ".encode() * 12),
    "16 MiB": frame(2, os.urandom(16 << 20)),
}


def open_websocket(ports, fields=()):
    connection = ports.connect()
    connection.send(ports.request("GET", "/chat?x=%20y", [
        ("connection", "keep-alive, Upgrade"), ("upgrade", "websocket"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Version", "13"), *fields]))
    return connection, connection.head()


def test_the_handshake_is_the_services(ports):
    import base64

    extensions = "permessage-deflate; client_max_window_bits, x-other"
    connection, head = open_websocket(ports, [("Sec-WebSocket-Protocol", "chat, superchat"), ("Sec-WebSocket-Extensions", extensions),
                                              ("Origin", "http://o.test")])
    with connection:
        line, *fields = head.split(b"\r\n")
        assert line == b"HTTP/1.1 101 As you like"
        assert fields[:3] == [b"upgrade: WebSocket", b"Connection: upgrade", b"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]
        assert b"Sec-WebSocket-Protocol: chat, superchat" in fields and b"Sec-WebSocket-Extensions: " + extensions.encode() in fields
        seen = base64.b64decode([one for one in fields if one.startswith(b"X-Head: ")][0][8:])
        assert seen.startswith(b"GET /chat?x=%20y HTTP/1.1\r\n")
        assert b"\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\n" in seen and b"\r\nOrigin: http://o.test\r\n" in seen


@pytest.mark.parametrize("name", FRAMES)
def test_websocket_frames_pass_as_bytes(ports, name):
    connection, _ = open_websocket(ports)
    with connection:
        sender = threading.Thread(target=connection.send, args=(FRAMES[name],))
        sender.start()
        assert connection.exactly(len(FRAMES[name])) == FRAMES[name]
        sender.join()
        connection.half_close()
        assert connection.rest() == b""


def test_a_refused_upgrade_is_an_answer(ports):
    with ports.connect() as connection:
        connection.send(ports.request("GET", "/raw", [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABk")]))
        got = connection.answer()
        assert got.status == 200 and b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n" in got.body
