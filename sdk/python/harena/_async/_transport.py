"""HTTP with the rules of docs/http-api.md: errors as exceptions, and repetition of what may be repeated."""

from __future__ import annotations

import random
import time
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Callable, Dict, Mapping, Optional

import httpx

from .. import errors
from .._config import Config
from .._version import __version__
from ..errors import HarenaError
from ..types import RetryPolicy, Timeouts
from . import _runtime


class AsyncTransport:
    def __init__(
        self,
        config: Config,
        timeouts: Timeouts,
        retry: RetryPolicy,
        http: Optional[httpx.AsyncClient] = None,
        verify: Any = True,
    ) -> None:
        self.config = config
        self.timeouts = timeouts
        self.retry = retry
        self._owns_http = http is None
        self.http = http or httpx.AsyncClient(
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            verify=verify,
            follow_redirects=False,
            # A proxy that the environment names is for the outside world.
            trust_env=not config.loopback,
        )

    async def aclose(self) -> None:
        if self._owns_http:
            await self.http.aclose()

    def headers(self, extra: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
        headers = {"Authorization": f"Bearer {self.config.token}", "User-Agent": f"harena-python/{__version__}"}
        headers.update(extra or {})
        return headers

    async def json(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The decoded answer; None for an empty one."""
        response = await self.request(method, path, json=body, **options)
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError:
            raise errors.InternalError(
                f"{method} {path}: the answer isn't JSON but {response.content[:80]!r}; is {self.config.base_url} a Harena server?"
            ) from None

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: Optional[Callable[[], Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        idempotent: Optional[bool] = None,
        timeout: Optional[float] = None,
        read_timeout: Optional[float] = None,
        repeat_silence: bool = True,
        begun: bool = False,
    ) -> httpx.Response:
        """One call. ``content`` makes the body anew for each try. ``timeout`` bounds the whole call with its
        repetitions, ``read_timeout`` the silence of one try, after which it isn't repeated without ``repeat_silence``. ``begun``: a part of something that has begun."""
        attempts = self.stream_attempts() if begun else self._attempts(method, idempotent, timeout)
        while True:
            try:
                response = await self.http.request(
                    method,
                    self.config.base_url + path,
                    json=json,
                    content=content() if content else None,
                    headers=self.headers(headers),
                    timeout=self._httpx_timeout(attempts.remaining(), read_timeout),
                )
                if response.is_success:
                    return response
                error = _error_of(response)
            except httpx.TransportError as failure:
                error = self._transport_error(failure, attempts, read_timeout)
                if isinstance(error, errors.ReadTimeout) and not repeat_silence:
                    raise error from None
            await _runtime.sleep(attempts.next_delay(error))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        idempotent: Optional[bool] = None,
        read_timeout: Optional[float] = None,
        accept_status: int = 200,
        repeat: bool = True,
    ) -> AsyncIterator[httpx.Response]:
        """An answer to be read piece by piece. Its beginning is repeated like any call; what breaks after that is
        raised as a ``TransportError`` inside the block. Without ``repeat`` there is one try: the caller goes on by itself."""
        attempts = self._attempts(method, idempotent, None)
        if not repeat:
            attempts = Attempts(self.retry, False, None, 1)
        while True:
            request = self.http.build_request(
                method,
                self.config.base_url + path,
                json=json,
                content=content,
                headers=self.headers(headers),
                timeout=self._httpx_timeout(None, read_timeout),
            )
            try:
                response = await self.http.send(request, stream=True)
                if response.is_success or response.status_code == accept_status:
                    break
                await response.aread()
                error = _error_of(response)
            except httpx.TransportError as failure:
                error = self._transport_error(failure, attempts, read_timeout)
            await _runtime.sleep(attempts.next_delay(error))
        try:
            yield response
        except httpx.TransportError as failure:
            raise self._transport_error(failure, attempts, read_timeout) from failure
        finally:
            await response.aclose()

    def _attempts(self, method: str, idempotent: Optional[bool], timeout: Optional[float]) -> "Attempts":
        if idempotent is None:
            idempotent = method in ("GET", "HEAD", "PUT", "DELETE", "PATCH")
        return Attempts(self.retry, idempotent, timeout)

    def _httpx_timeout(self, remaining: Optional[float], read_timeout: Optional[float]) -> httpx.Timeout:
        def bound(seconds: float) -> float:
            return seconds if remaining is None else max(0.001, min(seconds, remaining))

        # With a limit for the whole call it alone decides how long the server may think.
        read = read_timeout or (self.timeouts.read if remaining is None else remaining)
        return httpx.Timeout(
            connect=bound(self.timeouts.connect), read=bound(read), write=bound(self.timeouts.write), pool=None)

    def stream_attempts(self) -> "Attempts":
        """For what has begun and can go on where it broke."""
        return Attempts(self.retry, True, None, self.retry.stream_attempts)

    def wrap(self, failure: httpx.TransportError) -> errors.TransportError:
        """What went wrong on the way, in this SDK's words."""
        return self._transport_error(failure, self._attempts("GET", None, None), None)

    def _transport_error(
        self, failure: httpx.TransportError, attempts: "Attempts", read_timeout: Optional[float]
    ) -> errors.TransportError:
        where = self.config.base_url
        if isinstance(failure, httpx.ConnectTimeout):
            return errors.ConnectTimeout(f"no connection to {where} within {self.timeouts.connect:g} s")
        if isinstance(failure, httpx.ConnectError):
            return errors.ConnectError(f"can't connect to {where}: {failure}; is harenad running there?")
        if isinstance(failure, httpx.WriteTimeout):
            return errors.WriteTimeout(f"{where} took nothing of what was being sent for {self.timeouts.write:g} s")
        if isinstance(failure, httpx.TimeoutException):
            limit = read_timeout or attempts.timeout or self.timeouts.read
            return errors.ReadTimeout(f"{where} was silent for {limit:g} s")
        if isinstance(failure, httpx.UnsupportedProtocol):
            return errors.ConnectError(str(failure))
        return errors.ConnectionLost(f"the connection to {where} was lost: {failure or type(failure).__name__}")


class Attempts:
    """Decides whether, and when, a failed call is made again."""

    def __init__(
        self, policy: RetryPolicy, idempotent: bool, timeout: Optional[float], most: Optional[int] = None
    ) -> None:
        self._policy = policy
        self._most = policy.attempts if most is None else most
        self._idempotent = idempotent
        self.timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._count = 0

    def remaining(self) -> Optional[float]:
        return None if self._deadline is None else self._deadline - time.monotonic()

    def next_delay(self, error: HarenaError) -> float:
        """Seconds to wait before the next try; raises ``error`` when there is none."""
        self._count += 1
        if self._count >= self._most or not self._may_repeat(error):
            raise error
        delay = self._policy.delay(self._count, random.random())
        retry_after = error.details.get("retry_after_s")
        if isinstance(retry_after, (int, float)):
            delay = max(delay, float(retry_after))
        remaining = self.remaining()
        if remaining is not None and delay >= remaining:
            raise error
        return delay

    def _may_repeat(self, error: HarenaError) -> bool:
        if isinstance(error, errors.TransportError):
            return error.not_sent or self._idempotent
        # "retry" of an answer says that the server undid all of it: even a creation may be asked again.
        if error.retry in ("same_node", "other_node"):
            return True
        # A proxy in between (no Harena error in the body) that found no server behind it.
        return self._idempotent and error.status in (502, 503, 504) and "proxied" in error.details


def _error_of(response: httpx.Response) -> HarenaError:
    try:
        body = response.json().get("error")
    except (ValueError, AttributeError):
        body = None
    error = errors.error_from_body(body, response.status_code)
    if body is None:
        error.details["proxied"] = True
    retry_after = response.headers.get("Retry-After", "")
    if retry_after.isdigit():
        error.details["retry_after_s"] = int(retry_after)
    return error
