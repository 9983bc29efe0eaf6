"""Sandboxes: create, batch, list, verbs."""

from __future__ import annotations

import base64

from .contract import ApiError, SCHEMA, check_keys
from .exchange import Exchange


class Sandboxes(Exchange):

    def backends(self, body):
        self.reply(200, {"backends": [{
            "name": "container", "plugin": "org.example.container", "version": "0.1.0", "usable": True, "why_not": "",
            "verbs": ["create", "stop", "pause", "resume"], "kept": {}, "params_schema": SCHEMA, "facts": {}}]})

    def create(self, body, backend):
        status, sandbox = self.fake.create(backend, body or {}, self.headers.get("Idempotency-Key"))
        self.reply(status, sandbox)

    def batch(self, body, backend):
        check_keys(body, {"requests", "count", "request"})
        requests = body.get("requests")
        if requests is None:
            requests = [dict(body["request"]) for _ in range(body["count"])]
            for index, one in enumerate(requests):
                if "idempotency_key" in one:
                    one["idempotency_key"] += f"/{index}"
        self.begin_stream()
        for index, one in reversed(list(enumerate(requests))):
            try:
                self.line({"index": index, "sandbox": self.fake.create(backend, one, None)[1]})
            except ApiError as error:
                self.line({"index": index, "error": error.body})
        self.end_stream()

    def list(self, body):
        found = sorted(self.fake.sandboxes.values(), key=lambda one: one["id"])
        for name in ("project", "task", "backend"):
            if self.query.get(name):
                found = [one for one in found if one[name] == self.query[name]]
        if self.query.get("state"):
            found = [one for one in found if one["state"] in self.query["state"].split(",")]
        if self.query.get("label"):
            key, _, value = self.query["label"].partition("=")
            found = [one for one in found if one["labels"].get(key) == value]
        self.page("sandboxes", found, lambda one: one["id"])

    def page(self, name, found, key_of, limit=None):
        limit = min(int(self.query.get("limit", 100)), getattr(self.fake, "page_limit", 1000))
        cursor = base64.b64decode(self.query["cursor"]).decode() if self.query.get("cursor") else None
        if cursor is not None:
            keys = [key_of(one) for one in found]
            found = found[keys.index(cursor) + 1:]
        more = len(found) > limit
        found = found[:limit]
        self.reply(200, {name: found, "next_cursor": base64.b64encode(key_of(found[-1]).encode()).decode() if more else None})

    def get(self, body, sandbox_id):
        self.reply(200, self.sandbox(sandbox_id, running=False))

    def patch(self, body, sandbox_id):
        check_keys(body, {"labels", "idle_ttl_s", "lifetime_s", "params"})
        sandbox = self.sandbox(sandbox_id, running=False)
        change = body.pop("params", {})
        sandbox["params"] = {k: v for k, v in {**sandbox["params"], **change}.items() if v is not None}
        sandbox.update(body)
        self.reply(200, sandbox)

    def pause(self, body, sandbox_id):
        self.change(sandbox_id, "paused")

    def resume(self, body, sandbox_id):
        self.change(sandbox_id, "running")

    def change(self, sandbox_id, state):
        sandbox = self.sandbox(sandbox_id, running=False)
        if sandbox["state"] == "stopped":
            raise ApiError(409, "failed_precondition", f"sandbox {sandbox_id} is stopped")
        sandbox["state"] = state
        self.reply(200, sandbox)

    def stop(self, body, sandbox_id):
        check_keys(body or {}, {"grace_ms"})
        sandbox = self.sandbox(sandbox_id, running=False)
        sandbox["state"] = "stopped"
        sandbox["ending"] = {"cause": "none", "detail": "asked", "message": "stopped by its user"}
        self.reply(200, sandbox)

    def fork(self, body, sandbox_id):
        raise ApiError(501, "unimplemented", "the backend 'container' hasn't got the verb 'fork'")

    def usage(self, body, sandbox_id):
        self.sandbox(sandbox_id)
        self.reply(200, {"cpu_ns": 1, "memory_bytes": 2, "memory_peak_bytes": 3, "pids": 1})
