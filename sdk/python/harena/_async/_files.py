"""Files in a sandbox."""

from __future__ import annotations

import os
import stat as stat_bits
from typing import Any, AsyncIterator, Dict, List, Optional, Union

from .. import errors
from .._localfs import LocalEntry, PendingFile, Tree, relative_parts, single_file, walk
from .._wire import PathLike, path_bytes, put_bytes, query, segment
from ..types import FileStat, Progress, ProgressCallback
from . import _runtime
from ._transport import AsyncTransport

_PIECE_BYTES = 256 * 1024
_PARALLEL = 8
_LIST_PAGE = 1000


class AsyncFiles:
    """Paths are absolute, inside the sandbox, and any bytes: ``str`` (with ``os.fsdecode``'s surrogates), ``bytes`` or
    ``os.PathLike``."""

    def __init__(self, transport: AsyncTransport, sandbox_id: str, default_user: Optional[str] = None) -> None:
        self._transport = transport
        self._path = f"/sandboxes/{segment(sandbox_id)}/files"
        self.default_user = default_user

    async def read(self, path: PathLike, *, user: Optional[str] = None) -> bytes:
        return b"".join([piece async for piece in self.read_stream(path, user=user)])

    async def read_text(self, path: PathLike, *, encoding: str = "utf-8", user: Optional[str] = None) -> str:
        return (await self.read(path, user=user)).decode(encoding)

    async def read_stream(
        self, path: PathLike, *, start: int = 0, user: Optional[str] = None
    ) -> AsyncIterator[bytes]:
        """Piece by piece, from byte ``start``; a lost connection is taken up where it broke, unless the file was
        changed meanwhile (``DataLoss``)."""
        where = self._path + query([("path", path_bytes(path)), ("user", user or self.default_user)])
        position, tag, attempts = start, None, self._transport.stream_attempts()
        while True:
            headers = {"Range": f"bytes={position}-"} if position else {}
            try:
                async with self._transport.stream("GET", where, headers=headers, accept_status=206, repeat=False) as response:
                    tag = _same_file(response, position, tag)
                    async for piece in response.aiter_bytes():
                        attempts = self._transport.stream_attempts()
                        position += len(piece)
                        yield piece
                return
            except errors.OutOfRange:
                if position == start:
                    raise
                return  # the connection broke exactly at the end
            except errors.HarenaError as error:
                await _runtime.sleep(attempts.next_delay(error))

    async def write(
        self, path: PathLike, data: Union[bytes, str], *, mode: Optional[int] = None, user: Optional[str] = None,
        parents: bool = False,
    ) -> FileStat:
        """Replaces the file atomically; it is visible when this returns."""
        content = data.encode() if isinstance(data, str) else bytes(data)
        return await self._put(path, lambda: content, mode, user, parents)

    async def stat(self, path: PathLike) -> FileStat:
        return FileStat.from_json(await self._transport.json("GET", f"{self._path}/stat" + query([("path", path_bytes(path))])))

    async def exists(self, path: PathLike) -> bool:
        try:
            await self.stat(path)
        except errors.NotFound as error:
            if error.details.get("resource") == "sandbox":
                raise
            return False
        return True

    async def list(self, path: PathLike, *, recursive: bool = False) -> AsyncIterator[FileStat]:
        """What is in a folder, page by page, however large it is."""
        cursor: Optional[str] = None
        while True:
            where = query([("path", path_bytes(path)), ("recursive", recursive or None), ("limit", _LIST_PAGE), ("cursor", cursor)])
            page = await self._transport.json("GET", f"{self._path}/list{where}")
            for entry in page["entries"]:
                yield FileStat.from_json(entry)
            cursor = page.get("next_cursor")
            if not cursor:
                return

    async def remove(self, path: PathLike, *, recursive: bool = False) -> None:
        await self._transport.json("DELETE", self._path + query([("path", path_bytes(path)), ("recursive", recursive or None)]))

    async def mkdir(self, path: PathLike, *, mode: Optional[int] = None, parents: bool = False) -> None:
        body: Dict[str, Any] = {"parents": parents}
        if mode is not None:
            body["mode"] = f"{mode:04o}"
        await self._post("mkdir", body, idempotent=parents, path=path_bytes(path))

    async def move(self, source: PathLike, target: PathLike) -> None:
        await self._post("move", {}, idempotent=False, **{"from": path_bytes(source), "to": path_bytes(target)})

    async def chmod(self, path: PathLike, mode: int) -> None:
        await self._post("chmod", {"mode": f"{mode:04o}"}, path=path_bytes(path))

    async def chown(self, path: PathLike, uid: int, gid: int) -> None:
        await self._post("chown", {"uid": uid, "gid": gid}, path=path_bytes(path))

    async def symlink(self, path: PathLike, target: Union[str, bytes]) -> None:
        """Makes ``path`` a link to ``target``, which may be any text."""
        link = target if isinstance(target, bytes) else target.encode("utf-8", "surrogateescape")
        await self._post("symlink", {}, idempotent=False, path=path_bytes(path), target=link)

    async def upload(
        self, local: Union[str, "os.PathLike[str]"], remote: PathLike, *, progress: Optional[ProgressCallback] = None,
        user: Optional[str] = None, parallel: int = _PARALLEL,
    ) -> None:
        """A file to the path ``remote``, or a folder's content into the folder ``remote``. Modes and symlinks are kept."""
        source, target = os.fspath(local), path_bytes(remote)
        info = await _runtime.in_thread(os.stat, source)
        if not stat_bits.S_ISDIR(info.st_mode):
            meter = _Meter(progress, info.st_size, 1)
            await self._send(LocalEntry(source, "", "file", info.st_mode & 0o7777, info.st_size), target, user, meter)
            return
        entries = await _runtime.in_thread(walk, source)
        files = [entry for entry in entries if entry.kind == "file"]
        meter = _Meter(progress, sum(entry.size for entry in files), len(files))
        await self.mkdir(target, parents=True)
        for entry in entries:
            if entry.kind == "dir":
                await self.mkdir(_join(target, entry), mode=entry.mode | 0o700, parents=True)

        async def send(entry: LocalEntry) -> None:
            await self._send(entry, _join(target, entry), user, meter)

        async for _ in _runtime.map_parallel(send, files, parallel):
            pass
        for entry in entries:
            if entry.kind == "symlink":
                await self._relink(_join(target, entry), os.fsencode(entry.target))
            elif entry.kind == "dir" and entry.mode & 0o700 != 0o700:
                await self.chmod(_join(target, entry), entry.mode)

    async def download(
        self, remote: PathLike, local: Union[str, "os.PathLike[str]"], *, progress: Optional[ProgressCallback] = None,
        user: Optional[str] = None, parallel: int = _PARALLEL,
    ) -> None:
        """A file to the path ``local``, or a folder's content into the folder ``local``. Modes (without set-user-id) and
        symlinks are kept; nothing in the sandbox can lead a write outside ``local``."""
        target = os.fspath(local)
        info = await self.stat(remote)
        if not info.is_dir:
            meter = _Meter(progress, info.size, 1)
            await self._receive(info, remote, single_file(target, info.mode), user, meter)
            return
        base = path_bytes(remote).decode("utf-8", "surrogateescape")
        entries = [entry async for entry in self.list(remote, recursive=True)]
        files = [entry for entry in entries if entry.is_file]
        meter = _Meter(progress, sum(entry.size for entry in files), len(files))
        with Tree(target) as tree:
            await self._receive_tree(tree, base, entries, files, user, meter, parallel)

    async def _receive_tree(
        self, tree: Tree, base: str, entries: List[FileStat], files: List[FileStat], user: Optional[str],
        meter: "_Meter", parallel: int,
    ) -> None:
        folders = [entry for entry in entries if entry.is_dir]
        for entry in folders:
            tree.mkdir(relative_parts(base, entry.path), entry.mode)

        async def receive(entry: FileStat) -> None:
            pending = tree.create(relative_parts(base, entry.path), entry.mode)
            await self._receive(entry, os.fsencode(entry.path), pending, user, meter)

        async for _ in _runtime.map_parallel(receive, files, parallel):
            pass
        for entry in entries:
            if entry.type == "symlink":
                tree.symlink(relative_parts(base, entry.path), entry.target or "")
        for entry in reversed(folders):
            tree.chmod(relative_parts(base, entry.path), entry.mode)

    async def _receive(
        self, info: FileStat, remote: PathLike, pending: PendingFile, user: Optional[str], meter: "_Meter"
    ) -> None:
        try:
            async for piece in self.read_stream(remote, user=user):
                await _runtime.in_thread(pending.write, piece)
                meter.add(info.path, len(piece))
            await _runtime.in_thread(pending.commit)
        finally:
            pending.discard()
        meter.file_done(info.path)

    async def _send(self, entry: LocalEntry, target: bytes, user: Optional[str], meter: "_Meter") -> None:
        await self._put(target, lambda: _pieces(entry, meter), entry.mode, user, parents=False)
        meter.file_done(entry.path)

    async def _put(
        self, path: PathLike, content: Any, mode: Optional[int], user: Optional[str], parents: bool
    ) -> FileStat:
        where = query([
            ("path", path_bytes(path)), ("mode", None if mode is None else f"{mode:04o}"),
            ("user", user or self.default_user), ("parents", parents or None)])
        answer = await self._transport.request(
            "PUT", self._path + where, content=content, begun=True, headers={"Content-Type": "application/octet-stream"})
        return FileStat.from_json(answer.json())

    async def _relink(self, path: bytes, target: bytes) -> None:
        try:
            await self.symlink(path, target)
        except errors.AlreadyExists:
            await self.remove(path)
            await self.symlink(path, target)

    async def _post(self, verb: str, body: Dict[str, Any], *, idempotent: bool = True, **paths: bytes) -> None:
        for key, value in paths.items():
            put_bytes(body, key, value)
        await self._transport.json("POST", f"{self._path}/{verb}", body, idempotent=idempotent)


