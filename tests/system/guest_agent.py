"""QEMU's guest agent over its socket: commands and files of a guest, with a time limit on everything."""

import base64
import json
import socket
import time


class AgentError(Exception):
    pass


class AgentTimeout(AgentError):
    pass


class GuestAgent:
    """One channel; not thread-safe. Every call raises AgentTimeout rather than wait past its limit."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.pending = b""
        self.serial = 0

    def close(self):
        self.socket.close()

    def read_line(self, deadline):
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0:
                raise AgentTimeout("the guest agent doesn't answer")
            self.socket.settimeout(left)
            try:
                got = self.socket.recv(1 << 20)
            except socket.timeout:
                continue
            if not got:
                raise AgentError("QEMU ended")
            self.pending += got
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def send(self, command, deadline, **arguments):
        message = {"execute": command}
        if arguments:
            message["arguments"] = arguments
        self.socket.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except socket.timeout:
            raise AgentTimeout("the guest takes no commands") from None

    def synchronise(self, deadline):
        """Waits until the agent answers; what it still had to say from before is thrown away."""
        while True:
            self.serial += 1
            # 0xFF ends whatever half a message lies in the agent's parser, and marks where its answer begins.
            self.socket.settimeout(5)
            try:
                self.socket.sendall(b"\xff")
                self.send("guest-sync-delimited", deadline, id=self.serial)
                until = min(deadline, time.monotonic() + 2)
                while True:
                    line = self.read_line(until)
                    try:
                        if json.loads(line.split(b"\xff")[-1]).get("return") == self.serial:
                            return
                    except ValueError:
                        pass
            except (AgentTimeout, socket.timeout):
                if time.monotonic() >= deadline:
                    raise AgentTimeout("the guest agent didn't come up") from None

    def call(self, command, limit_s=180, **arguments):
        deadline = time.monotonic() + limit_s
        self.send(command, deadline, **arguments)
        while True:
            line = self.read_line(deadline).split(b"\xff")[-1]
            if not line.strip():
                continue
            answer = json.loads(line)
            if "error" in answer:
                raise AgentError(f"{command}: {answer['error'].get('desc', answer['error'])}")
            if isinstance(answer.get("return"), int) and command not in ("guest-file-open",):
                continue  # an answer to a synchronisation that came late
            return answer["return"]

    def execute(self, argv):
        """Starts it and gives its pid."""
        return self.call("guest-exec", path=argv[0], arg=argv[1:], **{"capture-output": False})["pid"]

    def exit_of(self, pid):
        """(ended, exit status, signal) of what execute() started; its end is told once."""
        status = self.call("guest-exec-status", pid=pid)
        return status["exited"], status.get("exitcode"), status.get("signal")

    def read_file(self, path, most=64 << 20):
        handle = self.call("guest-file-open", path=path, mode="rb")
        content = b""
        try:
            while len(content) < most:
                part = self.call("guest-file-read", handle=handle, count=1 << 20)
                content += base64.b64decode(part["buf-b64"])
                if part["eof"] or not part["count"]:
                    break
        finally:
            self.call("guest-file-close", handle=handle)
        return content

    def write_file(self, path, content):
        handle = self.call("guest-file-open", path=path, mode="wb")
        try:
            for start in range(0, len(content), 1 << 20):
                self.call("guest-file-write", handle=handle, **{"buf-b64": base64.b64encode(content[start : start + (1 << 20)]).decode()})
        finally:
            self.call("guest-file-close", handle=handle)
