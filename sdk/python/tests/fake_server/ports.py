"""Ports of a sandbox: ``fake.ports`` maps a number to one of this machine."""

from __future__ import annotations

import socket
import threading

from .contract import ApiError
from .exchange import Exchange


class Ports(Exchange):

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
