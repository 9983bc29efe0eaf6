"""One sandbox."""

from __future__ import annotations

import uuid
from typing import Any, Dict, List, Mapping, Optional

from .._wire import drop_none, segment
from ..types import CommandResult, SandboxInfo
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

    async def fork(self, count: int = 1) -> "List[AsyncSandbox]":
        """Copies that go on from here; ``Unimplemented`` where the backend hasn't got it."""
        answer = await self._transport.json(
            "POST", f"{self._path}/fork", {"count": count}, headers={"Idempotency-Key": uuid.uuid4().hex}, idempotent=True)
        return [
            AsyncSandbox(self._transport, SandboxInfo.from_json(one), self._default_user) for one in answer["sandboxes"]]

    async def usage(self) -> Dict[str, Any]:
        usage: Dict[str, Any] = await self._transport.json("GET", f"{self._path}/usage")
        return usage

    def _seen(self, body: Mapping[str, Any]) -> SandboxInfo:
        self.info = SandboxInfo.from_json(body)
        return self.info
