"""One sandbox."""

from __future__ import annotations

import uuid
from typing import Any, Dict, List, Mapping, Optional, Union

from .. import errors
from .._wire import drop_none, segment
from ..types import CommandResult, SandboxInfo, SnapshotInfo
from ._commands import AsyncCommand, AsyncCommands, CommandLine
from ._files import AsyncFiles
from ._ports import AsyncPorts
from ._transport import AsyncTransport


class AsyncSandbox:
    """A handle: the sandbox lives on the server, whatever becomes of this object. ``async with`` stops it at the end."""

    def __init__(self, transport: AsyncTransport, info: SandboxInfo, default_user: Optional[str] = None) -> None:
        self._transport = transport
        self._path = f"/sandboxes/{segment(info.id)}"
        self._default_user = default_user
        #: As last seen; ``refresh`` asks again.
        self.info = info
        self.commands = AsyncCommands(transport, info.id, default_user)
        self.files = AsyncFiles(transport, info.id)
        self.ports = AsyncPorts(transport, info.id)

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def state(self) -> str:
        return self.info.state

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.info.backend} {self.state}>"

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.stop()

    async def run(self, command: CommandLine, **options: Any) -> CommandResult:
        """See ``AsyncCommands.run``."""
        return await self.commands.run(command, **options)

    async def run_shell(self, text: str, **options: Any) -> CommandResult:
        """A text for ``/bin/sh -c``, to its end."""
        return await self.commands.run(text, **options)

    async def start(self, command: CommandLine, **options: Any) -> AsyncCommand:
        """See ``AsyncCommands.start``."""
        return await self.commands.start(command, **options)

    async def refresh(self) -> SandboxInfo:
        return self._seen(await self._transport.json("GET", self._path))

    async def pause(self) -> SandboxInfo:
        return self._seen(await self._transport.json("POST", f"{self._path}/pause", {}, idempotent=True))

    async def resume(self) -> SandboxInfo:
        return self._seen(await self._transport.json("POST", f"{self._path}/resume", {}, idempotent=True))

    async def stop(self, *, grace: float = 0.0) -> SandboxInfo:
        """Ends it; its processes get ``grace`` seconds to end by themselves. Idempotent."""
        body = {"grace_ms": round(grace * 1000)}
        return self._seen(await self._transport.json("POST", f"{self._path}/stop", body, idempotent=True))

    async def update(
        self, *, labels: Optional[Mapping[str, str]] = None, idle_ttl_s: Optional[int] = None, lifetime_s: Optional[int] = None
    ) -> SandboxInfo:
        """``lifetime_s`` counts from now."""
        body = drop_none({"labels": dict(labels) if labels is not None else None, "idle_ttl_s": idle_ttl_s, "lifetime_s": lifetime_s})
        return self._seen(await self._transport.json("PATCH", self._path, body))

    async def resize(self, **params: Any) -> SandboxInfo:
        """Other limits for a living sandbox: ``resize(memory="2GiB", cpu=4)``; ``None`` is the default again. All that are named, or none."""
        if not params:
            raise ValueError("nothing to change: name a parameter, such as memory='2GiB'")
        return self._seen(await self._transport.json("PATCH", self._path, {"params": params}))

    async def fork(
        self,
        count: int = 1,
        *,
        params: Optional[Mapping[str, Any]] = None,
        labels: Optional[Mapping[str, str]] = None,
        task: Optional[str] = None,
        idle_ttl_s: Optional[int] = None,
        lifetime_s: Optional[int] = None,
    ) -> "List[AsyncSandbox]":
        """Copies that go on from here, with the source's limits and labels where nothing else is given. Containers keep the
        file system (commands go on only in the source). When some couldn't be made, ``BatchFailed`` has the others;
        ``Unimplemented`` where the backend hasn't got it."""
        body = drop_none({
            "count": count, "params": dict(params) if params is not None else None,
            "labels": dict(labels) if labels is not None else None,
            "task": task, "idle_ttl_s": idle_ttl_s, "lifetime_s": lifetime_s})
        answer = await self._transport.json(
            "POST", f"{self._path}/fork", body, headers={"Idempotency-Key": uuid.uuid4().hex}, idempotent=True)
        made = {
            int(one["index"]): AsyncSandbox(self._transport, SandboxInfo.from_json(one["sandbox"]), self._default_user)
            for one in answer["results"] if "sandbox" in one}
        failed = {int(one["index"]): errors.error_from_body(one["error"]) for one in answer["results"] if "error" in one}
        if failed:
            raise errors.BatchFailed(failed, list(made.values()))
        return [made[index] for index in sorted(made)]

    async def snapshot(self, name: Optional[str] = None) -> SnapshotInfo:
        """Its state under a name, one in the project (by default the snapshot's id); the sandbox goes on. Containers keep the file
        system. ``create(ContainerArgs(snapshot=...))`` makes others of it."""
        body = drop_none({"name": name})
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        path = f"{self._path}/snapshots"
        # Without a name a repeat would be another snapshot.
        return SnapshotInfo.from_json(await self._transport.json("POST", path, body, headers=headers, idempotent=name is not None))

    async def rollback(self, snapshot: "Union[str, SnapshotInfo]") -> SandboxInfo:
        """Back to a snapshot, by id or by name in the sandbox's project. What runs in the sandbox is ended. Idempotent."""
        body = {"snapshot": snapshot if isinstance(snapshot, str) else snapshot.id}
        return self._seen((await self._transport.json("POST", f"{self._path}/rollback", body, idempotent=True))["sandbox"])

    async def usage(self) -> Dict[str, Any]:
        usage: Dict[str, Any] = await self._transport.json("GET", f"{self._path}/usage")
        return usage

    def _seen(self, body: Mapping[str, Any]) -> SandboxInfo:
        self.info = SandboxInfo.from_json(body)
        return self.info
