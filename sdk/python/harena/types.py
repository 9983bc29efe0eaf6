"""What the API answers with, as typed values. Each keeps the whole answer in ``raw``: fields that this version doesn't
know yet are there."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._wire import bytes_field, text_field


def _raw() -> Any:
    return field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Ending:
    """Why a sandbox is no more: ``cause`` is ``none`` (it was asked to stop), ``agent``, ``limit`` or ``infrastructure``."""

    cause: str
    detail: str
    message: str


@dataclass(frozen=True)
class SandboxInfo:
    id: str
    backend: str
    state: str
    project: str
    task: str
    image: str
    labels: Dict[str, str]
    params: Dict[str, Any]
    idle_ttl_s: int
    lifetime_s: int
    created_ms: int
    expires_ms: Optional[int]
    ending: Optional[Ending]
    #: The sandbox that it was forked from, and the snapshot that it was made of; empty: none.
    forked_from: str = ""
    snapshot: str = ""
    raw: Mapping[str, Any] = _raw()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "SandboxInfo":
        ending = body.get("ending")
        return cls(
            id=str(body["id"]),
            backend=str(body.get("backend", "")),
            state=str(body.get("state", "")),
            project=str(body.get("project", "")),
            task=str(body.get("task") or ""),
            image=str(body.get("image") or ""),
            labels=dict(body.get("labels") or {}),
            params=dict(body.get("params") or {}),
            idle_ttl_s=int(body.get("idle_ttl_s") or 0),
            lifetime_s=int(body.get("lifetime_s") or 0),
            created_ms=int(body.get("created_ms") or 0),
            expires_ms=body.get("expires_ms"),
            ending=None if not ending else Ending(
                str(ending.get("cause", "none")), str(ending.get("detail", "")), str(ending.get("message", ""))),
            forked_from=str(body.get("forked_from") or ""),
            snapshot=str(body.get("snapshot") or ""),
            raw=body,
        )


@dataclass(frozen=True)
class SnapshotInfo:
    id: str
    name: str
    project: str
    backend: str
    #: ``ready``, or ``creating`` or ``deleting`` for a moment
    state: str
    #: It was taken of.
    sandbox_id: str
    image: str
    #: ``memory`` or ``filesystem``
    kept: str
    created_ms: int
    details: Dict[str, Any]
    raw: Mapping[str, Any] = _raw()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "SnapshotInfo":
        texts = {key: str(body.get(key) or "") for key in ("name", "project", "backend", "state", "sandbox_id", "image", "kept")}
        return cls(
            id=str(body["id"]), created_ms=int(body.get("created_ms") or 0), details=dict(body.get("details") or {}), raw=body, **texts)


@dataclass(frozen=True)
class ExitStatus:
    """How a command ended. ``code`` is None when a signal ended it, ``signal`` then names it (``"KILL"``)."""

    code: Optional[int]
    signal: Optional[str]
    #: exit, signal, timeout, no_output_timeout, oom, pids, disk, output_limit, sandbox_stopped, platform, killed
    cause: str
    duration_ms: int = 0
    raw: Mapping[str, Any] = _raw()

    @property
    def ok(self) -> bool:
        return self.code == 0 and self.cause == "exit"

    @property
    def timed_out(self) -> bool:
        return self.cause in ("timeout", "no_output_timeout")

    def describe(self) -> str:
        if self.cause == "exit":
            return f"exited with code {self.code}"
        if self.cause == "signal":
            return f"was ended by SIG{self.signal}"
        if self.timed_out:
            return "was ended by its time limit" if self.cause == "timeout" else "was ended after being silent for too long"
        if self.cause in ("platform", "sandbox_stopped"):
            return "was lost by the platform" if self.cause == "platform" else "was ended with its sandbox"
        return f"was ended by a limit: {self.cause}"

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ExitStatus":
        return cls(body.get("code"), body.get("signal"), str(body.get("cause", "exit")), int(body.get("duration_ms") or 0), body)


@dataclass(frozen=True)
class CommandResult:
    """All of an ended command. Output is bytes; ``stdout`` and ``stderr`` are its text, with U+FFFD for what isn't UTF-8."""

    exit: ExitStatus
    stdout_bytes: bytes
    stderr_bytes: bytes
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    command_id: str = ""

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def exit_code(self) -> Optional[int]:
        """The exit code; None when a signal or the platform ended the command: ``exit`` says which."""
        return self.exit.code

    @property
    def ok(self) -> bool:
        return self.exit.ok

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "CommandResult":
        return cls(
            exit=ExitStatus.from_json(body["exit"]),
            stdout_bytes=bytes_field(body, "stdout") or b"",
            stderr_bytes=bytes_field(body, "stderr") or b"",
            stdout_truncated=bool(body.get("stdout_truncated")),
            stderr_truncated=bool(body.get("stderr_truncated")),
            command_id=str(body.get("id", "")),
        )


