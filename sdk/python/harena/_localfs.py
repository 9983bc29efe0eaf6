"""Writing a sandbox's files to this machine. The sandbox is hostile: its names and links must never lead a write
outside the folder that the user named, so every step goes component by component and follows no symlink."""

from __future__ import annotations

import os
import uuid
from typing import IO, List, Optional

from .errors import DataLoss, InvalidArgument

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def relative_parts(base: str, path: str) -> List[str]:
    """The components of ``path`` below ``base``; refuses whatever isn't below it."""
    prefix = base.rstrip("/") + "/"
    if not path.startswith(prefix):
        raise DataLoss(f"the listing of {base!r} names {path!r}, which isn't in it")
    parts = path[len(prefix):].split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise DataLoss(f"the listing of {base!r} names {path!r}, which isn't a plain path")
    return parts


class Tree:
    """A local folder that is written below, and only below."""

    def __init__(self, root: str) -> None:
        os.makedirs(root, exist_ok=True)
        self._root = os.open(root, _DIR)

    def __enter__(self) -> "Tree":
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._root)

    def mkdir(self, parts: List[str], mode: int) -> None:
        parent = self._open(parts[:-1])
        try:
            try:
                os.mkdir(parts[-1], (mode & 0o777) | 0o700, dir_fd=parent)
            except FileExistsError:
                os.close(os.open(parts[-1], _DIR | os.O_NOFOLLOW, dir_fd=parent))
        finally:
            os.close(parent)

    def chmod(self, parts: List[str], mode: int) -> None:
        folder = self._open(parts)
        try:
            os.fchmod(folder, mode & 0o777)
        finally:
            os.close(folder)

    def symlink(self, parts: List[str], target: str) -> None:
        parent = self._open(parts[:-1])
        temporary = _temporary_name()
        try:
            os.symlink(target, temporary, dir_fd=parent)
            os.replace(temporary, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
        finally:
            os.close(parent)

    def link(self, existing: List[str], parts: List[str]) -> None:
        """A further name for a file of this tree; a symlink gets one as itself."""
        source, parent = self._open(existing[:-1]), self._open(parts[:-1])
        temporary = _temporary_name()
        try:
            os.link(existing[-1], temporary, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
            os.replace(temporary, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
            try:
                os.unlink(temporary, dir_fd=parent)  # rename(2) leaves it where both are the same file already
            except FileNotFoundError:
                pass
        finally:
            os.close(source)
            os.close(parent)

    def create(self, parts: List[str], mode: int) -> "PendingFile":
        return PendingFile(self._open(parts[:-1]), parts[-1], mode)

    def _open(self, parts: List[str]) -> int:
        current = os.dup(self._root)
        for part in parts:
            try:
                following = os.open(part, _DIR | os.O_NOFOLLOW, dir_fd=current)
            finally:
                os.close(current)
            current = following
        return current


class PendingFile:
    """Bytes under a temporary name until ``commit``: nobody sees half of it."""

    def __init__(self, parent: int, name: str, mode: int) -> None:
        self._parent = parent
        self._name = name
        self._temporary = _temporary_name()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._temporary, flags, 0o600, dir_fd=parent)
        os.fchmod(descriptor, mode & 0o777)  # never set-user-id: the file is ours now, its content is the sandbox's
        self.file: Optional[IO[bytes]] = os.fdopen(descriptor, "wb")

    def write(self, data: bytes) -> None:
        assert self.file is not None
        self.file.write(data)

    def set_attribute(self, name: str, value: bytes) -> None:
        """On a file system that has none it is lost, as with cp."""
        assert self.file is not None
        try:
            os.setxattr(self.file.fileno(), name, value)
        except (OSError, AttributeError):
            pass

    def restart(self) -> None:
        assert self.file is not None
        self.file.seek(0)
        self.file.truncate()

    def commit(self) -> None:
        assert self.file is not None
        self.file.close()
        self.file = None
        os.replace(self._temporary, self._name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
        os.close(self._parent)

    def discard(self) -> None:
        """After ``commit`` it does nothing."""
        if self.file is None:
            return
        self.file.close()
        self.file = None
        os.unlink(self._temporary, dir_fd=self._parent)
        os.close(self._parent)


def single_file(path: str, mode: int) -> PendingFile:
    """A file at a path of the user's own choosing, whose links are followed. A device or FIFO there is never replaced by a file."""
    real = os.path.realpath(path)
    if os.path.lexists(real) and not os.path.isfile(real):
        what = "a folder" if os.path.isdir(real) else "neither new nor a file"
        raise InvalidArgument(f"{path!r} is {what}; name the file to write, or take the bytes from read_stream()")
    folder, name = os.path.split(real)
    return PendingFile(os.open(folder, _DIR), name, mode)


def _temporary_name() -> str:
    return f".harena-{uuid.uuid4().hex}.part"


class LocalEntry:
    """One thing below a local folder that is to be sent."""

    __slots__ = ("path", "relative", "kind", "mode", "size", "target")

    def __init__(self, path: str, relative: str, kind: str, mode: int, size: int, target: str = "") -> None:
        self.path, self.relative, self.kind, self.mode, self.size, self.target = path, relative, kind, mode, size, target


def walk(root: str) -> List[LocalEntry]:
    """Everything below ``root``, a folder before what is in it, symlinks as themselves. Sockets, FIFOs and devices can't
    be sent and are an error that names them."""
    found: List[LocalEntry] = []
    pending = [(root, "")]
    while pending:
        folder, prefix = pending.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                info = entry.stat(follow_symlinks=False)
                relative = prefix + entry.name
                if entry.is_symlink():
                    found.append(LocalEntry(entry.path, relative, "symlink", 0, 0, os.readlink(entry.path)))
                elif entry.is_dir(follow_symlinks=False):
                    found.append(LocalEntry(entry.path, relative, "dir", info.st_mode & 0o7777, 0))
                    pending.append((entry.path, relative + "/"))
                elif entry.is_file(follow_symlinks=False):
                    found.append(LocalEntry(entry.path, relative, "file", info.st_mode & 0o7777, info.st_size))
                else:
                    raise ValueError(f"{entry.path!r} is neither a file, a folder nor a symlink; it can't be copied")
    return found
