"""The wire: reading requests, answering, streaming, and breaking off where a test wants it."""

from __future__ import annotations

import json
import re
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, unquote_to_bytes, urlsplit

from .contract import ApiError, Drop, TOKEN


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class Exchange(BaseHTTPRequestHandler):
    """One connection: requests in, answers out, broken where a fault says so. ``ROUTES`` are the handler's."""

    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, *args):
        pass

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.serve
        raise AttributeError(name)

    def serve(self):
        fake = self.fake = self.server.fake
        target = urlsplit(self.path)
        self.query = dict(parse_qsl(target.query, keep_blank_values=True, encoding="latin-1"))
        self.raw_query = {}
        for pair in filter(None, target.query.split("&")):
            key, _, value = pair.partition("=")
            self.raw_query[key] = unquote_to_bytes(value)
        try:
            data = self.read_body()
            parsed = json.loads(data) if data and "json" in self.headers.get("Content-Type", "") else data
            fake.requests.append((self.command, self.path, parsed))
            if fake.take_fault(self.command, self.path, "before"):
                raise Drop
            fault = fake.take_fault(self.command, self.path, "answer")
            if fault:
                raise fault.error
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise ApiError(401, "unauthenticated", "the token isn't known")
            if not target.path.startswith("/v1/"):
                raise ApiError(404, "not_found", f"there is no {target.path}")
            self.route(target.path[len("/v1"):], parsed)
        except ApiError as error:
            self.reply(error.status, {"error": error.body})
        except (Drop, BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                data += self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, status, body=None, headers=()):
        if status < 400 and self.fake.take_fault(self.command, self.path, "after"):
            raise Drop
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        fault = self.fake.take_fault(self.command, self.path, "middle") if data else None
        self.wfile.write(data[: fault.bytes] if fault else data)
        if fault:
            raise Drop

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.cut = self.fake.take_fault(self.command, self.path, "middle")
        self.sent = 0

    def line(self, value):
        data = json.dumps(value).encode() + b"\n"
        if self.cut and self.sent + len(data) > self.cut.bytes:
            data = data[: self.cut.bytes - self.sent]
            if data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            raise Drop
        self.sent += len(data)
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")

    def route(self, path, body):
        for method, pattern, function in self.ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method in (self.command, "*"):
                return function(self, body, *[unquote(group) for group in match.groups()])
        raise ApiError(404, "not_found", f"there is no {self.command} {path}")

    def sandbox(self, sandbox_id, running=True):
        sandbox = self.fake.sandboxes.get(sandbox_id)
        if sandbox is None:
            raise ApiError(404, "not_found", f"there is no sandbox {sandbox_id!r}", resource="sandbox")
        if running and sandbox["state"] == "paused":
            sandbox["state"] = "running"
        if running and sandbox["state"] != "running":
            raise ApiError(409, "failed_precondition", f"sandbox {sandbox_id} is {sandbox['state']}")
        return sandbox

    def cmd(self, sandbox_id, command_id):
        self.sandbox(sandbox_id)
        command = self.fake.commands.get(command_id)
        if command is None:
            raise ApiError(404, "not_found", f"there is no command {command_id!r}")
        return command