@dataclass(frozen=True)
class CommandInfo:
    id: str
    op: str
    state: str
    pid: Optional[int]
    #: A word that isn't UTF-8 is ``{"b64": ...}``.
    argv: Optional[List[Any]]
    shell: Optional[str]
    started_ms: int
    stdout_bytes: int
    stderr_bytes: int
    exit: Optional[ExitStatus]
    raw: Mapping[str, Any] = _raw()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "CommandInfo":
        exit_body = body.get("exit")
        return cls(
            id=str(body["id"]),
            op=str(body.get("op") or ""),
            state=str(body.get("state", "")),
            pid=body.get("pid"),
            argv=body.get("argv"),
            shell=body.get("shell"),
            started_ms=int(body.get("started_ms") or 0),
            stdout_bytes=_count(body, "stdout_bytes"),
            stderr_bytes=_count(body, "stderr_bytes"),
            exit=ExitStatus.from_json(exit_body) if exit_body else None,
            raw=body,
        )


def _count(body: Mapping[str, Any], key: str) -> int:
    return int(body.get(key) or 0)


@dataclass(frozen=True)
class OutputChunk:
    """A piece of output: ``offset`` counts the bytes of its stream before it. ``truncated`` marks the place where the
    output limit was reached: nothing of this stream comes after it."""

    stream: str
    data: bytes
    offset: int
    truncated: bool = False

    @property
    def text(self) -> str:
        """May cut a character in two at its borders; join ``data`` first where that matters."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class FileStat:
    """``name``, ``path`` and ``target`` are as from ``os.fsdecode``: odd bytes are surrogate escapes."""

    name: str
    path: str
    type: str
    size: int
    mode: int
    uid: int
    gid: int
    modified_ms: int
    target: Optional[str] = None
    user: Optional[str] = None
    raw: Mapping[str, Any] = _raw()

    @property
    def is_dir(self) -> bool:
        return self.type == "dir"

    @property
    def is_file(self) -> bool:
        return self.type == "file"

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "FileStat":
        return cls(
            name=text_field(body, "name") or "",
            path=text_field(body, "path") or "",
            type=str(body.get("type", "")),
            size=int(body.get("size") or 0),
            mode=int(str(body.get("mode") or "0"), 8),
            uid=int(body.get("uid") or 0),
            gid=int(body.get("gid") or 0),
            modified_ms=int(body.get("modified_ms") or 0),
            target=text_field(body, "target"),
            user=body.get("user"),
            raw=body,
        )


@dataclass(frozen=True)
class FileEvent:
    """Something that happened below a watched folder. ``kind``: ``ready`` (first: from here on nothing is missed), ``create``,
    ``write``, ``remove``, ``rename`` (``to`` is the new path), ``attrib``, ``unwatched`` (a folder that the user can't read), or
    ``overflow``: more happened than was kept, or the connection was lost; look at the tree anew."""

    kind: str
    path: str
    to: Optional[str] = None
    is_dir: bool = False

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "FileEvent":
        if body.get("overflow"):
            return cls("overflow", "")
        return cls(str(body.get("event", "")), text_field(body, "path") or "", text_field(body, "to"), bool(body.get("is_dir")))


@dataclass(frozen=True)
class ImageInfo:
    reference: str
    digest: str
    kind: str
    size: int
    created_ms: int
    raw: Mapping[str, Any] = _raw()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ImageInfo":
        return cls(
            str(body.get("reference", "")), str(body.get("digest", "")), str(body.get("kind", "")),
            int(body.get("size") or 0), int(body.get("created_ms") or 0), body)


@dataclass(frozen=True)
class BackendInfo:
    name: str
    plugin: str
    version: str
    usable: bool
    why_not: str
    verbs: List[str]
    params_schema: Dict[str, Any]
    raw: Mapping[str, Any] = _raw()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "BackendInfo":
        return cls(
            str(body.get("name", "")), str(body.get("plugin", "")), str(body.get("version", "")),
            bool(body.get("usable", True)), str(body.get("why_not") or ""), list(body.get("verbs") or []),
            dict(body.get("params_schema") or {}), body)


@dataclass(frozen=True)
class Progress:
    """Of a long transfer. ``total_bytes`` is None where it isn't known."""

    what: str
    done_bytes: int
    total_bytes: Optional[int]
    done_files: int = 0
    total_files: int = 0


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True)
class Timeouts:
    """Seconds. These are about the connection; how long a *command* may run is the ``timeout`` of ``run``."""

    #: until a connection is there: ``ConnectTimeout``
    connect: float = 10.0
    #: without any sign of life from the server: ``ReadTimeout``. Streams get one every 15 s.
    read: float = 60.0
    #: until the server takes more of what is being sent
    write: float = 60.0


@dataclass(frozen=True)
class RetryPolicy:
    """Only what can be repeated safely is repeated; creations and commands can, by their keys."""

    #: tries in all; 1 never repeats
    attempts: int = 6
    #: The same for what has begun and can go on: output, stdin, transfers, batches. They outlive a restart of the server.
    stream_attempts: int = 15
    first_delay: float = 0.1
    max_delay: float = 5.0

    def delay(self, attempt: int, jitter: float) -> float:
        """Before try ``attempt`` + 1 (counted from 1): exponential, between half and all of it by ``jitter`` in [0, 1)."""
        full = min(self.max_delay, self.first_delay * (2.0 ** (attempt - 1)))
        return full * (0.5 + 0.5 * jitter)


def replace(value: Any, **changes: Any) -> Any:
    """``dataclasses.replace``, for the frozen values of this module."""
    return dataclasses.replace(value, **changes)
