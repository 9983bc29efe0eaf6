"""A sandbox's files over plain HTTP, for the tests of them: no SDK between, so that bytes and headers are seen as they are."""

import base64
import io
import json
import os
import socket
import tarfile
import threading
import time
from urllib.parse import quote_from_bytes, urlsplit

import httpx

LONG = os.environ.get("HARENA_LONG_TESTS") == "1"


def encoded(path):
    return quote_from_bytes(path if isinstance(path, bytes) else path.encode(), safe="")


class Files:
    def __init__(self, daemon, sandbox_id, timeout=120):
        self.base = f"{daemon.url}/v1/sandboxes/{sandbox_id}"
        self.http = httpx.Client(headers={"Authorization": f"Bearer {daemon.token}"}, timeout=timeout)

    def close(self):
        self.http.close()

    def url(self, verb="", **query):
        text = "&".join(f"{key}={encoded(value) if isinstance(value, (str, bytes)) else json.dumps(value)}"
                        for key, value in query.items() if value is not None)
        return f"{self.base}/files{verb}?{text}"

    def get(self, path, headers=None, **query):
        return self.http.get(self.url(path=path, **query), headers=headers)

    def head(self, path, headers=None, **query):
        return self.http.head(self.url(path=path, **query), headers=headers)

    def put(self, path, content, headers=None, **query):
        return self.http.put(self.url(path=path, **query), content=content, headers=headers)

    def ok(self, path, content, **query):
        answer = self.put(path, content, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def delete(self, path, **query):
        return self.http.delete(self.url(path=path, **query))

    def call(self, verb, **body):
        return self.http.post(f"{self.base}/files/{verb}", json=body)

    def stat(self, path, **query):
        return self.http.get(self.url("/stat", path=path, **query))

    def list(self, path, **query):
        return self.http.get(self.url("/list", path=path, **query))

    def names(self, path, **query):
        """Paths below `path` as bytes, over all pages."""
        found, cursor = [], ""
        while True:
            page = self.list(path, cursor=cursor, **query).json()
            found += [raw(entry, "path") for entry in page["entries"]]
            cursor = page["next_cursor"]
            if not cursor:
                return found

    def run(self, shell, user=None, timeout_ms=60_000):
        body = {"shell": shell, "wait": True, "timeout_ms": timeout_ms}
        if user:
            body["user"] = user
        answer = self.http.post(f"{self.base}/commands", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def sh(self, shell, **options):
        done = self.run(shell, **options)
        assert done["exit"]["code"] == 0, done
        return done.get("stdout", "")

    def archive(self, path, **query):
        answer = self.http.get(self.url("/archive", path=path, **query))
        assert answer.status_code == 200, answer.text
        return answer.content

    def extract(self, path, content, **query):
        return self.http.put(self.url("/archive", path=path, **query), content=content)


def raw(entry, key):
    return base64.b64decode(entry[key + "_b64"]) if key + "_b64" in entry else entry[key].encode()


def error_of(answer):
    return answer.json()["error"]


def tar_of(*members, format=tarfile.PAX_FORMAT):
    """Each member: (name, content or None, attributes of TarInfo)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format, errors="surrogateescape", encoding="utf-8") as archive:
        for name, content, attributes in members:
            info = tarfile.TarInfo(name)
            for key, value in attributes.items():
                setattr(info, key, value)
            if content is not None:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content or b""))
    return out.getvalue()


class Watch:
    """Reads a watch stream in a thread."""

    def __init__(self, files, path, **query):
        self.files, self.lines, self.changed = files, [], threading.Condition()
        self.ended = False
        self.url = files.url("/watch", path=path, **query)
        self.response = None
        self.client = httpx.Client(headers=dict(files.http.headers), timeout=60)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        self.wait(lambda lines: any(line.get("event") == "ready" for line in lines))

    def read(self):
        try:
            with self.client.stream("GET", self.url) as response:
                self.response = response
                assert response.status_code == 200, response.read()
                for line in response.iter_lines():
                    with self.changed:
                        self.lines.append(json.loads(line))
                        self.changed.notify_all()
        except httpx.TransportError:
            pass
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, condition, timeout=30):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self.lines), timeout), self.lines[-20:]
            return list(self.lines)

    def wait_for(self, event, path, timeout=30, **more):
        def there(lines):
            return any(line.get("event") == event and line.get("path") == path and all(line.get(k) == v for k, v in more.items())
                       for line in lines)
        return self.wait(there, timeout)

    def wait_end(self, timeout=30):
        with self.changed:
            assert self.changed.wait_for(lambda: self.ended, timeout), self.lines[-20:]
            return list(self.lines)


def begin_put(files, url, content, announced):
    """A connection that has sent `content` of an upload of `announced` bytes."""
    where = urlsplit(url)
    one = socket.create_connection((where.hostname, where.port))
    head = (f"PUT {where.path}?{where.query} HTTP/1.1\r\nHost: x\r\nAuthorization: {files.http.headers['Authorization']}\r\n"
            f"Content-Length: {announced}\r\n\r\n")
    one.sendall(head.encode() + content)
    return one


def wait_until(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def parents():
    """Parent of each process."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as stat:
                found[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    return found


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def shim_of(sandbox_id):
    """The process that listens on the sandbox's session socket."""
    with open("/proc/net/unix") as sockets:
        inodes = {f"socket:[{line.split()[6]}]" for line in sockets if sandbox_id in line}
    for pid in parents():
        if link(f"/proc/{pid}/exe").endswith("harena-shim"):
            if any(link(f"/proc/{pid}/fd/{fd}") in inodes for fd in os.listdir(f"/proc/{pid}/fd")):
                return pid
    raise AssertionError(f"no shim of {sandbox_id}")


def workers_of(shim, besides=()):
    """Its children that aren't in the sandbox; `besides` what was there before (the maker of commands)."""
    here = os.readlink("/proc/self/ns/pid")
    return [pid for pid, parent in parents().items() if parent == shim and link(f"/proc/{pid}/ns/pid") == here and pid not in besides]
