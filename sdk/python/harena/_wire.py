"""Pure helpers for what travels: no I/O, shared by the async and the sync side."""

from __future__ import annotations

import base64
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import quote, quote_from_bytes

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def bytes_field(body: Mapping[str, Any], key: str) -> Optional[bytes]:
    """``key``, or ``key_b64`` decoded; None when neither is there."""
    encoded = body.get(key + "_b64")
    if encoded is not None:
        return base64.b64decode(encoded)
    text = body.get(key)
    return None if text is None else str(text).encode("utf-8", "surrogatepass")


def text_field(body: Mapping[str, Any], key: str) -> Optional[str]:
    value = bytes_field(body, key)
    return None if value is None else value.decode("utf-8", "surrogateescape")


def path_bytes(path: PathLike) -> bytes:
    raw = os.fspath(path)
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape")
    if not data.startswith(b"/"):
        raise ValueError(f"{raw!r} isn't absolute: paths inside a sandbox begin with '/'")
    if b"\0" in data:
        raise ValueError(f"{raw!r} contains a zero byte, which no file name can")
    return data


def put_bytes(body: Dict[str, Any], key: str, data: bytes) -> None:
    """Sets ``key`` when ``data`` is UTF-8, else ``key_b64``."""
    try:
        body[key] = data.decode("utf-8")
    except UnicodeDecodeError:
        body[key + "_b64"] = base64.b64encode(data).decode("ascii")


def query(pairs: Sequence[Tuple[str, Any]]) -> str:
    """``?a=b&c=d`` of those that aren't None, exact for any byte; empty when there are none."""
    parts = []
    for key, value in pairs:
        if value is None:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        encoded = quote_from_bytes(value, safe="") if isinstance(value, bytes) else quote(str(value), safe="")
        parts.append(f"{key}={encoded}")
    return "?" + "&".join(parts) if parts else ""


def segment(text: str) -> str:
    """One path segment: slashes are encoded too."""
    return quote(text, safe="")


class LineSplitter:
    """Bytes in, whole lines out; linear in the bytes, however the pieces are cut."""

    def __init__(self) -> None:
        self._pieces: List[bytes] = []

    def feed(self, data: bytes) -> List[bytes]:
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join(self._pieces) + lines[0]
            self._pieces = []
        if rest:
            self._pieces.append(rest)
        return [line for line in lines if line.strip()]


def parse_line(line: bytes) -> Dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError(f"a line of the stream isn't an object: {line[:80]!r}")
    return value


def command_body(command: Union[str, Sequence[str]]) -> Dict[str, Any]:
    """A text runs in a shell; a list is the argument vector, exactly."""
    if isinstance(command, str):
        return {"shell": command}
    argv = list(command)
    if not argv:
        raise ValueError("the command is an empty list; give at least the program")
    for item in argv:
        if not isinstance(item, str):
            raise TypeError(f"argument {item!r} is {type(item).__name__}, not str")
    return {"argv": argv}


def drop_none(body: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in body.items() if value is not None}


def milliseconds(seconds: Optional[float], name: str) -> Optional[int]:
    if seconds is None:
        return None
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{name}={seconds!r}: a time limit is more than 0 seconds; leave it out for none")
    return max(1, round(seconds * 1000))
