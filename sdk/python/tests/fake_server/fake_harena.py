"""The state behind the routes."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import time
import uuid

from .command import Command
from .contract import ApiError, COMMAND_KEYS, CREATE_KEYS, Fault, SCHEMA, check_keys, fits
from .exchange import Server
from .routes import Handler


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
        self.attributes = {}
        self.members = {}
        self.evil_members = []
        self.watches = []
        self.watchers = threading.Event()
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
