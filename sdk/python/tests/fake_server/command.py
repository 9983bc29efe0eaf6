"""A command, run for real on this machine."""

from __future__ import annotations

import base64
import fcntl
import os
import signal
import struct
import subprocess
import termios
import threading
import time
import uuid

from .contract import ApiError, put


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
