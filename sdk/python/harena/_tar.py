"""Folders of this machine as tar streams, and back. No network; both directions in pieces, so memory stays small."""

from __future__ import annotations

import os
import stat
import tarfile
from typing import IO, Any, Callable, Dict, Iterator, List, Tuple

from ._localfs import Tree
from .errors import DataLoss

_PIECE_BYTES = 256 * 1024
_XATTR = "SCHILY.xattr."


def pack(root: str) -> Iterator[bytes]:
    """What is in the folder, without the folder itself, in pieces of which none is empty: modes, times, symlinks, hard links and ``user.*`` attributes
    kept, and the owner is root, as with any upload. Sockets, FIFOs and devices are an error that names them."""
    seen: Dict[Tuple[int, int], str] = {}
    for path, relative in _walk(root):
        info = _describe(path, relative, seen)
        yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        if info.isreg():
            yield from _content(path, info.size)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)


def _walk(root: str) -> Iterator[Tuple[str, str]]:
    """(path, path below the root), a folder before what is in it."""
    pending = [(root, "")]
    while pending:
        folder, prefix = pending.pop()
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda one: one.name)
        for entry in found:
            yield entry.path, prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, prefix + entry.name + "/"))


def _describe(path: str, relative: str, seen: Dict[Tuple[int, int], str]) -> tarfile.TarInfo:
    status = os.lstat(path)
    info = tarfile.TarInfo(relative)
    info.mode = stat.S_IMODE(status.st_mode)  # the owner is root, or whoever writes there
    info.mtime = status.st_mtime_ns / 1e9  # type: ignore[assignment]  # pax has fractions
    if stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
    elif not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path!r} is neither a file, a folder nor a symlink; it can't be copied")
    elif status.st_nlink > 1 and (status.st_dev, status.st_ino) in seen:
        info.type, info.linkname = tarfile.LNKTYPE, seen[status.st_dev, status.st_ino]
    else:
        seen[status.st_dev, status.st_ino] = relative
        info.size = status.st_size
    if info.type in (tarfile.REGTYPE, tarfile.DIRTYPE):
        info.pax_headers = {_XATTR + name: os.getxattr(path, name, follow_symlinks=False).decode("utf-8", "surrogateescape")
                            for name in _attributes(path)}
    return info


def _attributes(path: str) -> List[str]:
    try:
        return [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]
    except (OSError, AttributeError):  # a file system, or a system, that has none
        return []


def _content(path: str, size: int) -> Iterator[bytes]:
    left = size
    # NONBLOCK: should a FIFO have taken the file's place since it was looked at, opening it mustn't hang.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        while left > 0:
            piece = file.read(min(left, _PIECE_BYTES))
            if not piece:
                raise ValueError(f"{path!r} got shorter while it was being read; it can't be copied")
            left -= len(piece)
            yield piece
    if size % tarfile.BLOCKSIZE:
        yield b"\0" * (-size % tarfile.BLOCKSIZE)


def unpack(source: IO[bytes], root: str, on_entry: Callable[[str], None]) -> None:
    """Lays an archive out below ``root``, and nowhere else, whatever is in it. What is there is replaced file by file, each
    atomically. ``on_entry`` gets each path as it is done."""
    folders: List[Tuple[List[str], int]] = []
    with Tree(root) as tree, tarfile.open(fileobj=source, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            parts = _parts(member.name)
            if parts:
                _lay_out(tree, archive, member, parts, folders)
                on_entry(member.name)
            archive.members = []  # type: ignore[attr-defined]  # it would remember them all
        while source.read(_PIECE_BYTES):
            pass
        for parts, mode in reversed(folders):
            tree.chmod(parts, mode)


def _parts(name: str) -> List[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise DataLoss(f"the archive names {name!r}, which isn't a path below its folder")
    return parts


def _lay_out(
    tree: Tree, archive: tarfile.TarFile, member: tarfile.TarInfo, parts: List[str], folders: List[Tuple[List[str], int]]
) -> None:
    if member.isdir():
        tree.mkdir(parts, member.mode)
        folders.append((parts, member.mode))
    elif member.issym():
        tree.symlink(parts, member.linkname)
    elif member.islnk():
        tree.link(_parts(member.linkname), parts)
    elif member.isreg() or member.issparse():
        _write(tree, archive.extractfile(member), member, parts)
    else:
        raise DataLoss(f"{member.name!r} is a FIFO or a device; it can't be copied to this machine")


def _write(tree: Tree, content: Any, member: tarfile.TarInfo, parts: List[str]) -> None:
    pending = tree.create(parts, member.mode)
    try:
        while piece := content.read(_PIECE_BYTES):
            pending.write(piece)
        for name, value in member.pax_headers.items():
            if name.startswith(_XATTR + "user."):
                pending.set_attribute(name[len(_XATTR):], value.encode("utf-8", "surrogateescape"))
        pending.commit()
    finally:
        pending.discard()
