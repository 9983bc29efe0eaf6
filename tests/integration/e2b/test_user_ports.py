"""`PORT-ID.DOMAIN`: services inside a sandbox, by host name and by headers."""

import http.client
import json
import time

import pytest

from connect_client import Envd, envelope

SERVER = r"""
import base64, hashlib, http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        if self.headers.get("Upgrade") == "websocket":
            key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_response(101)
            self.send_header("Upgrade", "websocket"); self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
            self.end_headers()
            while True:
                head = self.rfile.read(2)
                if len(head) < 2: return
                size = head[1] & 127
                mask = self.rfile.read(4)
                data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
                self.wfile.write(bytes([0x81, len(data)]) + data); self.wfile.flush()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        import json
        out = json.dumps({"method": self.command, "path": self.path, "host": self.headers.get("Host"), "body": body.decode(),
                          "headers": {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(207); self.send_header("Content-Length", str(len(out))); self.end_headers(); self.wfile.write(out)
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), H).serve_forever()
"""


class Service:
    def __init__(self, raw, **options):
        status, _, self.made = raw("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 120, **options})
        assert status == 201, self.made
        self.envd = Envd(raw.url, self.made["sandboxID"], self.made["envdAccessToken"])
        self.host = f"8000-{self.made['sandboxID']}.{self.made['domain']}"
        assert self.envd("POST", "/files?path=/tmp/server.py", SERVER.encode(), {"Content-Type": "application/octet-stream"})[0] == 200
        body = envelope(json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", "python3 /tmp/server.py >/tmp/log 2>&1 &"]}, "stdin": False}).encode())
        assert self.envd("POST", "/process.Process/Start", body, {"Content-Type": "application/connect+json"})[0] == 200

    def __call__(self, method="GET", path="/", body=None, headers=None, host=None):
        connection = http.client.HTTPConnection(self.envd.at.hostname, self.envd.at.port, timeout=30)
        try:
            connection.request(method, path, body, {"Host": host or self.host, **(headers or {})})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else text
        finally:
            connection.close()

    def ready(self):
        deadline = time.monotonic() + 20
        while self(headers={"E2b-Traffic-Access-Token": self.made.get("trafficAccessToken") or ""})[0] == 502:
            assert time.monotonic() < deadline
        return self


@pytest.fixture
def service(raw):
    return Service(raw).ready()


def test_by_host_name(service):
    status, seen = service("POST", "/a%2Fb/c?x=1&y=%20", b"body", {"X-Own": "1"})
    assert status == 207
    assert (seen["method"], seen["path"], seen["body"], seen["headers"]["x-own"]) == ("POST", "/a%2Fb/c?x=1&y=%20", "body", "1")
    assert seen["host"] == service.host


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_methods(service, method):
    assert service(method, "/x")[1]["method"] == method


def test_by_headers(service):
    status, seen = service(path="/x", host="127.0.0.1", headers={"E2b-Sandbox-Id": service.made["sandboxID"], "E2b-Sandbox-Port": "8000", "X-Access-Token": "secret"})
    assert status == 207
    assert not [name for name in seen["headers"] if name.startswith("e2b-") or name in ("x-access-token", "harena-authorization")]


def test_a_host_name_wins_over_headers(service):
    assert service(headers={"E2b-Sandbox-Id": "0" * 20, "E2b-Sandbox-Port": "1"})[0] == 207


def test_the_services_own_authorization(service):
    assert service(headers={"Authorization": "Bearer mine"})[1]["headers"]["authorization"] == "Bearer mine"


def test_a_closed_port(service):
    status, body = service(host=service.host.replace("8000-", "8001-"))
    assert status == 502
    assert body == {"sandboxId": service.made["sandboxID"], "message": "The sandbox is running but port is not open", "port": 8001, "code": 502}


def test_a_killed_sandbox(raw, service):
    raw("DELETE", f"/sandboxes/{service.made['sandboxID']}")
    status, body = service()
    assert (status, body) == (502, {"sandboxId": service.made["sandboxID"], "message": "The sandbox was not found", "code": 502})


def test_traffic_token(raw):
    service = Service(raw, network={"allowPublicTraffic": False}).ready()
    token = service.made["trafficAccessToken"]
    assert service()[0] == 403 and service()[1]["code"] == 403
    assert service(headers={"E2b-Traffic-Access-Token": "x" * len(token)})[0] == 403
    status, seen = service(headers={"E2b-Traffic-Access-Token": token})
    assert status == 207 and "e2b-traffic-access-token" not in seen["headers"]


def test_masked_host(raw):
    service = Service(raw, network={"maskRequestHost": "localhost:${PORT}"}).ready()
    assert service()[1]["host"] == "localhost:8000"


def test_websocket(service):
    connection = http.client.HTTPConnection(service.envd.at.hostname, service.envd.at.port, timeout=20)
    connection.connect()
    connection.sock.sendall(f"GET /ws HTTP/1.1\r\nHost: {service.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
    reader = connection.sock.makefile("rb")
    assert b" 101 " in reader.readline()
    while reader.readline() != b"\r\n":
        pass
    for text in (b"hello", b"again"):
        connection.sock.sendall(bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text)
        assert reader.read(2 + len(text)) == bytes([0x81, len(text)]) + text
    connection.close()


def test_auto_resume(raw):
    service = Service(raw, autoPause=True, autoResume={"enabled": True}).ready()
    assert raw("POST", f"/sandboxes/{service.made['sandboxID']}/pause", {})[0] == 204
    assert service()[0] == 207
    assert raw("GET", f"/sandboxes/{service.made['sandboxID']}")[2]["state"] == "running"


LS = {"process": {"cmd": "/bin/ls", "args": ["/tmp/server.py"]}, "stdin": False}
ANY_TRAFFIC = {
    "a command": ("POST", "/process.Process/Start", envelope(json.dumps(LS).encode()), {"Content-Type": "application/connect+json"}),
    "a call": ("POST", "/filesystem.Filesystem/Stat", b'{"path": "/tmp/server.py"}', {"Content-Type": "application/json"}),
    "a file": ("GET", "/files?path=/tmp/server.py", None, {}),
}


@pytest.mark.parametrize("method, path, body, headers", ANY_TRAFFIC.values(), ids=ANY_TRAFFIC)
def test_any_traffic_resumes(raw, method, path, body, headers):
    service = Service(raw, autoPause=True, autoResume={"enabled": True})
    assert raw("POST", f"/sandboxes/{service.made['sandboxID']}/pause", {})[0] == 204
    status, _, answer = service.envd(method, path, body, headers)
    assert status == 200 and b"error" not in answer
    assert raw("GET", f"/sandboxes/{service.made['sandboxID']}")[2]["state"] == "running"


def test_a_paused_one_without_it(raw, service):
    raw("POST", f"/sandboxes/{service.made['sandboxID']}/pause", {})
    assert service()[0] == 502
    assert raw("GET", f"/sandboxes/{service.made['sandboxID']}")[2]["state"] == "paused"
