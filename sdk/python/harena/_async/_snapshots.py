"""Snapshots: states of sandboxes that others are made of, and that they go back to."""

from __future__ import annotations

from typing import Any, AsyncIterator, List, Optional, Union

from .._wire import query, segment
from ..types import SnapshotInfo
from ._transport import AsyncTransport


class AsyncSnapshots:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(
        self, *, project: Optional[str] = None, name: Optional[str] = None, sandbox: Optional[str] = None
    ) -> AsyncIterator[SnapshotInfo]:
        """Page by page, ordered by id."""
        cursor: Optional[str] = None
        while True:
            pairs: List[Any] = [("project", project), ("name", name), ("sandbox", sandbox), ("limit", 1000), ("cursor", cursor)]
            page = await self._transport.json("GET", "/snapshots" + query(pairs))
            for one in page["snapshots"]:
                yield SnapshotInfo.from_json(one)
            cursor = page.get("next_cursor")
            if not cursor:
                return

    async def get(self, snapshot: str, *, project: Optional[str] = None) -> SnapshotInfo:
        """By id, or by name in ``project`` (the token's own by default)."""
        return SnapshotInfo.from_json(await self._transport.json("GET", self._path(snapshot, project)))

    async def delete(self, snapshot: Union[str, SnapshotInfo], *, project: Optional[str] = None) -> None:
        """What was made of it goes on."""
        text = snapshot if isinstance(snapshot, str) else snapshot.id
        await self._transport.json("DELETE", self._path(text, project))

    @staticmethod
    def _path(snapshot: str, project: Optional[str]) -> str:
        return f"/snapshots/{segment(snapshot)}" + query([("project", project)])
