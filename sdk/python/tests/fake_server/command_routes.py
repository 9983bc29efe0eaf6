"""Commands: start, output, stdin, signals."""

from __future__ import annotations

from .contract import check_keys, put
from .exchange import Exchange


class CommandRoutes(Exchange):

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
