"""Folders as tar streams, extended attributes (kept beside the files), and scripted watches."""

from __future__ import annotations

import base64
import io
import os
import tarfile
import time

from .contract import ApiError, Drop
from .exchange import Exchange


class Archives(Exchange):
    def archive_read(self, body, sandbox_id):
        folder = os.fsdecode(self.query_path(sandbox_id))
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(os.listdir(folder)):
                archive.add(os.path.join(folder, name), name)
            for extra in self.fake.evil_members:
                archive.addfile(extra, io.BytesIO(b"x" * extra.size))
        self.reply(200, made.getvalue(), [("Content-Type", "application/x-tar")])

    def archive_write(self, body, sandbox_id):
        if self.headers.get("Content-Type") != "application/x-tar":
            raise ApiError(400, "invalid_argument", "the body must be application/x-tar")
        folder = os.fsdecode(self.query_path(sandbox_id))
        with tarfile.open(fileobj=io.BytesIO(body), mode="r:") as archive:
            members = archive.getmembers()
            archive.extractall(folder, filter="fully_trusted") if hasattr(tarfile, "data_filter") else archive.extractall(folder)
        self.fake.members = {one.name: one for one in members}
        self.reply(200, {"entries": len(members), "bytes": len(body)})

    def xattrs(self, body, sandbox_id):
        path = self.query_path(sandbox_id)
        kept = self.fake.attributes.setdefault(path, {})
        if self.command == "GET":
            return self.reply(200, {"xattrs": [{"name": name, "value_b64": base64.b64encode(kept[name]).decode()} for name in sorted(kept)]})
        name = self.query["name"]
        if self.command == "PUT":
            kept[name] = body
        elif kept.pop(name, None) is None:
            raise ApiError(404, "not_found", f"there is no attribute {name!r}", "agent")
        self.reply(200, {})

    def watch(self, body, sandbox_id):
        """``fake.watches``: the lines of each watch in turn; it stays open for ever after the last line of the last one."""
        self.query_path(sandbox_id)
        self.begin_stream()
        lines = self.fake.watches.pop(0)
        for line in [{"event": "ready"}, {}, *lines]:
            self.line(line)
        while not self.fake.watches:
            self.line({})  # fails when the client has gone
            self.fake.watchers.set()
            time.sleep(0.02)
        raise Drop
