"""The counterpart of ``_async/_runtime.py``, with threads in the place of tasks. Written by hand."""

from __future__ import annotations

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Callable, Iterable, Iterator, Optional, Set, TypeVar

T = TypeVar("T")

sleep = time.sleep


def in_thread(function: Callable[..., T], *args: Any) -> T:
    """Blocking work is what this world does anyway."""
    return function(*args)


def shielded(function: Callable[..., Any], *args: Any, timeout: float) -> None:
    """Runs a clean-up in a thread, waits at most ``timeout`` seconds for it and swallows its failure."""
    worker = Background()
    worker.start(function, *args)
    worker.wait(timeout)


class closing:
    """``contextlib.closing`` for what is typed as a mere iterator: ends a generator when the block is left."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __enter__(self) -> Any:
        return self._generator

    def __exit__(self, *exc: Any) -> None:
        self._generator.close()


class Background:
    """Work beside the caller's: ``start``, then ``finish`` to wait for it, or ``abandon``."""

    def __init__(self) -> None:
        self._thread: Optional[threading.Thread] = None
        self._error: Optional[BaseException] = None

    def start(self, function: Callable[..., Any], *args: Any) -> None:
        self._thread = threading.Thread(target=self._run, args=(function, args), daemon=True)
        self._thread.start()

    def finish(self) -> None:
        self.wait(None)
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """A thread can't be cancelled: it ends with its own request, which nobody waits for."""

    def wait(self, timeout: Optional[float]) -> None:
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self, function: Callable[..., Any], args: Any) -> None:
        try:
            function(*args)
        except BaseException as error:  # handed to finish()
            self._error = error


def quietly(worker: Background) -> None:
    """Waits for its end, whatever that is."""
    try:
        worker.finish()
    except Exception:
        pass


def map_parallel(function: Callable[[Any], T], items: Iterable[Any], limit: int) -> Iterator[T]:
    """``function`` of each item, at most ``limit`` at once, results as they come. The first failure ends it all."""
    pending: Set["Future[T]"] = set()
    iterator = iter(items)
    exhausted = False
    with ThreadPoolExecutor(max_workers=limit, thread_name_prefix="harena") as pool:
        try:
            while True:
                while not exhausted and len(pending) < limit:
                    try:
                        pending.add(pool.submit(function, next(iterator)))
                    except StopIteration:
                        exhausted = True
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in pending:
                future.cancel()
