"""Images: layers that sandboxes are made from."""

from __future__ import annotations

import os
from typing import Any, AsyncIterator, Dict, List, Optional, Union

from .. import errors
from .._wire import LineSplitter, parse_line, query, segment
from ..types import ImageInfo, Progress, ProgressCallback
from . import _runtime
from ._transport import AsyncTransport

_PIECE_BYTES = 1024 * 1024


class AsyncImages:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self, prefix: Optional[str] = None) -> List[ImageInfo]:
        found: List[ImageInfo] = []
        cursor: Optional[str] = None
        while True:
            page = await self._transport.json("GET", "/images" + query([("prefix", prefix), ("limit", 1000), ("cursor", cursor)]))
            found += [ImageInfo.from_json(image) for image in page["images"]]
            cursor = page.get("next_cursor")
            if not cursor:
                return found

    async def manifest(self, reference: str) -> Dict[str, Any]:
        manifest: Dict[str, Any] = await self._transport.json("GET", f"/images/{segment(reference)}")
        return manifest

    async def tag(self, reference: str, target: str) -> None:
        """Gives the image ``reference`` the further name ``target``."""
        await self._transport.json("POST", "/images/tag", {"reference": reference, "target": target}, idempotent=True)

    async def delete(self, reference: str) -> None:
        await self._transport.json("DELETE", f"/images/{segment(reference)}")

    async def import_image(
        self,
        reference: str,
        *,
        kind: str = "base",
        docker: Optional[str] = None,
        folder: Optional[str] = None,
        archive: Optional[str] = None,
        upload: Union[None, str, "os.PathLike[str]"] = None,
        progress: Optional[ProgressCallback] = None,
    ) -> ImageInfo:
        """From exactly one source: ``docker`` (``docker://python:3.12``), ``folder`` or ``archive`` on the server's
        machine, or ``upload``: a tar file of this machine."""
        sources = {"docker": docker, "folder": folder, "archive": archive}
        given = {key: value for key, value in sources.items() if value is not None}
        if len(given) + (upload is not None) != 1:
            raise ValueError("give one of docker=, folder=, archive= or upload=")
        if upload is None:
            body = {"reference": reference, "kind": kind, "source": given}
            return await self._follow("/images/import", progress, json=body)
        where = "/images/import" + query([("reference", reference), ("kind", kind)])
        content = _tar(os.fspath(upload), progress)
        return await self._follow(where, progress, content=content, headers={"Content-Type": "application/x-tar"})

    async def _follow(self, where: str, progress: Optional[ProgressCallback], **request: Any) -> ImageInfo:
        splitter = LineSplitter()
        # A large layer may be unpacked for minutes between two lines.
        async with self._transport.stream("POST", where, read_timeout=1800.0, **request) as response:
            async for piece in response.aiter_bytes():
                for line in splitter.feed(piece):
                    event = parse_line(line)
                    if "error" in event:
                        raise errors.error_from_body(event["error"])
                    if "image" in event:
                        return ImageInfo.from_json(event["image"])
                    if "progress" in event and progress is not None:
                        step = event["progress"]
                        progress(Progress(str(step.get("step", "")), int(step.get("done") or 0), step.get("total")))
        raise errors.ConnectionLost("the import's progress ended without a result; importing again is safe")


async def _tar(path: str, progress: Optional[ProgressCallback]) -> AsyncIterator[bytes]:
    total, done = os.path.getsize(path), 0
    with open(path, "rb") as file:
        while True:
            piece = await _runtime.in_thread(file.read, _PIECE_BYTES)
            if not piece:
                return
            done += len(piece)
            if progress is not None:
                progress(Progress("uploading", done, total))
            yield piece
