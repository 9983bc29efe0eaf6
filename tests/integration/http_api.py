"""The HTTP API with nothing between: one call is one request of http.client, a stream is its lines as they come.

    def test_x(box): result = box.run("echo hi"); assert result["stdout"] == "hi\n"
    def test_y(box): for event in box.output(box.start(shell="...")["id"]): ...
"""

import base64
import http.client
import json
import os
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

LONG = os.environ.get("HARENA_LONG_TESTS") == "1"


class ApiError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:2000]!r}")
        self.status = status
        self.error = json.loads(body)["error"]
        self.code, self.message, self.details = self.error["code"], self.error["message"], self.error["details"]


class Api:
    """`daemon` says where: read at each call, so that a restarted one is found. Thread-safe: a connection a thread."""

    def __init__(self, daemon, timeout=120):
        self.daemon, self.timeout, self.local = daemon, timeout, threading.local()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.daemon.about["api_port"], timeout=self.timeout)

    def headers(self, **more):
        return {"Authorization": "Bearer " + self.daemon.token, **more}

    def send(self, connection, method, path, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, "/v1" + path, body, headers or self.headers())
        return connection.getresponse()

    def raw(self, method, path, body=None):
        """(status, bytes), on a kept connection."""
        kept = getattr(self.local, "connection", None)
        # Another daemon's, or one that the server may have closed for its idleness: a call isn't risked on it.
        if kept is None or kept.daemon_pid != self.daemon.about["pid"] or time.monotonic() - kept.used > 30:
            kept = self.local.connection = self.connect()
            kept.daemon_pid = self.daemon.about["pid"]
        kept.used = time.monotonic()
        try:
            answer = self.send(kept, method, path, body)
            return answer.status, answer.read()
        except Exception:
            kept.close()
            self.local.connection = None
            raise

    def call(self, method, path, body=None):
        status, text = self.raw(method, path, body)
        if status >= 400:
            raise ApiError(status, text)
        return json.loads(text)

    def create(self, image, **params):
        body = {"image": image, "idle_ttl_s": 0, "params": {"cpu": 2, "memory": "512MiB", **params}}
        return Box(self, self.call("POST", "/backends/container/sandboxes", body)["id"])


class Box:
    """One sandbox."""

    def __init__(self, api, sandbox):
        self.api, self.id, self.path = api, sandbox, f"/sandboxes/{sandbox}"

    def start(self, shell=None, **body):
        if shell is not None:
            body["shell"] = shell
        return self.api.call("POST", self.path + "/commands", body)

    def run(self, shell=None, **body):
        return self.start(shell, wait=True, **body)

    def command(self, cid):
        return self.api.call("GET", f"{self.path}/commands/{cid}")

    def commands(self):
        return self.api.call("GET", self.path + "/commands")["commands"]

    def forget(self, cid):
        return self.api.call("DELETE", f"{self.path}/commands/{cid}")

    def signal(self, cid, **body):
        return self.api.call("POST", f"{self.path}/commands/{cid}/signal", body)

    def resize(self, cid, **body):
        return self.api.call("POST", f"{self.path}/commands/{cid}/resize", body)

    def stdin(self, cid, data, **query):
        return self.api.call("POST", f"{self.path}/commands/{cid}/stdin?" + urllib.parse.urlencode(query), data)["accepted"]

    def open_output(self, cid, frames=False, **query):
        """The answer of the stream, its head read: an http.client response (close() drops the connection)."""
        connection = self.api.connect()
        headers = self.api.headers(**({"Accept": "application/vnd.harena.frames"} if frames else {}))
        path = f"{self.path}/commands/{cid}/output?" + urllib.parse.urlencode(query)
        answer = self.api.send(connection, "GET", path, headers=headers)
        if answer.status >= 400:
            raise ApiError(answer.status, answer.read())
        answer.connection = connection
        return answer

    def start_attached(self, shell, frames=False, **body):
        """The answer of a start with `attach`, as open_output()."""
        connection = self.api.connect()
        headers = self.api.headers(**({"Accept": "application/vnd.harena.frames"} if frames else {}))
        answer = self.api.send(connection, "POST", self.path + "/commands", {"shell": shell, "attach": True, **body}, headers)
        if answer.status >= 400:
            raise ApiError(answer.status, answer.read())
        answer.connection = connection
        return answer

    def output(self, cid, **query):
        """The events of the stream, signs of life left out."""
        answer = self.open_output(cid, **query)
        try:
            for line in answer:
                event = json.loads(line)
                if event:
                    yield event
        finally:
            answer.connection.close()

    def collect(self, cid, **query):
        """All of it."""
        taken = Taken(query.get("stdout_offset", 0), query.get("stderr_offset", 0))
        for event in self.output(cid, **query):
            taken.add(event)
        return taken

    def stop(self):
        self.api.call("POST", self.path + "/stop", {})


class Taken:
    """What a reader got: each stream's bytes, which must follow each other without a gap or an overlap."""

    def __init__(self, stdout_offset=0, stderr_offset=0):
        self.bytes = {"stdout": bytearray(), "stderr": bytearray()}
        self.next = {"stdout": stdout_offset, "stderr": stderr_offset}
        self.exit, self.error, self.truncated = None, None, []

    def add(self, event):
        assert self.exit is None, f"after the exit came {event}"
        if "stream" in event:
            data = event_bytes(event)
            assert event["offset"] == self.next[event["stream"]], (event["offset"], self.next)
            self.next[event["stream"]] += len(data)
            self.bytes[event["stream"]] += data
        elif "truncated" in event:
            self.truncated.append(event["truncated"])
        elif "exit" in event:
            self.exit = event["exit"]
        else:
            self.error = event["error"]

    @property
    def stdout(self):
        return bytes(self.bytes["stdout"])


def event_bytes(event):
    return base64.b64decode(event["data_b64"]) if "data_b64" in event else event["data"].encode()


def result_bytes(result, stream="stdout"):
    """A stream of a whole result."""
    return base64.b64decode(result[stream + "_b64"]) if stream + "_b64" in result else result[stream].encode()


def at_once(count, function, workers=64):
    """[function(0), ..., function(count - 1)], so many at a time."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, range(count)))


def resident_bytes(pid):
    """Without the pages of files."""
    return int(status_field(pid, "RssAnon")) * 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def host_processes(sandbox):
    """{pid: name} of all processes in the sandbox's cgroups, as the host sees them; the shim is in the platform's."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(sandbox in line and "/platform/" not in line for line in open(f"/proc/{pid}/cgroup")):
                found[int(pid)] = open(f"/proc/{pid}/comm").read().strip()
        except OSError:
            continue  # it has ended meanwhile
    return found


def status_field(pid, name):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(name + ":"):
            return line.split()[1]
    raise AssertionError(f"/proc/{pid}/status has no {name}")


def shim_of(sandbox):
    """The pid of the sandbox's shim: the parent of its init."""
    init = [pid for pid, name in host_processes(sandbox).items() if name == "init"]
    assert len(init) == 1, host_processes(sandbox)
    return int(status_field(init[0], "PPid"))
