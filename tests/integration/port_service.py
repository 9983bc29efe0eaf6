"""A service for a sandbox that shows what arrives at it, byte by byte. It is copied in and run there:

    python3 port_service.py ADDRESS PORT      prints "ready", then serves until it is killed

HTTP, by path (behind the first line nothing is interpreted but the framing of the body):
    /raw...       answers with the bytes of the request, as they came
    /answer...    sends the request's body, as it is, in the place of an answer, and closes (?reset: by a reset)
    /continue     answers 100 and then as /raw;  /silent: never answers 100;  /refuse: answers 417 at once
    /flood?N      N bytes, with a length;  /progress: how many of them the kernel has taken until now
    /sink         reads the body and answers with its length and SHA-256
    /count        how many connections there were
Anything with "Upgrade: websocket": 101 with the sub-protocol and extensions that were offered, then an echo of bytes.
A first line that begins with:
    ECHO          echoes all behind the line, at the end of file "|end", then closes
    FIRST         sends "first", ends its direction, then reads to the end (see GOT)
    GOT           sends what the last FIRST has read
    EARLY         sends 300,000 bytes and, a little later, closes without reading anything
    STALL         reads nothing any more
    RESET         sends "before" and resets the connection once a byte has come
"""

import base64
import hashlib
import re
import socket
import struct
import sys
import threading
import time

state = {"sent": 0, "got": b"", "connections": 0}


class Peer:
    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def until(self, mark):
        while mark not in self.buffer:
            data = self.connection.recv(65536)
            if not data:
                break
            self.buffer += data
        at = self.buffer.find(mark)
        return self.take(len(self.buffer) if at < 0 else at + len(mark))

    def take(self, count):
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def exactly(self, count):
        pieces, left = [self.take(count)], count
        left -= len(pieces[0])
        while left > 0:
            data = self.connection.recv(min(left, 1 << 20))
            if not data:
                break
            pieces.append(data)
            left -= len(data)
        return b"".join(pieces)

    def rest(self):
        pieces = [self.take(len(self.buffer))]
        while data := self.connection.recv(65536):
            pieces.append(data)
        return b"".join(pieces)

    def body(self, head):
        length = re.search(rb"\r\ncontent-length: *(\d+)\r\n", head, re.I)
        if length:
            return self.exactly(int(length[1]))
        if not re.search(rb"\r\ntransfer-encoding: *chunked\r\n", head, re.I):
            return b""
        raw = b""
        while True:
            line = self.until(b"\r\n")
            raw += line
            size = int(line.split(b";")[0], 16)
            if size == 0:
                break
            raw += self.exactly(size + 2)
        while True:
            line = self.until(b"\r\n")
            raw += line
            if line in (b"\r\n", b""):
                return raw


def answer(connection, body, status=b"200 OK"):
    connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\nContent-Type: application/octet-stream\r\n\r\n" % len(body) + body)


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def flood(connection, total):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
    state["sent"] = 0
    block = bytes(range(256)) * 256
    while state["sent"] < total:
        state["sent"] += connection.send(block[state["sent"] % 256:][:total - state["sent"]])


def sink(peer, head):
    length = int(re.search(rb"\r\ncontent-length: *(\d+)\r\n", head, re.I)[1])
    digest, left = hashlib.sha256(), length
    while left > 0:
        data = peer.take(left) or peer.connection.recv(min(left, 1 << 20))
        if not data:
            break
        digest.update(data)
        left -= len(data)
        state["got"] = b"%d" % (length - left)
    answer(peer.connection, b"%d %s" % (length - left, digest.hexdigest().encode()))


def websocket(peer, head):
    field = lambda name: re.search(rb"\r\n" + name + rb": *([^\r]*)\r\n", head, re.I)
    key = base64.b64encode(hashlib.sha1(field(b"sec-websocket-key")[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    lines = [b"HTTP/1.1 101 As you like", b"upgrade: WebSocket", b"Connection: upgrade", b"sec-websocket-accept: " + key]
    for name in (b"Sec-WebSocket-Protocol", b"Sec-WebSocket-Extensions"):
        if field(name):
            lines.append(name + b": " + field(name)[1])
    lines.append(b"X-Head: " + base64.b64encode(head))
    peer.connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
    echo(peer, b"")


def echo(peer, farewell):
    data = peer.take(len(peer.buffer))
    while True:
        peer.connection.sendall(data)
        data = peer.connection.recv(65536)
        if not data:
            break
    peer.connection.sendall(farewell)


def speak_http(peer, head):
    path = head.split(b" ", 2)[1].split(b"?")[0]
    connection = peer.connection
    if re.search(rb"\r\nupgrade: *websocket\r\n", head, re.I):
        return websocket(peer, head)
    if path == b"/continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if path == b"/refuse":
        return answer(connection, b"no", b"417 Rather Not")
    if path == b"/flood":
        return flood(connection, int(head.split(b"?")[1].split(b" ")[0]))
    if path == b"/progress":
        return answer(connection, b"%d" % state["sent"])
    if path == b"/sink":
        return sink(peer, head)
    if path == b"/count":
        return answer(connection, b"%d" % state["connections"])
    body = peer.body(head)
    if path == b"/answer":
        connection.sendall(body)
        return reset(connection) if b"?reset" in head else None
    return answer(connection, head + body)


def serve(connection):
    state["connections"] += 1
    peer = Peer(connection)
    with connection:
        line = peer.until(b"\n")
        if line.startswith(b"ECHO"):
            echo(peer, b"|end")
        elif line.startswith(b"FIRST"):
            connection.sendall(b"first")
            connection.shutdown(socket.SHUT_WR)
            state["got"] = b""
            state["got"] = peer.rest()
        elif line.startswith(b"GOT"):
            connection.sendall(state["got"])
        elif line.startswith(b"EARLY"):
            connection.sendall(bytes(range(250)) * 1200)
            time.sleep(0.5)
        elif line.startswith(b"STALL"):
            threading.Event().wait(30)
        elif line.startswith(b"RESET"):
            connection.sendall(b"before")
            peer.exactly(1)
            reset(connection)
        else:
            speak_http(peer, line + peer.until(b"\r\n\r\n"))


def quietly(connection):
    try:
        serve(connection)
    except OSError:
        pass


def main():
    address, port = sys.argv[1], int(sys.argv[2])
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if ":" in address:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind((address, port))
    listener.listen(256)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=quietly, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
