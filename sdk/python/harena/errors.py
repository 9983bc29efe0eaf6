"""Exceptions, by cause and by code.

Every failure that the server reports is a :class:`HarenaError` and belongs to two families at once, so that either can
be caught:

* by **cause**, which tells a bad agent from a bad machine: :class:`AgentError`, :class:`LimitError`,
  :class:`InfrastructureError`;
* by **code**, one of the 16 canonical ones: :class:`NotFound`, :class:`ResourceExhausted`, ...

What the server never got to say (it couldn't be reached, it didn't answer in time) is a :class:`TransportError`, and
always an :class:`InfrastructureError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Tuple, Type

if TYPE_CHECKING:
    from .types import CommandResult


class HarenaError(Exception):
    """Something that was asked of Harena failed. ``str(error)`` is the server's sentence."""

    code: str = "unknown"
    cause: str = "none"

    def __init__(
        self,
        message: str,
        *,
        code: Optional[str] = None,
        cause: Optional[str] = None,
        retry: str = "never",
        details: Optional[Mapping[str, Any]] = None,
        status: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        if cause is not None:
            self.cause = cause
        #: ``never``, ``same_node`` or ``other_node``: where a repetition may succeed.
        self.retry = retry
        self.details: Dict[str, Any] = dict(details or {})
        #: The HTTP status; None for what didn't come from an HTTP answer.
        self.status = status

    @property
    def cause_detail(self) -> Optional[str]:
        """Which limit (``memory``, ``pids``, ...) or which part of the infrastructure (``edge``, ...)."""
        value = self.details.get("cause_detail")
        return None if value is None else str(value)

    def __reduce__(self) -> Any:
        return (_rebuild, (self.code, self.cause, self.message, self.retry, self.details, self.status))


class AgentError(HarenaError):
    """The agent's own doing: retrying elsewhere gives the same result."""

    cause = "agent"


class LimitError(HarenaError):
    """A limit that somebody set was reached: :attr:`cause_detail` names it."""

    cause = "limit"


class InfrastructureError(HarenaError):
    """The platform's or the machine's doing: never to be counted against an agent."""

    cause = "infrastructure"


class Cancelled(HarenaError):
    code = "cancelled"


class UnknownError(HarenaError):
    code = "unknown"


class InvalidArgument(HarenaError):
    code = "invalid_argument"


class DeadlineExceeded(HarenaError):
    code = "deadline_exceeded"


class NotFound(HarenaError):
    code = "not_found"


class AlreadyExists(HarenaError):
    code = "already_exists"


class PermissionDenied(HarenaError):
    code = "permission_denied"


class ResourceExhausted(HarenaError):
    code = "resource_exhausted"


class FailedPrecondition(HarenaError):
    code = "failed_precondition"


class Aborted(HarenaError):
    code = "aborted"


class OutOfRange(HarenaError):
    code = "out_of_range"


class Unimplemented(HarenaError):
    code = "unimplemented"


class InternalError(HarenaError):
    code = "internal"


class Unavailable(HarenaError):
    code = "unavailable"


class DataLoss(HarenaError):
    code = "data_loss"


class Unauthenticated(HarenaError):
    code = "unauthenticated"


class TransportError(InfrastructureError, Unavailable):
    """The server couldn't be reached, or the connection was lost before it answered."""

    #: True when nothing can have arrived: repeating even what isn't idempotent is safe.
    not_sent = False

    def __reduce__(self) -> Any:
        return (type(self), (self.message,))


class ConnectError(TransportError):
    """No connection: nobody listens there, the name doesn't resolve, TLS failed."""

    code = "unavailable"
    not_sent = True


class ConnectTimeout(ConnectError, DeadlineExceeded):
    """No connection within ``Timeouts.connect``."""

    code = "deadline_exceeded"


class ReadTimeout(TransportError, DeadlineExceeded):
    """Connected, but no sign of life within ``Timeouts.read``, or no answer within ``timeout=``."""

    code = "deadline_exceeded"


class WriteTimeout(TransportError, DeadlineExceeded):
    """Connected, but the server took nothing of what was being sent for ``Timeouts.write``."""

    code = "deadline_exceeded"


class ConnectionLost(TransportError):
    """The connection broke after the request may have been sent."""


class CommandError(HarenaError):
    """A command ran and didn't end well. :attr:`result` is all that is known, partial output included."""

    def __init__(self, message: str, result: "CommandResult") -> None:
        super().__init__(message, details={"cause_detail": result.exit.cause})
        self.result = result

    def __reduce__(self) -> Any:
        return (type(self), (self.message, self.result))


class CommandFailed(CommandError, AgentError):
    """It exited with a code other than 0, or by a signal of its own (``check=True``)."""

    code = "aborted"


class CommandTimeout(CommandError, LimitError):
    """Its ``timeout`` ended it, or its ``no_output_timeout`` (:class:`CommandNoOutputTimeout`), with ``check=True``. Not to be
    confused with :class:`ReadTimeout`."""

    code = "deadline_exceeded"


class CommandNoOutputTimeout(CommandTimeout):
    """It printed nothing for its ``no_output_timeout`` (``check=True``)."""


class CommandLimit(CommandError, LimitError):
    """A limit ended it: memory, pids, disk or output (``check=True``)."""

    code = "resource_exhausted"


class CommandLost(CommandError, InfrastructureError):
    """The platform ended it, or lost it. Always raised, whatever ``check`` says: it is no result of the agent's."""

    code = "unavailable"


class BatchFailed(HarenaError):
    """Some of a batch couldn't be made. ``errors`` maps their indexes to why; ``sandboxes`` are those that were."""

    def __init__(self, errors: Mapping[int, HarenaError], sandboxes: Sequence[Any] = ()) -> None:
        first = errors[min(errors)]
        total = len(errors) + len(sandboxes)
        super().__init__(
            f"{len(errors)} of {total} sandboxes couldn't be made; number {min(errors)}: {first}",
            code=first.code, cause=first.cause, retry=first.retry, details=first.details, status=first.status)
        self.errors = dict(errors)
        self.sandboxes = list(sandboxes)

    def __reduce__(self) -> Any:
        return (BatchFailed, (self.errors,))


_BY_CODE: Dict[str, Type[HarenaError]] = {
    cls.code: cls
    for cls in (
        Cancelled, UnknownError, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, PermissionDenied,
        ResourceExhausted, FailedPrecondition, Aborted, OutOfRange, Unimplemented, InternalError, Unavailable, DataLoss,
        Unauthenticated,
    )
}
_BY_CAUSE: Dict[str, Type[HarenaError]] = {cls.cause: cls for cls in (AgentError, LimitError, InfrastructureError)}
_COMBINED: Dict[Tuple[str, str], Type[HarenaError]] = {}


def class_for(code: str, cause: str) -> Type[HarenaError]:
    """The class for a code and a cause: it inherits from the classes of both."""
    by_code = _BY_CODE.get(code, UnknownError)
    by_cause = _BY_CAUSE.get(cause)
    if by_cause is None:
        return by_code
    key = (by_code.code, cause)
    if key not in _COMBINED:
        name = f"{by_code.__name__}({by_cause.__name__})"
        _COMBINED[key] = type(name, (by_code, by_cause), {"code": by_code.code, "cause": cause, "__module__": __name__})
    return _COMBINED[key]


def error_from_body(body: Any, status: Optional[int] = None) -> HarenaError:
    """From the ``error`` object of an answer. Anything odd still becomes an error, never a crash."""
    if not isinstance(body, Mapping):
        return class_for(_code_of_status(status), "none")(f"the server answered HTTP {status} without saying why", status=status)
    code = str(body.get("code", _code_of_status(status)))
    cause = str(body.get("cause", "none"))
    details = body.get("details")
    return class_for(code, cause)(
        str(body.get("message", "the server gave no message")),
        code=code,
        cause=cause,
        retry=str(body.get("retry", "never")),
        details=details if isinstance(details, Mapping) else {},
        status=status,
    )


_STATUS_CODES = {
    400: "invalid_argument", 401: "unauthenticated", 403: "permission_denied", 404: "not_found", 409: "failed_precondition",
    416: "out_of_range", 429: "resource_exhausted", 500: "internal", 501: "unimplemented", 502: "unavailable",
    503: "unavailable", 504: "deadline_exceeded",
}


def _code_of_status(status: Optional[int]) -> str:
    return _STATUS_CODES.get(status or 0, "unknown")


def _rebuild(code: str, cause: str, message: str, retry: str, details: Dict[str, Any], status: Optional[int]) -> HarenaError:
    return class_for(code, cause)(message, code=code, cause=cause, retry=retry, details=details, status=status)
