"""Images, projects, tokens, and what the installation tells of itself."""

from __future__ import annotations

import hashlib
import uuid

from .contract import ApiError, check_keys
from .exchange import Exchange


class Installation(Exchange):

    def images(self, body):
        found = [one for one in self.fake.images.values() if one["reference"].startswith(self.query.get("prefix", ""))]
        self.page("images", sorted(found, key=lambda one: one["reference"]), lambda one: one["reference"])

    def image_get(self, body, reference):
        if reference not in self.fake.images:
            raise ApiError(404, "not_found", f"there is no image {reference!r}")
        self.reply(200, {"reference": reference, "layers": []})

    def image_delete(self, body, reference):
        if self.fake.images.pop(reference, None) is None:
            raise ApiError(404, "not_found", f"there is no image {reference!r}")
        self.reply(200, {})

    def image_tag(self, body):
        check_keys(body, {"reference", "target"})
        if body["reference"] not in self.fake.images:
            raise ApiError(404, "not_found", f"there is no image {body['reference']!r}")
        self.fake.images[body["target"]] = dict(self.fake.images[body["reference"]], reference=body["target"])
        self.reply(200, {})

    def image_import(self, body):
        if self.headers.get("Content-Type") == "application/x-tar":
            reference, kind, size = self.query["reference"], self.query["kind"], len(body)
        else:
            check_keys(body, {"reference", "kind", "source"})
            check_keys(body["source"], {"docker", "folder", "archive"})
            reference, kind, size = body["reference"], body["kind"], 4096
        self.begin_stream()
        self.line({"progress": {"step": "copying layer 1 of 1", "done": size, "total": size}})
        if reference.endswith(":broken"):
            self.line({"error": {"code": "data_loss", "message": "the archive is cut off", "cause": "none", "retry": "never",
                                 "details": {}}})
        else:
            image = {"reference": reference, "digest": "sha256:" + hashlib.sha256(reference.encode()).hexdigest(),
                     "kind": kind, "size": size, "created_ms": 1}
            self.fake.images[reference] = image
            self.line({"image": image})
        self.end_stream()

    def installation(self, body, name):
        answers = {
            "version": {"version": "0.1.0", "abi": "0.1", "session_protocol": "1"},
            "plugins": {"plugins": [{"id": "org.harena.container", "version": "0.1.0", "contracts": ["harena.backend/1"],
                                     "path": "/p/container.so", "state": "loaded"}]},
            "nodes": {"nodes": [{"edge": "local", "state": "healthy", "load": {}}]},
            "doctor": {"findings": getattr(self.fake, "findings", [
                {"id": "kernel", "level": "ok", "what": "Linux 6.1", "why": "", "fix": ""}])},
            "whoami": {"principal": "admin", "project": "root", "permissions": ["admin"]},
            "openapi.json": {"openapi": "3.1.0"},
        }
        if name not in answers:
            raise ApiError(404, "not_found", f"there is no /{name}")
        self.reply(200, answers[name])

    def projects(self, body):
        if self.command == "POST":
            check_keys(body, {"path"})
            self.fake.projects.append(body["path"])
            return self.reply(201, {"path": body["path"]})
        self.reply(200, {"projects": [{"path": one} for one in self.fake.projects]})

    def project_delete(self, body, path):
        if path not in self.fake.projects:
            raise ApiError(404, "not_found", f"there is no project {path!r}")
        self.fake.projects.remove(path)
        self.reply(200, {})

    def token_routes(self, body):
        if self.command == "POST":
            check_keys(body, {"name", "project", "permissions", "expires_s"})
            if not body.get("permissions"):
                raise ApiError(400, "invalid_argument", "a token needs at least one permission")
            made = {"id": uuid.uuid4().hex[:8], "name": body["name"], "project": body.get("project", "root"),
                    "permissions": body.get("permissions", [])}
            self.fake.tokens[made["id"]] = made
            return self.reply(201, dict(made, secret="s3cret"))
        self.reply(200, {"tokens": list(self.fake.tokens.values())})

    def token_delete(self, body, token_id):
        if self.fake.tokens.pop(token_id, None) is None:
            raise ApiError(404, "not_found", f"there is no token {token_id!r}")
        self.reply(200, {})
