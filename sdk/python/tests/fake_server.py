"""A strict double of the HTTP API (docs/http-api.md), in process, for tests of clients.

It runs commands for real, on this machine, in a temporary folder, and refuses what the document doesn't know: unknown
keys, missing tokens, gaps in stdin. ``faults`` breaks connections where a test wants: before a request was acted on, after
it, or in the middle of an answer.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import termios
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, unquote_to_bytes, urlsplit

TOKEN = "test-token"
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "cpu": {"type": "number", "exclusiveMinimum": 0},
        "memory": {"type": ["integer", "string"], "description": "bytes, or text such as 1GiB"},
        "pids": {"type": "integer", "minimum": 1},
        "readonly": {"type": "boolean"},
        "hosts": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
        "user": {"type": "string"},
    },
}
CREATE_KEYS = {
    "image", "workspaces", "toolkits", "project", "task", "labels", "idle_ttl_s", "idle_action", "lifetime_s", "params",
    "idempotency_key",
}
COMMAND_KEYS = {
    "argv", "shell", "env", "cwd", "user", "stdin", "stdin_data", "stdin_data_b64", "pty", "timeout_ms",
    "no_output_timeout_ms", "output_limit_bytes", "on_output_limit", "op", "on_disconnect", "wait",
}


class ApiError(Exception):
    def __init__(self, status, code, message, cause="none", retry="never", **details):
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message, "cause": cause, "retry": retry, "details": details}


class Drop(Exception):
    """Ends the connection without an answer."""


class Fault:
    """One planned failure: the ``times`` next requests that match are broken.

    ``when``: ``before`` (not acted on), ``after`` (acted on, the answer is lost), ``answer`` (``error`` is sent instead),
    ``middle`` (a streamed answer is cut after ``bytes`` bytes).
    """

    def __init__(self, method, pattern, when, times=1, error=None, bytes=0):
        self.method, self.pattern, self.when = method, re.compile(pattern), when
        self.times, self.error, self.bytes = times, error, bytes


class Command:
    def __init__(self, body, root):
        self.id = uuid.uuid4().hex[:12]
        self.body = body
        self.streams = {"stdout": bytearray(), "stderr": bytearray()}
        self.changed = threading.Condition()
        self.exit = None
        self.stdin_taken = 0
        self.started = time.time()
        self.master = None
        self.cause = None
        pty_size = body.get("pty")
        argv = body["argv"] if "argv" in body else ["/bin/sh", "-c", body["shell"]]
        cwd = root if body.get("cwd") in (None, "/") else root + body["cwd"]
        if not os.path.isdir(cwd):
            raise ApiError(404, "not_found", f"cwd {body['cwd']!r} isn't there", "agent", reason="no_such_cwd")
        environ = {"PATH": os.environ["PATH"], "TERM": "xterm", **body.get("env", {})}
        inline = body.get("stdin_data", "").encode() if "stdin_data" in body else None
        if "stdin_data_b64" in body:
            inline = base64.b64decode(body["stdin_data_b64"], validate=True)
        piped = body.get("stdin") == "pipe" or inline is not None
        options = {"cwd": cwd, "env": environ, "start_new_session": True}
        try:
            if pty_size:
                self.master, slave = os.openpty()
                self.resize(pty_size["rows"], pty_size["cols"])
                self.process = subprocess.Popen(
                    argv, stdin=slave, stdout=slave, stderr=slave,
                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)
                os.close(slave)
            else:
                self.process = subprocess.Popen(
                    argv, stdin=subprocess.PIPE if piped else subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, **options)
        except FileNotFoundError:
            raise ApiError(404, "not_found", f"there is no program {argv[0]!r}", "agent", reason="no_such_program") from None
        except PermissionError:
            raise ApiError(403, "permission_denied", f"{argv[0]!r} isn't executable", "agent", reason="not_executable") from None
        self._threads(inline)

    def _threads(self, inline):
        sources = [("stdout", self.master)] if self.master is not None else [
            ("stdout", self.process.stdout.fileno()), ("stderr", self.process.stderr.fileno())]
        readers = [threading.Thread(target=self._read, args=source, daemon=True) for source in sources]
        for thread in readers:
            thread.start()
        if inline is not None:
            threading.Thread(target=self._feed, args=(inline,), daemon=True).start()
        if self.body.get("timeout_ms"):
            timer = threading.Timer(self.body["timeout_ms"] / 1000, self._expire)
            timer.daemon = True
            timer.start()
        threading.Thread(target=self._reap, args=(readers,), daemon=True).start()

    def _feed(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.close()
        except OSError:
            pass

    def _expire(self):
        if self.exit is None:
            self.cause = "timeout"
            self.signal("KILL", "tree")

    def _read(self, name, descriptor):
        limit = self.body.get("output_limit_bytes", 64 << 20)
        while True:
            try:
                data = os.read(descriptor, 65536)
            except OSError:
                data = b""
            if not data:
                return
            with self.changed:
                room = limit - len(self.streams[name])
                self.streams[name] += data[:room]
                if len(data) > room:
                    self.streams.setdefault("truncated", set()).add(name)
                self.changed.notify_all()

    def _reap(self, readers):
        status = self.process.wait()
        for thread in readers:
            thread.join(timeout=2)
        code, name = (status, None) if status >= 0 else (None, signal.Signals(-status).name[3:])
        with self.changed:
            self.exit = {
                "code": code, "signal": name, "cause": self.cause or ("exit" if name is None else "signal"),
                "duration_ms": int((time.time() - self.started) * 1000)}
            self.changed.notify_all()

    def signal(self, name, target):
        number = getattr(signal, "SIG" + name, None)
        if number is None:
            raise ApiError(400, "invalid_argument", f"signal {name!r} isn't one; TERM, INT, KILL, ... are")
        try:
            (os.kill if target == "process" else os.killpg)(self.process.pid, number)
        except ProcessLookupError:
            pass

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def write(self, data, offset, eof):
        if offset > self.stdin_taken:
            raise ApiError(400, "out_of_range", f"offset {offset} leaves a gap: {self.stdin_taken} bytes were taken")
        data = data[self.stdin_taken - offset:]
        try:
            if self.master is not None:
                os.write(self.master, data)
            else:
                self.process.stdin.write(data)
                self.process.stdin.flush()
        except (OSError, ValueError):
            raise ApiError(409, "failed_precondition", "the command has closed its stdin", "agent") from None
        self.stdin_taken += len(data)
        if eof:
            self.close_stdin()
        return self.stdin_taken

    def close_stdin(self):
        if self.master is not None:
            os.write(self.master, b"\x04")
        elif not self.process.stdin.closed:
            self.process.stdin.close()

    def wait(self):
        with self.changed:
            self.changed.wait_for(lambda: self.exit is not None)

    def json(self):
        out = {"id": self.id, "op": self.body.get("op", ""), "pid": self.process.pid,
               "state": "exited" if self.exit else "running", "started_ms": int(self.started * 1000),
               "stdout_bytes": len(self.streams["stdout"]), "stderr_bytes": len(self.streams["stderr"])}
        out.update({key: self.body[key] for key in ("argv", "shell") if key in self.body})
        if self.exit:
            out["exit"] = self.exit
        return out

    def result(self):
        out = self.json()
        for name in ("stdout", "stderr"):
            put(out, name, bytes(self.streams[name]))
            out[name + "_truncated"] = name in self.streams.get("truncated", ())
        return out


def put(body, key, data):
    try:
        body[key] = data.decode()
    except UnicodeDecodeError:
        body[key + "_b64"] = base64.b64encode(data).decode()


class FakeHarena:
    """``with FakeHarena() as fake:`` serves on ``fake.url``."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="harena-fake-")
        self.sandboxes = {}
        self.keys = {}
        self.commands = {}
        self.images = {}
        self.tokens = {}
        self.projects = ["root"]
        self.faults = []
        self.requests = []  # (method, path with query, parsed body)
        self.lock = threading.RLock()
        self.chunk = 65536
        self.life_sign_s = 15.0
        self.starts = 0
        self.ports = {}
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.fake = self
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        for command in self.commands.values():
            command.signal("KILL", "tree")
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.root, ignore_errors=True)

    def fault(self, *args, **options):
        self.faults.append(Fault(*args, **options))

    def take_fault(self, method, path, when):
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.when == when and fault.method == method and fault.pattern.search(path):
                    fault.times -= 1
                    return fault
        return None

    def count(self, method, pattern):
        return sum(1 for one in self.requests if one[0] == method and re.search(pattern, one[1]))

    # What the routes do.

    def create(self, backend, body, key):
        check_keys(body, CREATE_KEYS)
        if backend != "container":
            raise ApiError(404, "not_found", f"there is no backend {backend!r}; there is: container")
        params = body.get("params", {})
        check_keys(params, set(SCHEMA["properties"]), "params.")
        for name, value in params.items():
            if not fits(value, SCHEMA["properties"][name]["type"]):
                raise ApiError(400, "invalid_argument", f"params.{name}: {value!r} is of the wrong type")
        image = body.get("image")
        if image is not None and image.endswith(":missing"):
            raise ApiError(404, "not_found", f"there is no image {image!r}")
        key = key or body.get("idempotency_key")
        plain = {name: value for name, value in body.items() if name != "idempotency_key"}
        with self.lock:
            if key in self.keys:
                earlier, sandbox_id = self.keys[key]
                if earlier != plain:
                    raise ApiError(409, "already_exists", f"the key {key!r} was used with another body")
                return 200, self.sandboxes[sandbox_id]
            sandbox_id = "local" + uuid.uuid4().hex[:15]
            os.mkdir(self.path_of(sandbox_id))
            sandbox = {
                "id": sandbox_id, "backend": backend, "state": "running", "project": body.get("project", "root"),
                "task": body.get("task", ""), "image": image, "workspaces": body.get("workspaces", []),
                "toolkits": body.get("toolkits", []), "labels": body.get("labels", {}), "params": params,
                "idle_ttl_s": body.get("idle_ttl_s", 300), "idle_action": body.get("idle_action", "stop"),
                "lifetime_s": body.get("lifetime_s", 0), "created_by": "admin", "created_ms": int(time.time() * 1000),
                "changed_ms": int(time.time() * 1000), "expires_ms": None, "details": {}}
            self.sandboxes[sandbox_id] = sandbox
            if key:
                self.keys[key] = (plain, sandbox_id)
            return 201, sandbox

    def path_of(self, sandbox_id):
        return os.path.join(self.root, sandbox_id)

    def start(self, sandbox_id, body):
        check_keys(body, COMMAND_KEYS)
        if ("argv" in body) == ("shell" in body):
            raise ApiError(400, "invalid_argument", "give argv or shell, one of them")
        plain = {key: value for key, value in body.items() if key != "wait"}
        with self.lock:
            for command in self.commands.values():
                if body.get("op") and command.body.get("op") == body["op"]:
                    if command.body != plain:
                        raise ApiError(409, "already_exists", f"op {body['op']!r} was used with other arguments")
                    return command
            command = Command(plain, self.path_of(sandbox_id))
            self.starts += 1
            self.commands[command.id] = command
            return command


