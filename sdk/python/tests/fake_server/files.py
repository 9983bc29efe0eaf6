"""Files of a sandbox: a folder of this machine."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import stat
import uuid

from .contract import ApiError, check_keys, put
from .exchange import Exchange


class Files(Exchange):

    def inside(self, sandbox_id, raw):
        self.sandbox(sandbox_id)
        if not raw.startswith(b"/"):
            raise ApiError(400, "invalid_argument", f"path {raw!r} isn't absolute")
        return os.fsencode(self.fake.path_of(sandbox_id)) + raw

    def query_path(self, sandbox_id):
        if "path" not in self.raw_query:
            raise ApiError(400, "invalid_argument", "path is missing")
        return self.inside(sandbox_id, self.raw_query["path"])

    def body_path(self, sandbox_id, body, key):
        raw = base64.b64decode(body[key + "_b64"]) if key + "_b64" in body else body[key].encode()
        return self.inside(sandbox_id, raw)

    def stat_of(self, sandbox_id, path):
        info = os.lstat(path)
        kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo"}
        out = {"type": kinds.get(stat.S_IFMT(info.st_mode), "char"), "size": info.st_size,
               "mode": f"{stat.S_IMODE(info.st_mode):04o}", "uid": info.st_uid, "gid": info.st_gid,
               "modified_ms": info.st_mtime_ns // 1_000_000}
        put(out, "name", os.path.basename(path))
        put(out, "path", path[len(os.fsencode(self.fake.path_of(sandbox_id))):])
        if out["type"] == "symlink":
            put(out, "target", os.readlink(path))
        return out

    def guarded(self, function):
        try:
            return function()
        except FileNotFoundError as error:
            raise ApiError(404, "not_found", f"{error.filename!r} isn't there", "agent", resource="file") from None
        except FileExistsError as error:
            raise ApiError(409, "already_exists", f"{error.filename!r} is there already", "agent") from None
        except OSError as error:
            raise ApiError(409, "failed_precondition", str(error), "agent") from None

    def file_read(self, body, sandbox_id):
        path = self.query_path(sandbox_id)

        def read():
            with open(path, "rb") as file:
                return file.read()
        data = self.guarded(read)
        etag = ("ETag", '"' + hashlib.sha256(data).hexdigest()[:16] + '"')
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not wanted:
            return self.reply(200, data, [etag])
        start = int(wanted.group(1))
        if start >= len(data):
            raise ApiError(416, "out_of_range", f"the file has {len(data)} bytes, not {start}")
        end = min(int(wanted.group(2) or len(data)), len(data) - 1)
        self.reply(206, data[start:end + 1], [etag, ("Content-Range", f"bytes {start}-{end}/{len(data)}")])

    def file_write(self, body, sandbox_id):
        path = self.query_path(sandbox_id)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()

        def write():
            if self.query.get("parents") == "true":
                os.makedirs(os.path.dirname(path), exist_ok=True)
            part = os.path.join(os.path.dirname(path), b"." + uuid.uuid4().hex.encode())
            with open(part, "wb") as file:
                file.write(data)
            os.chmod(part, int(self.query.get("mode", "0644"), 8))
            os.replace(part, path)
        self.guarded(write)
        self.reply(200, self.stat_of(sandbox_id, path))

    def file_delete(self, body, sandbox_id):
        path = self.query_path(sandbox_id)

        def remove():
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path) if self.query.get("recursive") == "true" else os.rmdir(path)
            else:
                os.unlink(path)
        self.guarded(remove)
        self.reply(200, {})

    def file_stat(self, body, sandbox_id):
        path = self.query_path(sandbox_id)
        self.reply(200, self.guarded(lambda: self.stat_of(sandbox_id, path)))

    def file_list(self, body, sandbox_id):
        path = self.query_path(sandbox_id).rstrip(b"/")
        found = []

        def walk(folder):
            for name in sorted(os.listdir(folder)):
                full = folder + b"/" + name
                found.append(self.stat_of(sandbox_id, full))
                if self.query.get("recursive") == "true" and os.path.isdir(full) and not os.path.islink(full):
                    walk(full)
        self.guarded(lambda: walk(path))
        found += getattr(self.fake, "evil_entries", [])
        self.page("entries", found, lambda one: one.get("path") or one["path_b64"])

    def file_verb(self, body, sandbox_id, verb):
        known = {"mkdir": {"path", "mode", "parents"}, "move": {"from", "to"}, "chmod": {"path", "mode"},
                 "chown": {"path", "uid", "gid"}, "symlink": {"path", "target"}}.get(verb)
        if known is None:
            raise ApiError(404, "not_found", f"there is no files/{verb}")
        check_keys(body, known | {key + "_b64" for key in known & {"path", "from", "to", "target"}})
        self.guarded(lambda: getattr(self, "verb_" + verb)(sandbox_id, body))
        self.reply(200, {})

    def verb_mkdir(self, sandbox_id, body):
        path = self.body_path(sandbox_id, body, "path")
        if not (body.get("parents") and os.path.isdir(path)):
            (os.makedirs if body.get("parents") else os.mkdir)(path)
        if "mode" in body:
            os.chmod(path, int(body["mode"], 8))

    def verb_move(self, sandbox_id, body):
        os.rename(self.body_path(sandbox_id, body, "from"), self.body_path(sandbox_id, body, "to"))

    def verb_chmod(self, sandbox_id, body):
        os.chmod(self.body_path(sandbox_id, body, "path"), int(body["mode"], 8))

    def verb_chown(self, sandbox_id, body):
        os.chown(self.body_path(sandbox_id, body, "path"), body["uid"], body["gid"])

    def verb_symlink(self, sandbox_id, body):
        target = base64.b64decode(body["target_b64"]) if "target_b64" in body else body["target"].encode()
        os.symlink(target, self.body_path(sandbox_id, body, "path"))
