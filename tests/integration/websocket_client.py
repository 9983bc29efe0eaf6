"""A WebSocket client of a few lines, so that what is sent and said is seen as it is (RFC 6455)."""

import base64
import os
import socket
import struct


class WebSocket:
    """`answer` is the head of the answer; the rest works when `status` is 101."""

    def __init__(self, port, path, token=None, protocols=(), patience=120):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=patience)
        head = [f"GET {path} HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode()]
        if token:
            head.append(f"Authorization: Bearer {token}")
        if protocols:
            head.append("Sec-WebSocket-Protocol: " + ", ".join(protocols))
        self.socket.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        self.buffer, self.data, self.close_code = b"", b"", None
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.answer = head.decode()
        self.status = int(self.answer.split()[1])

    def _more(self):
        got = self.socket.recv(65536)
        assert got, f"the connection ended: {self.buffer[-500:]!r}"
        self.buffer += got

    def _exactly(self, count):
        while len(self.buffer) < count:
            self._more()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def body(self):
        """Of an answer that is no upgrade."""
        length = next(int(line.split(":")[1]) for line in self.answer.splitlines() if line.lower().startswith("content-length:"))
        return self._exactly(length)

    def frame(self):
        first, second = self._exactly(2)
        length = second & 127
        if length > 125:
            length = struct.unpack(">H" if length == 126 else ">Q", self._exactly(2 if length == 126 else 8))[0]
        return first & 15, self._exactly(length)

    def receive(self):
        """The next binary message; None after a close."""
        while True:
            kind, payload = self.frame()
            if kind == 8:
                self.close_code = struct.unpack(">H", payload[:2])[0]
                return None
            if kind in (0, 2):
                return payload
            assert kind in (9, 10), f"opcode {kind}"

    def send(self, data, opcode=2):
        length = bytes([128 | len(data)]) if len(data) < 126 else bytes([128 | 126]) + struct.pack(">H", len(data))
        mask = os.urandom(4)
        self.socket.sendall(bytes([128 | opcode]) + length + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(data)))

    def take(self, count):
        """Bytes, whatever messages they come in."""
        while len(self.data) < count:
            got = self.receive()
            assert got is not None, f"closed with {self.close_code}"
            self.data += got
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def wait(self, wanted):
        while wanted not in self.data:
            got = self.receive()
            assert got is not None, f"closed with {self.close_code}: {self.data[-2000:]!r}"
            self.data += got
        self.data = self.data[self.data.index(wanted) + len(wanted):]

    def close(self):
        self.socket.close()