def fits(value, kinds):
    types = {"number": (int, float), "integer": int, "string": str, "boolean": bool, "array": list, "object": dict}
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if isinstance(value, types[kind]) and (kind == "boolean") == isinstance(value, bool):
            return True
    return False


def check_keys(body, known, prefix=""):
    for key in body:
        if key not in known:
            raise ApiError(400, "invalid_argument", f"unknown key {prefix + key!r}; known: {', '.join(sorted(known))}")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class Handler(BaseHTTPRequestHandler):
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
        for method, pattern, function in ROUTES:
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

    # Sandboxes

    def backends(self, body):
        self.reply(200, {"backends": [{
            "name": "container", "plugin": "org.example.container", "version": "0.1.0", "usable": True, "why_not": "",
            "verbs": ["create", "stop", "pause", "resume"], "kept": {}, "params_schema": SCHEMA, "facts": {}}]})

    def create(self, body, backend):
        status, sandbox = self.fake.create(backend, body or {}, self.headers.get("Idempotency-Key"))
        self.reply(status, sandbox)

    def batch(self, body, backend):
        check_keys(body, {"requests", "count", "request"})
        requests = body.get("requests")
        if requests is None:
            requests = [dict(body["request"]) for _ in range(body["count"])]
            for index, one in enumerate(requests):
                if "idempotency_key" in one:
                    one["idempotency_key"] += f"/{index}"
        self.begin_stream()
        for index, one in reversed(list(enumerate(requests))):
            try:
                self.line({"index": index, "sandbox": self.fake.create(backend, one, None)[1]})
            except ApiError as error:
                self.line({"index": index, "error": error.body})
        self.end_stream()

    def list(self, body):
        found = sorted(self.fake.sandboxes.values(), key=lambda one: one["id"])
        for name in ("project", "task", "backend"):
            if self.query.get(name):
                found = [one for one in found if one[name] == self.query[name]]
        if self.query.get("state"):
            found = [one for one in found if one["state"] in self.query["state"].split(",")]
        if self.query.get("label"):
            key, _, value = self.query["label"].partition("=")
            found = [one for one in found if one["labels"].get(key) == value]
        self.page("sandboxes", found, lambda one: one["id"])

    def page(self, name, found, key_of, limit=None):
        limit = min(int(self.query.get("limit", 100)), getattr(self.fake, "page_limit", 1000))
        cursor = base64.b64decode(self.query["cursor"]).decode() if self.query.get("cursor") else None
        if cursor is not None:
            keys = [key_of(one) for one in found]
            found = found[keys.index(cursor) + 1:]
        more = len(found) > limit
        found = found[:limit]
        self.reply(200, {name: found, "next_cursor": base64.b64encode(key_of(found[-1]).encode()).decode() if more else None})

    def get(self, body, sandbox_id):
        self.reply(200, self.sandbox(sandbox_id, running=False))

    def patch(self, body, sandbox_id):
        check_keys(body, {"labels", "idle_ttl_s", "lifetime_s"})
        sandbox = self.sandbox(sandbox_id, running=False)
        sandbox.update(body)
        self.reply(200, sandbox)

    def pause(self, body, sandbox_id):
        self.change(sandbox_id, "paused")

    def resume(self, body, sandbox_id):
        self.change(sandbox_id, "running")

    def change(self, sandbox_id, state):
        sandbox = self.sandbox(sandbox_id, running=False)
        if sandbox["state"] == "stopped":
            raise ApiError(409, "failed_precondition", f"sandbox {sandbox_id} is stopped")
        sandbox["state"] = state
        self.reply(200, sandbox)

    def stop(self, body, sandbox_id):
        check_keys(body or {}, {"grace_ms"})
        sandbox = self.sandbox(sandbox_id, running=False)
        sandbox["state"] = "stopped"
        sandbox["ending"] = {"cause": "none", "detail": "asked", "message": "stopped by its user"}
        self.reply(200, sandbox)

    def fork(self, body, sandbox_id):
        raise ApiError(501, "unimplemented", "the backend 'container' hasn't got the verb 'fork'")

    def usage(self, body, sandbox_id):
        self.sandbox(sandbox_id)
        self.reply(200, {"cpu_ns": 1, "memory_bytes": 2, "memory_peak_bytes": 3, "pids": 1})

    # Commands

    def start(self, body, sandbox_id):
        self.sandbox(sandbox_id)
        wait = body.get("wait", False)
        command = self.fake.start(sandbox_id, body)
        if not wait:
            return self.reply(201, command.json())
        command.wait()
        self.reply(200, command.result())

    def commands(self, body, sandbox_id):
        self.sandbox(sandbox_id)
        self.reply(200, {"commands": [one.json() for one in self.fake.commands.values()]})

    def command_info(self, body, sandbox_id, command_id):
        self.reply(200, self.cmd(sandbox_id, command_id).json())

    def output(self, body, sandbox_id, command_id):
        command = self.cmd(sandbox_id, command_id)
        at = {name: int(self.query.get(name + "_offset", 0)) for name in ("stdout", "stderr")}
        follow = self.query.get("follow", "true") == "true"
        marked = set()
        self.begin_stream()
        while True:
            with command.changed:
                def news():
                    return command.exit or any(len(command.streams[name]) > at[name] for name in at)
                ready = command.changed.wait_for(news, timeout=self.fake.life_sign_s if follow else 0)
                pieces = {name: bytes(command.streams[name][at[name]: at[name] + self.fake.chunk]) for name in at}
                ended, truncated = command.exit, set(command.streams.get("truncated", ()))
                complete = all(at[name] + len(pieces[name]) == len(command.streams[name]) for name in at)
            for name, data in pieces.items():
                if data:
                    event = {"stream": name, "offset": at[name]}
                    put(event, "data", data)
                    self.line(event)
                    at[name] += len(data)
                if name in truncated - marked and at[name] == len(command.streams[name]):
                    marked.add(name)
                    self.line({"truncated": name})
            if ended and complete:
                self.line({"exit": ended})
                break
            if not ready and not follow:
                break
            if not ready:
                self.line({})
        self.end_stream()

    def stdin(self, body, sandbox_id, command_id):
        command = self.cmd(sandbox_id, command_id)
        offset = int(self.query.get("offset", command.stdin_taken))
        accepted = command.write(body or b"", offset, self.query.get("eof") == "true")
        self.reply(200, {"accepted": accepted})

    def signal(self, body, sandbox_id, command_id):
        check_keys(body, {"signal", "target"})
        self.cmd(sandbox_id, command_id).signal(body["signal"], body.get("target", "process"))
        self.reply(200, {})

    def resize(self, body, sandbox_id, command_id):
        check_keys(body, {"rows", "cols"})
        self.cmd(sandbox_id, command_id).resize(body["rows"], body["cols"])
        self.reply(200, {})

    def forget(self, body, sandbox_id, command_id):
        command = self.cmd(sandbox_id, command_id)
        command.signal("KILL", "tree")
        self.fake.commands.pop(command_id)
        self.reply(200, {})

    # Attaching

    def attach(self, body, sandbox_id, command_id):
        command = self.cmd(sandbox_id, command_id)
        key = self.headers.get("Sec-WebSocket-Key")
        if not key or self.headers.get("Upgrade", "").lower() != "websocket":
            raise ApiError(400, "invalid_argument", "attach is a WebSocket")
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        threading.Thread(target=self.attach_input, args=(command,), daemon=True).start()
        at = int(self.query.get("stdout_offset", 0))
        while True:
            with command.changed:
                command.changed.wait_for(lambda: command.exit or len(command.streams["stdout"]) > at)
                data, ended = bytes(command.streams["stdout"][at:]), command.exit
            if data:
                self.frame(2, data)
                at += len(data)
            elif ended:
                break
        self.frame(1, json.dumps({"exit": command.exit}).encode())
        self.frame(8, struct.pack(">H", 1000))

    def frame(self, opcode, data):
        head = bytes([0x80 | opcode])
        if len(data) < 126:
            head += bytes([len(data)])
        elif len(data) < 65536:
            head += b"\x7e" + struct.pack(">H", len(data))
        else:
            head += b"\x7f" + struct.pack(">Q", len(data))
        self.wfile.write(head + data)

    def attach_input(self, command):
        try:
            self.attach_messages(command)
        except (OSError, ApiError):
            pass  # the client or the command is gone

    def attach_messages(self, command):
        while True:
            head = self.rfile.read(2)
            if len(head) < 2:
                return
            opcode, length = head[0] & 15, head[1] & 127
            if length == 126:
                length = struct.unpack(">H", self.rfile.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.rfile.read(8))[0]
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(length)))
            if opcode == 8:
                return
            if opcode == 2:
                command.write(data, command.stdin_taken, False)
            elif opcode == 1:
                self.attach_control(command, json.loads(data))

    def attach_control(self, command, message):
        check_keys(message, {"resize", "signal", "eof"})
        if "resize" in message:
            command.resize(message["resize"]["rows"], message["resize"]["cols"])
        if "signal" in message:
            command.signal(message["signal"], "group")
        if message.get("eof"):
            command.close_stdin()

    # Files

    def inside(self, sandbox_id, raw):
        self.sandbox(sandbox_id)
        if not raw.startswith(b"/"):
            raise ApiError(400, "invalid_argument", f"path {raw!r} isn't absolute")
        return os.fsencode(self.fake.path_of(sandbox_id)) + raw

    def query_path(self, sandbox_id):
        if "path" not in self.raw_query:
            raise ApiError(400, "invalid_argument", "path is missing")
        return self.inside(sandbox_id, self.raw_query["path"])

    def body_path(self, sandbox_id, body, key):
        raw = base64.b64decode(body[key + "_b64"]) if key + "_b64" in body else body[key].encode()
        return self.inside(sandbox_id, raw)

    def stat_of(self, sandbox_id, path):
        info = os.lstat(path)
        kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo"}
        out = {"type": kinds.get(stat.S_IFMT(info.st_mode), "char"), "size": info.st_size,
               "mode": f"{stat.S_IMODE(info.st_mode):04o}", "uid": info.st_uid, "gid": info.st_gid,
               "modified_ms": info.st_mtime_ns // 1_000_000}
        put(out, "name", os.path.basename(path))
        put(out, "path", path[len(os.fsencode(self.fake.path_of(sandbox_id))):])
        if out["type"] == "symlink":
            put(out, "target", os.readlink(path))
        return out

    def guarded(self, function):
        try:
            return function()
        except FileNotFoundError as error:
            raise ApiError(404, "not_found", f"{error.filename!r} isn't there", "agent", resource="file") from None
        except FileExistsError as error:
            raise ApiError(409, "already_exists", f"{error.filename!r} is there already", "agent") from None
        except OSError as error:
            raise ApiError(409, "failed_precondition", str(error), "agent") from None

    def file_read(self, body, sandbox_id):
        path = self.query_path(sandbox_id)

        def read():
            with open(path, "rb") as file:
                return file.read()
        data = self.guarded(read)
        etag = ("ETag", '"' + hashlib.sha256(data).hexdigest()[:16] + '"')
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if not wanted:
            return self.reply(200, data, [etag])
        start = int(wanted.group(1))
        if start >= len(data):
            raise ApiError(416, "out_of_range", f"the file has {len(data)} bytes, not {start}")
        self.reply(206, data[start:], [etag, ("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")])

    def file_write(self, body, sandbox_id):
        path = self.query_path(sandbox_id)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()

        def write():
            if self.query.get("parents") == "true":
                os.makedirs(os.path.dirname(path), exist_ok=True)
            part = os.path.join(os.path.dirname(path), b"." + uuid.uuid4().hex.encode())
            with open(part, "wb") as file:
                file.write(data)
            os.chmod(part, int(self.query.get("mode", "0644"), 8))
            os.replace(part, path)
        self.guarded(write)
        self.reply(200, self.stat_of(sandbox_id, path))

    def file_delete(self, body, sandbox_id):
        path = self.query_path(sandbox_id)

        def remove():
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path) if self.query.get("recursive") == "true" else os.rmdir(path)
            else:
                os.unlink(path)
        self.guarded(remove)
        self.reply(200, {})

    def file_stat(self, body, sandbox_id):
        path = self.query_path(sandbox_id)
        self.reply(200, self.guarded(lambda: self.stat_of(sandbox_id, path)))

    def file_list(self, body, sandbox_id):
        path = self.query_path(sandbox_id).rstrip(b"/")
        found = []

        def walk(folder):
            for name in sorted(os.listdir(folder)):
                full = folder + b"/" + name
                found.append(self.stat_of(sandbox_id, full))
                if self.query.get("recursive") == "true" and os.path.isdir(full) and not os.path.islink(full):
                    walk(full)
        self.guarded(lambda: walk(path))
        found += getattr(self.fake, "evil_entries", [])
        self.page("entries", found, lambda one: one.get("path") or one["path_b64"])

    def file_verb(self, body, sandbox_id, verb):
        known = {"mkdir": {"path", "mode", "parents"}, "move": {"from", "to"}, "chmod": {"path", "mode"},
                 "chown": {"path", "uid", "gid"}, "symlink": {"path", "target"}}.get(verb)
        if known is None:
            raise ApiError(404, "not_found", f"there is no files/{verb}")
        check_keys(body, known | {key + "_b64" for key in known & {"path", "from", "to", "target"}})
        self.guarded(lambda: getattr(self, "verb_" + verb)(sandbox_id, body))
        self.reply(200, {})

    def verb_mkdir(self, sandbox_id, body):
        path = self.body_path(sandbox_id, body, "path")
        if not (body.get("parents") and os.path.isdir(path)):
            (os.makedirs if body.get("parents") else os.mkdir)(path)
        if "mode" in body:
            os.chmod(path, int(body["mode"], 8))

    def verb_move(self, sandbox_id, body):
        os.rename(self.body_path(sandbox_id, body, "from"), self.body_path(sandbox_id, body, "to"))

    def verb_chmod(self, sandbox_id, body):
        os.chmod(self.body_path(sandbox_id, body, "path"), int(body["mode"], 8))

    def verb_chown(self, sandbox_id, body):
        os.chown(self.body_path(sandbox_id, body, "path"), body["uid"], body["gid"])

    def verb_symlink(self, sandbox_id, body):
        target = base64.b64decode(body["target_b64"]) if "target_b64" in body else body["target"].encode()
        os.symlink(target, self.body_path(sandbox_id, body, "path"))

    # Ports: ``fake.ports`` maps a number to one of this machine

    def port_http(self, body, sandbox_id, port, rest):
        self.sandbox(sandbox_id)
        real = self.fake.ports.get(int(port))
        if real is None:
            raise ApiError(502, "unavailable", f"nothing listens on port {port}", "agent", reason="port_closed")
        self.reply(200, f"{self.command} {self.path.split('/ports/')[1]}".encode())

    def port_tcp(self, body, sandbox_id, port):
        self.sandbox(sandbox_id)
        if self.headers.get("Upgrade") != "tcp":
            raise ApiError(400, "invalid_argument", "Upgrade: tcp is missing")
        real = self.fake.ports.get(int(port))
        if real is None:
            raise ApiError(502, "unavailable", f"nothing listens on port {port}", "agent", reason="port_closed")
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "tcp")
        self.end_headers()
        self.close_connection = True
        peer = socket.create_connection(("127.0.0.1", real))

        def pump_in():
            while True:
                data = self.rfile.read1(65536)
                if not data:
                    break
                peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
        thread = threading.Thread(target=pump_in, daemon=True)
        thread.start()
        while True:
            data = peer.recv(65536)
            if not data:
                break
            self.wfile.write(data)
        self.connection.shutdown(socket.SHUT_WR)
        thread.join(timeout=5)
        peer.close()

    # Images, installation

    def images(self, body):
        found = [one for one in self.fake.images.values() if one["reference"].startswith(self.query.get("prefix", ""))]
        self.page("images", sorted(found, key=lambda one: one["reference"]), lambda one: one["reference"])

    def image_get(self, body, reference):
        if reference not in self.fake.images:
            raise ApiError(404, "not_found", f"there is no image {reference!r}")
        self.reply(200, {"reference": reference, "layers": []})

    def image_delete(self, body, reference):
        if self.fake.images.pop(reference, None) is None:
            raise ApiError(404, "not_found", f"there is no image {reference!r}")
        self.reply(200, {})

    def image_tag(self, body):
        check_keys(body, {"reference", "target"})
        if body["reference"] not in self.fake.images:
            raise ApiError(404, "not_found", f"there is no image {body['reference']!r}")
        self.fake.images[body["target"]] = dict(self.fake.images[body["reference"]], reference=body["target"])
        self.reply(200, {})

    def image_import(self, body):
        if self.headers.get("Content-Type") == "application/x-tar":
            reference, kind, size = self.query["reference"], self.query["kind"], len(body)
        else:
            check_keys(body, {"reference", "kind", "source"})
            check_keys(body["source"], {"docker", "folder", "archive"})
            reference, kind, size = body["reference"], body["kind"], 4096
        self.begin_stream()
        self.line({"progress": {"step": "copying layer 1 of 1", "done": size, "total": size}})
        if reference.endswith(":broken"):
            self.line({"error": {"code": "data_loss", "message": "the archive is cut off", "cause": "none", "retry": "never",
                                 "details": {}}})
        else:
            image = {"reference": reference, "digest": "sha256:" + hashlib.sha256(reference.encode()).hexdigest(),
                     "kind": kind, "size": size, "created_ms": 1}
            self.fake.images[reference] = image
            self.line({"image": image})
        self.end_stream()

    def installation(self, body, name):
        answers = {
            "version": {"version": "0.1.0", "abi": "0.1", "session_protocol": "1"},
            "plugins": {"plugins": [{"id": "org.harena.container", "version": "0.1.0", "contracts": ["harena.backend/1"],
                                     "path": "/p/container.so", "state": "loaded"}]},
            "nodes": {"nodes": [{"edge": "local", "state": "healthy", "load": {}}]},
            "doctor": {"findings": getattr(self.fake, "findings", [
                {"id": "kernel", "level": "ok", "what": "Linux 6.1", "why": "", "fix": ""}])},
            "whoami": {"principal": "admin", "project": "root", "permissions": ["admin"]},
            "openapi.json": {"openapi": "3.1.0"},
        }
        if name not in answers:
            raise ApiError(404, "not_found", f"there is no /{name}")
        self.reply(200, answers[name])

    def projects(self, body):
        if self.command == "POST":
            check_keys(body, {"path"})
            self.fake.projects.append(body["path"])
            return self.reply(201, {"path": body["path"]})
        self.reply(200, {"projects": [{"path": one} for one in self.fake.projects]})

    def project_delete(self, body, path):
        if path not in self.fake.projects:
            raise ApiError(404, "not_found", f"there is no project {path!r}")
        self.fake.projects.remove(path)
        self.reply(200, {})

    def token_routes(self, body):
        if self.command == "POST":
            check_keys(body, {"name", "project", "permissions", "expires_s"})
            if not body.get("permissions"):
                raise ApiError(400, "invalid_argument", "a token needs at least one permission")
            made = {"id": uuid.uuid4().hex[:8], "name": body["name"], "project": body.get("project", "root"),
                    "permissions": body.get("permissions", [])}
            self.fake.tokens[made["id"]] = made
            return self.reply(201, dict(made, secret="s3cret"))
        self.reply(200, {"tokens": list(self.fake.tokens.values())})

    def token_delete(self, body, token_id):
        if self.fake.tokens.pop(token_id, None) is None:
            raise ApiError(404, "not_found", f"there is no token {token_id!r}")
        self.reply(200, {})


