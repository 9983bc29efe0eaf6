"""Files in a sandbox."""

from __future__ import annotations

import os
import stat as stat_bits
from typing import Any, AsyncIterator, Dict, List, Optional, Union

from .. import errors
from .._localfs import LocalEntry, PendingFile, Tree, relative_parts, single_file, walk
from .._wire import PathLike, bytes_field, path_bytes, put_bytes, query, segment, text_field
from ..types import FileEvent, FileStat, Progress, ProgressCallback
from . import _archives, _runtime, _watch
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

    async def read(
        self, path: PathLike, *, start: int = 0, length: Optional[int] = None, user: Optional[str] = None
    ) -> bytes:
        """All of it, or at most ``length`` bytes from byte ``start`` on; ``OutOfRange`` when it ends before ``start``."""
        return b"".join([piece async for piece in self.read_stream(path, start=start, length=length, user=user)])

    async def read_text(self, path: PathLike, *, encoding: str = "utf-8", user: Optional[str] = None) -> str:
        return (await self.read(path, user=user)).decode(encoding)

    async def read_stream(
        self, path: PathLike, *, start: int = 0, length: Optional[int] = None, user: Optional[str] = None
    ) -> AsyncIterator[bytes]:
        """Piece by piece, from byte ``start``, at most ``length`` bytes; a lost connection is taken up where it broke, unless
        the file was changed meanwhile (``DataLoss``)."""
        end = _end_of_range(start, length)
        if end == start:
            return
        where = self._path + query([("path", path_bytes(path)), ("user", user or self.default_user)])
        position, tag, attempts = start, None, self._transport.stream_attempts()
        while True:
            ranged = position > 0 or end is not None
            headers = {"Range": f"bytes={position}-{'' if end is None else end - 1}"} if ranged else {}
            try:
                async with self._transport.stream("GET", where, headers=headers, accept_status=206, repeat=False) as response:
                    tag = _same_file(response, position, tag)
                    async for piece in response.aiter_bytes():
                        attempts = self._transport.stream_attempts()
                        position += len(piece)
                        yield piece
                return
            except errors.OutOfRange:
                if position == start and start > 0:
                    raise
                return  # an empty file, or the connection broke exactly at the end
            except errors.HarenaError as error:
                delay = attempts.next_delay(error)
            if position == end:
                return
            await _runtime.sleep(delay)

    async def write(
        self, path: PathLike, data: Union[bytes, str], *, mode: Optional[int] = None, user: Optional[str] = None,
        parents: bool = False,
    ) -> FileStat:
        """Replaces the file atomically; it is visible when this returns."""
        if not isinstance(data, (bytes, bytearray, memoryview, str)):
            raise TypeError(f"data is {type(data).__name__}; it is bytes or a text. A local file goes by upload()")
        content = data.encode() if isinstance(data, str) else bytes(data)
        return await self._put(path, lambda: content, mode, user, parents)

    async def stat(self, path: PathLike, *, follow: bool = False) -> FileStat:
        """Of a symlink itself, or with ``follow`` of what it leads to."""
        where = query([("path", path_bytes(path)), ("follow", True if follow else None)])
        return FileStat.from_json(await self._transport.json("GET", f"{self._path}/stat{where}"))

    async def exists(self, path: PathLike) -> bool:
        try:
            await self.stat(path)
        except errors.NotFound as error:
            if error.details.get("resource") == "sandbox":
                raise
            return False
        except errors.FailedPrecondition as error:
            if error.cause_detail != "not_a_directory":
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

    async def xattrs(self, path: PathLike, *, follow: bool = False, user: Optional[str] = None) -> Dict[str, bytes]:
        """The extended attributes of a path; with ``follow`` of what a symlink leads to."""
        where = self._path + "/xattrs" + query([("path", path_bytes(path)), ("follow", follow or None), ("user", user or self.default_user)])
        found = (await self._transport.json("GET", where))["xattrs"]
        return {text_field(one, "name") or "": bytes_field(one, "value") or b"" for one in found}

    async def set_xattr(
        self, path: PathLike, name: str, value: bytes, *, follow: bool = False, user: Optional[str] = None
    ) -> None:
        """``name`` with its namespace: ``user.origin``. At most 64 KiB."""
        await self._transport.request("PUT", self._xattr(path, name, follow, user), content=lambda: value,
                                      headers={"Content-Type": "application/octet-stream"})

    async def remove_xattr(self, path: PathLike, name: str, *, follow: bool = False, user: Optional[str] = None) -> None:
        await self._transport.json("DELETE", self._xattr(path, name, follow, user))

    def _xattr(self, path: PathLike, name: str, follow: bool, user: Optional[str]) -> str:
        return self._path + "/xattrs" + query([
            ("path", path_bytes(path)), ("name", os.fsencode(name)), ("follow", follow or None), ("user", user or self.default_user)])

    async def watch(
        self, path: PathLike, *, recursive: bool = False, user: Optional[str] = None
    ) -> AsyncIterator[FileEvent]:
        """What happens in a folder, as it happens: first ``ready``, from which on nothing is missed; see ``FileEvent``. A lost
        connection is taken up again, with an ``overflow``. Ends when the folder is removed; leaving the loop ends the watch."""
        where = self._path + "/watch" + query([
            ("path", path_bytes(path)), ("recursive", recursive or None), ("user", user or self.default_user)])
        async with _runtime.closing(_watch.watch(self._transport, where)) as events:
            async for event in events:
                yield event

    async def upload_tree(
        self, local: Union[str, "os.PathLike[str]"], remote: PathLike, *, progress: Optional[ProgressCallback] = None,
        user: Optional[str] = None,
    ) -> None:
        """A folder's content into the folder ``remote``, which must be there, as one tar stream: for many small files much
        faster than ``upload``. Modes, times, symlinks, hard links and ``user.*`` attributes are kept."""
        where = self._path + "/archive" + query([("path", path_bytes(remote)), ("user", user or self.default_user)])
        await _archives.upload_tree(self._transport, where, os.fspath(local), progress)

    async def download_tree(
        self, remote: PathLike, local: Union[str, "os.PathLike[str]"], *, progress: Optional[ProgressCallback] = None,
        user: Optional[str] = None,
    ) -> None:
        """The other way, into the folder ``local``, which is made. Modes (without set-user-id), symlinks, hard links and
        ``user.*`` attributes are kept; nothing in the sandbox can lead a write outside ``local``."""
        where = self._path + "/archive" + query([("path", path_bytes(remote)), ("user", user or self.default_user)])
        await _archives.download_tree(self._transport, where, os.fspath(local), progress)

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
        info = await self.stat(remote, follow=True)
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


def _end_of_range(start: int, length: Optional[int]) -> Optional[int]:
    if start < 0:
        raise ValueError(f"start={start}: the first byte is number 0")
    if length is not None and length < 0:
        raise ValueError(f"length={length}: it is 0 or more; leave it out for all that there is")
    return None if length is None else start + length


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
