"""What differs between the two worlds beyond spelling. Its counterpart in ``_sync`` is written by hand."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Awaitable, Callable, Iterable, Optional, TypeVar

T = TypeVar("T")

sleep = asyncio.sleep


async def in_thread(function: Callable[..., T], *args: Any) -> T:
    """Blocking work on local files, away from the event loop."""
    return await asyncio.to_thread(function, *args)


async def shielded(function: Callable[..., Awaitable[Any]], *args: Any, timeout: float) -> None:
    """Runs a clean-up to its end (at most ``timeout`` seconds) though the caller is being cancelled; swallows its failure."""
    task = asyncio.ensure_future(asyncio.wait_for(function(*args), timeout))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=timeout)
    except Exception:
        pass
    if task.done() and not task.cancelled():
        task.exception()


class closing:
    """``contextlib.aclosing``, which Python 3.9 hasn't got: ends a generator when the block is left, not some time later."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    async def __aenter__(self) -> Any:
        return self._generator

    async def __aexit__(self, *exc: Any) -> None:
        await self._generator.aclose()


class Background:
    """Work beside the caller's: ``start``, then ``finish`` to wait for it, or ``abandon``."""

    def __init__(self) -> None:
        self._task: Optional["asyncio.Task[Any]"] = None

    def start(self, function: Callable[..., Any], *args: Any) -> None:
        self._task = asyncio.ensure_future(function(*args))

    async def finish(self) -> None:
        if self._task is not None:
            await self._task

    async def abandon(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.exception()


async def quietly(worker: Background) -> None:
    """Waits for its end, whatever that is."""
    try:
        await worker.finish()
    except Exception:
        pass


async def map_parallel(function: Callable[[Any], Awaitable[T]], items: Iterable[Any], limit: int) -> AsyncIterator[T]:
    """``function`` of each item, at most ``limit`` at once, results as they come. The first failure ends it all."""
    pending: "set[asyncio.Future[T]]" = set()
    iterator = iter(items)
    exhausted = False
    try:
        while True:
            while not exhausted and len(pending) < limit:
                try:
                    pending.add(asyncio.ensure_future(function(next(iterator))))
                except StopIteration:
                    exhausted = True
            if not pending:
                return
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        for future in pending:
            future.cancel()
        if pending:
            await asyncio.wait(pending)