class _Meter:
    """Adds up what has gone over the wire and tells the caller."""

    def __init__(self, callback: Optional[ProgressCallback], total_bytes: int, total_files: int) -> None:
        self._callback = callback
        self._total_bytes, self._total_files = total_bytes, total_files
        self._done_bytes = self._done_files = 0

    def add(self, what: str, count: int) -> None:
        self._done_bytes += count
        self._tell(what)

    def file_done(self, what: str) -> None:
        self._done_files += 1
        self._tell(what)

    def _tell(self, what: str) -> None:
        if self._callback is not None:
            self._callback(Progress(what, self._done_bytes, self._total_bytes, self._done_files, self._total_files))


async def _pieces(entry: LocalEntry, meter: _Meter) -> AsyncIterator[bytes]:
    """The file's bytes; when a lost connection has them read again, what was counted before is taken back."""
    counted = 0
    finished = False
    with open(entry.path, "rb") as file:
        try:
            while True:
                piece = await _runtime.in_thread(file.read, _PIECE_BYTES)
                if not piece:
                    finished = True
                    return
                counted += len(piece)
                meter.add(entry.path, len(piece))
                yield piece
        finally:
            if not finished:
                meter.add(entry.path, -counted)


def _join(folder: bytes, entry: LocalEntry) -> bytes:
    return folder.rstrip(b"/") + b"/" + os.fsencode(entry.relative)


def _same_file(response: Any, position: int, tag: Optional[str]) -> Optional[str]:
    """Checks that a resumed read goes on in the file that it began with; returns what identifies it."""
    now = response.headers.get("ETag")
    if position and response.status_code != 206:
        raise errors.DataLoss("the server sent the whole file where the rest of it was asked for")
    if tag is not None and now != tag:
        raise errors.DataLoss("the file was changed while it was being read; read it again")
    return now if now is not None else tag
