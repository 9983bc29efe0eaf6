"""A client of the Connect protocol in binary protobuf, its messages generated from plugins/e2b/envd/proto by protoc."""

import gzip
import http.client
import importlib
import shutil
import struct
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from python_image import SOURCE

PROTOS = "plugins/e2b/envd/proto"


def messages(folder):
    """The modules (process_pb2, filesystem_pb2)."""
    pytest.importorskip("google.protobuf", reason="Python's protobuf isn't installed (apt-get install python3-protobuf)")
    if shutil.which("protoc") is None:
        pytest.skip("protoc isn't installed (apt-get install protobuf-compiler)")
    subprocess.run(["protoc", f"--proto_path={SOURCE / PROTOS}", f"--python_out={folder}", "process.proto", "filesystem.proto"], check=True)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("process_pb2"), importlib.import_module("filesystem_pb2")
    finally:
        sys.path.remove(str(folder))


def envelope(payload, flags=0):
    return struct.pack(">BI", flags, len(payload)) + payload


def envelopes(body):
    found = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        found.append((flags, body[5:5 + length]))
        body = body[5 + length:]
    return found


class Envd:
    """Requests to the envd of one sandbox: (status, headers, body)."""

    def __init__(self, url, sandbox, token):
        self.at = urlsplit(url)
        self.headers = {"E2b-Sandbox-Id": sandbox, "E2b-Sandbox-Port": "49983", "X-Access-Token": token}

    def __call__(self, method, path, body=None, headers=None, token=True):
        sent = {**self.headers, **(headers or {})}
        if not token:
            del sent["X-Access-Token"]
        connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=60)
        try:
            connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def unary(self, procedure, request, response, headers=None):
        status, found, body = self("POST", "/" + procedure, request.SerializeToString(), {"Content-Type": "application/proto", **(headers or {})})
        assert status == 200, body
        assert found["Content-Type"] == "application/proto"
        if found.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        made = response()
        made.ParseFromString(body)
        return made

    def stream(self, procedure, requests, response, headers=None):
        """(messages, the last envelope)."""
        body = b"".join(envelope(one.SerializeToString()) for one in requests)
        status, found, answer = self("POST", "/" + procedure, body, {"Content-Type": "application/connect+proto", **(headers or {})})
        assert status == 200, answer
        assert found["Content-Type"] == "application/connect+proto"
        *events, (flags, last) = envelopes(answer)
        assert flags == 2
        made = []
        for flags, payload in events:
            made.append(response())
            made[-1].ParseFromString(gzip.decompress(payload) if flags == 1 else payload)
        return made, last
