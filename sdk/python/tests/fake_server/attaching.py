"""A terminal: the WebSocket of a command."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading

from .contract import ApiError, check_keys
from .exchange import Exchange


class Attaching(Exchange):

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