S = r"/sandboxes/([^/]+)"
C = S + r"/commands/([^/]+)"
ROUTES = [
    ("GET", r"/backends", Handler.backends),
    ("POST", r"/backends/([^/]+)/sandboxes", Handler.create),
    ("POST", r"/backends/([^/]+)/sandboxes:batch", Handler.batch),
    ("GET", r"/sandboxes", Handler.list),
    ("GET", S, Handler.get), ("PATCH", S, Handler.patch), ("DELETE", S, Handler.stop),
    ("POST", S + "/pause", Handler.pause), ("POST", S + "/resume", Handler.resume), ("POST", S + "/stop", Handler.stop),
    ("POST", S + "/fork", Handler.fork), ("GET", S + "/usage", Handler.usage),
    ("POST", S + "/commands", Handler.start), ("GET", S + "/commands", Handler.commands),
    ("GET", C, Handler.command_info), ("DELETE", C, Handler.forget), ("GET", C + "/output", Handler.output),
    ("POST", C + "/stdin", Handler.stdin), ("POST", C + "/signal", Handler.signal), ("POST", C + "/resize", Handler.resize),
    ("GET", C + "/attach", Handler.attach),
    ("GET", S + "/files", Handler.file_read), ("PUT", S + "/files", Handler.file_write),
    ("DELETE", S + "/files", Handler.file_delete), ("GET", S + "/files/stat", Handler.file_stat),
    ("GET", S + "/files/list", Handler.file_list), ("POST", S + "/files/([a-z]+)", Handler.file_verb),
    ("GET", S + r"/ports/(\d+)", Handler.port_tcp), ("*", S + r"/ports/(\d+)/(.*)", Handler.port_http),
    ("GET", "/images", Handler.images), ("POST", "/images/import", Handler.image_import),
    ("POST", "/images/tag", Handler.image_tag), ("GET", "/images/([^/]+)", Handler.image_get),
    ("DELETE", "/images/([^/]+)", Handler.image_delete),
    ("*", "/projects", Handler.projects), ("DELETE", "/projects/([^/]+)", Handler.project_delete),
    ("*", "/tokens", Handler.token_routes), ("DELETE", "/tokens/([^/]+)", Handler.token_delete),
    ("GET", "/([a-z.]+)", Handler.installation),
]

if __name__ == "__main__":  # for trying a client by hand
    with FakeHarena() as server:
        print(f"export HARENA_URL={server.url} HARENA_TOKEN={TOKEN}", flush=True)
        threading.Event().wait()
