"""The client: where everything begins."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Union

import httpx

from .. import errors
from .._config import discover
from .._wire import LineSplitter, drop_none, parse_line, query, segment
from ..args import SandboxArgs
from ..types import BackendInfo, RetryPolicy, SandboxInfo, Timeouts
from . import _runtime
from ._images import AsyncImages
from ._sandbox import AsyncSandbox
from ._snapshots import AsyncSnapshots
from ._transport import AsyncTransport

_BATCH_LIMIT = 10_000
#: Of silence in a batch: creations that wait for capacity may take their time.
_BATCH_SILENCE_S = 600.0


@dataclass(frozen=True)
class AsyncBatchItem:
    """One of a batch: a sandbox, or why there is none."""

    index: int
    sandbox: Optional[AsyncSandbox] = None
    error: Optional[errors.HarenaError] = None


class AsyncClient:
    """Talks to a Harena server. Safe to share between tasks; connections are pooled.

    ``url`` and ``token``: as given, else HARENA_URL and HARENA_TOKEN, else this machine's server with the admin token
    file, when it may be read.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        timeouts: Optional[Timeouts] = None,
        retry: Optional[RetryPolicy] = None,
        verify: Any = True,
        http: Optional[httpx.AsyncClient] = None,
    ) -> None:
        self._transport = AsyncTransport(discover(url, token), timeouts or Timeouts(), retry or RetryPolicy(), http, verify)
        self.images = AsyncImages(self._transport)
        self.snapshots = AsyncSnapshots(self._transport)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def create(
        self,
        args: SandboxArgs,
        *,
        timeout: Optional[float] = None,
        idempotency_key: Optional[str] = None,
        default_user: Optional[str] = None,
    ) -> AsyncSandbox:
        """Makes a sandbox and returns when it runs. A lost reply never makes a second one: the creation has a key,
        made here when not given. ``timeout`` (seconds) bounds all of it, repetitions included."""
        answer = await self._transport.json(
            "POST", _backend_path(args), args.body(), timeout=timeout or 600.0, idempotent=True,
            headers={"Idempotency-Key": idempotency_key or uuid.uuid4().hex})
        return AsyncSandbox(self._transport, SandboxInfo.from_json(answer), default_user)

    async def create_batch(
        self, args: Union[SandboxArgs, Sequence[SandboxArgs]], count: Optional[int] = None
    ) -> AsyncIterator[AsyncSandbox]:
        """Makes ``count`` alike, or one of each in a list (all of one backend), and yields each as it is ready, in that
        order. When some couldn't be made, ``BatchFailed`` comes after the last of the others, and names them all."""
        made: List[AsyncSandbox] = []
        failed: Dict[int, errors.HarenaError] = {}
        async with _runtime.closing(self.create_batch_items(args, count)) as items:
            async for item in items:
                if item.error is not None:
                    failed[item.index] = item.error
                else:
                    made.append(item.sandbox)
                    yield item.sandbox
        if failed:
            raise errors.BatchFailed(failed, made)

    async def create_batch_items(
        self, args: Union[SandboxArgs, Sequence[SandboxArgs]], count: Optional[int] = None
    ) -> AsyncIterator[AsyncBatchItem]:
        """``create_batch`` for callers that want to know which of their requests became what: yields (index, sandbox or
        error). A lost connection, or a restart of the server, is taken up again; what exists already isn't made twice."""
        wanted = _batch_args(args, count)
        if not wanted:
            return
        path = _backend_path(wanted[0]) + ":batch"
        key = uuid.uuid4().hex
        missing = {index: {**one.body(), "idempotency_key": f"{key}/{index}"} for index, one in enumerate(wanted)}
        attempts = self._transport.stream_attempts()
        while missing:
            order = sorted(missing)
            lost: Optional[errors.HarenaError] = None
            try:
                async with _runtime.closing(self._batch_lines(path, [missing[index] for index in order])) as lines:
                    async for line in lines:
                        index = order[int(line["index"])]
                        if _is_draining(line):
                            lost = errors.error_from_body(line["error"])
                            continue
                        if missing.pop(index, None) is None:
                            continue
                        attempts = self._transport.stream_attempts()
                        yield self._batch_item(index, line)
            except errors.HarenaError as error:
                lost = error
            if missing:
                await _runtime.sleep(attempts.next_delay(lost or errors.ConnectionLost(
                    f"the batch ended with {len(missing)} of {len(wanted)} unanswered")))

    async def _batch_lines(self, path: str, requests: List[Dict[str, Any]]) -> AsyncIterator[Dict[str, Any]]:
        splitter = LineSplitter()
        async with self._transport.stream(
            "POST", path, json={"requests": requests}, read_timeout=_BATCH_SILENCE_S, repeat=False
        ) as response:
            async for piece in response.aiter_bytes():
                for raw in splitter.feed(piece):
                    line = parse_line(raw)
                    if "index" in line:
                        yield line
                    elif "error" in line:
                        raise errors.error_from_body(line["error"])

    def _batch_item(self, index: int, line: Mapping[str, Any]) -> AsyncBatchItem:
        if "error" in line:
            return AsyncBatchItem(index, error=errors.error_from_body(line["error"]))
        return AsyncBatchItem(index, sandbox=AsyncSandbox(self._transport, SandboxInfo.from_json(line["sandbox"])))

    async def get(self, sandbox_id: str, *, default_user: Optional[str] = None) -> AsyncSandbox:
        answer = await self._transport.json("GET", f"/sandboxes/{segment(sandbox_id)}")
        return AsyncSandbox(self._transport, SandboxInfo.from_json(answer), default_user)

    async def list(
        self,
        *,
        project: Optional[str] = None,
        task: Optional[str] = None,
        backend: Optional[str] = None,
        states: Sequence[str] = (),
        labels: Optional[Mapping[str, str]] = None,
    ) -> AsyncIterator[AsyncSandbox]:
        """Page by page, ordered by id."""
        cursor: Optional[str] = None
        while True:
            pairs: List[Any] = [
                ("project", project), ("task", task), ("backend", backend), ("state", ",".join(states) or None)]
            pairs += [("label", f"{key}={value}") for key, value in (labels or {}).items()]
            page = await self._transport.json("GET", "/sandboxes" + query(pairs + [("limit", 1000), ("cursor", cursor)]))
            for one in page["sandboxes"]:
                yield AsyncSandbox(self._transport, SandboxInfo.from_json(one))
            cursor = page.get("next_cursor")
            if not cursor:
                return

    async def backends(self) -> List[BackendInfo]:
        return [BackendInfo.from_json(one) for one in (await self._transport.json("GET", "/backends"))["backends"]]

    async def version(self) -> Dict[str, Any]:
        return await self._get("/version")

    async def whoami(self) -> Dict[str, Any]:
        return await self._get("/whoami")

    async def openapi(self) -> Dict[str, Any]:
        return await self._get("/openapi.json")

    async def plugins(self) -> List[Dict[str, Any]]:
        return list((await self._get("/plugins"))["plugins"])

    async def nodes(self) -> List[Dict[str, Any]]:
        return list((await self._get("/nodes"))["nodes"])

    async def doctor(self) -> List[Dict[str, Any]]:
        return list((await self._get("/doctor"))["findings"])

    async def projects(self) -> List[Dict[str, Any]]:
        return await self._all("projects")

    async def create_project(self, path: str) -> Dict[str, Any]:
        answer: Dict[str, Any] = await self._transport.json("POST", "/projects", {"path": path})
        return answer

    async def delete_project(self, path: str) -> None:
        await self._transport.json("DELETE", f"/projects/{segment(path)}")

    async def tokens(self) -> List[Dict[str, Any]]:
        return await self._all("tokens")

    async def create_token(
        self, name: str, permissions: Sequence[str], *, project: Optional[str] = None, expires_s: Optional[int] = None
    ) -> Dict[str, Any]:
        """``permissions``: ``sandbox_create``, ``sandbox_use``, ... as docs/operator.md lists them. The answer holds the
        secret, which nothing shows again."""
        body = drop_none({"name": name, "project": project, "permissions": list(permissions), "expires_s": expires_s})
        answer: Dict[str, Any] = await self._transport.json("POST", "/tokens", body)
        return answer

    async def delete_token(self, token_id: str) -> None:
        await self._transport.json("DELETE", f"/tokens/{segment(token_id)}")

    async def _all(self, name: str) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = []
        cursor: Optional[str] = None
        while True:
            page = await self._get(f"/{name}" + query([("limit", 1000), ("cursor", cursor)]))
            found += page[name]
            cursor = page.get("next_cursor")
            if not cursor:
                return found

    async def _get(self, path: str) -> Dict[str, Any]:
        answer: Dict[str, Any] = await self._transport.json("GET", path)
        return answer


def _is_draining(line: Mapping[str, Any]) -> bool:
    """The server is being stopped and hasn't begun with this one: it is for its successor."""
    return ((line.get("error") or {}).get("details") or {}).get("cause_detail") == "draining"


def _backend_path(args: SandboxArgs) -> str:
    name = args.backend_name()
    if not name:
        raise ValueError("SandboxArgs has no backend: use ContainerArgs, MicroVMArgs, QemuArgs, FnCallArgs or BackendArgs")
    return f"/backends/{segment(name)}/sandboxes"


def _batch_args(args: Union[SandboxArgs, Sequence[SandboxArgs]], count: Optional[int]) -> List[SandboxArgs]:
    if isinstance(args, SandboxArgs):
        wanted = [args] * (1 if count is None else count)
    elif count is not None:
        raise ValueError("count= goes with one set of arguments, not with a list of them")
    else:
        wanted = list(args)
    if len(wanted) > _BATCH_LIMIT:
        raise ValueError(f"{len(wanted)} sandboxes: a batch has at most {_BATCH_LIMIT}")
    backends = {one.backend_name() for one in wanted}
    if len(backends) > 1:
        raise ValueError(f"a batch is for one backend, not {', '.join(sorted(backends))}: make one batch for each")
    return wanted
