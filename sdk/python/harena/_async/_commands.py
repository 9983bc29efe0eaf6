"""Commands in a sandbox: run to the end, or start and follow."""

from __future__ import annotations

import base64
import uuid
from typing import Any, AsyncIterator, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union

from .. import errors
from .._wire import LineSplitter, bytes_field, command_body, drop_none, milliseconds, parse_line, query, segment
from ..types import CommandInfo, CommandResult, ExitStatus, OutputChunk
from . import _runtime
from ._transport import AsyncTransport

CommandLine = Union[str, Sequence[str]]
OutputCallback = Callable[[bytes], Any]

#: How long one request waits for a command before following its output takes over: long enough for nearly all of an
#: agent's commands to need one round trip, short enough for any proxy in between.
_FAST_WAIT_S = 20.0
#: The server sends a sign of life every 15 s; twice that and a bit of silence is a dead connection.
_SILENCE_S = 40.0
#: Input up to here travels with the start.
_INLINE_STDIN_BYTES = 256 * 1024
_STDIN_PIECE_BYTES = 1024 * 1024
_CLEANUP_S = 10.0


class AsyncCommand:
    """A command that was started. It runs on, whatever becomes of this object or of the connection."""

    def __init__(self, transport: AsyncTransport, sandbox_id: str, info: CommandInfo) -> None:
        self._transport = transport
        self._path = f"/sandboxes/{segment(sandbox_id)}/commands/{segment(info.id)}"
        # Where the one before us left off, when the command is an old one.
        self._stdin_offset = int(info.raw.get("stdin_bytes") or 0)
        self.info = info
        #: Known once the end has been seen by ``stream``, ``wait``, ``result`` or ``refresh``.
        self.exit: Optional[ExitStatus] = info.exit

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def op(self) -> str:
        return self.info.op

    async def refresh(self) -> CommandInfo:
        self.info = CommandInfo.from_json(await self._transport.json("GET", self._path))
        self.exit = self.info.exit or self.exit
        return self.info

    async def stream(
        self, stdout_offset: int = 0, stderr_offset: int = 0, follow: bool = True
    ) -> AsyncIterator[OutputChunk]:
        """What it prints, from these offsets, until it has ended (``exit`` is set then). A lost connection is taken up
        again where it broke: no byte is lost, none comes twice. Any number of readers may do this at once."""
        position = {"stdout": stdout_offset, "stderr": stderr_offset}
        truncated: Set[str] = set()
        attempts = self._transport.stream_attempts()
        while True:
            try:
                async with _runtime.closing(self._events(position, follow)) as events:
                    async for event in events:
                        if "exit" in event:
                            self.exit = ExitStatus.from_json(event["exit"])
                            return
                        if "error" in event:
                            raise errors.error_from_body(event["error"])
                        attempts = self._transport.stream_attempts()
                        chunk = _chunk(event, position, truncated)
                        if chunk is not None:
                            yield chunk
                if not follow:
                    return
                lost: errors.HarenaError = errors.ConnectionLost("the output stream ended without an exit status")
            except errors.HarenaError as error:
                lost = error
            await _runtime.sleep(attempts.next_delay(lost))

    async def _events(self, position: Dict[str, int], follow: bool) -> AsyncIterator[Dict[str, Any]]:
        where = query([("stdout_offset", position["stdout"]), ("stderr_offset", position["stderr"]), ("follow", follow)])
        splitter = LineSplitter()
        async with self._transport.stream("GET", f"{self._path}/output{where}", read_timeout=_SILENCE_S, repeat=False) as response:
            async for piece in response.aiter_bytes():
                for line in splitter.feed(piece):
                    yield parse_line(line)

    async def wait(self) -> ExitStatus:
        """Until it has ended; its output isn't fetched."""
        if self.exit is None:
            await self.refresh()
        if self.exit is None:
            try:
                async for _ in self.stream(self.info.stdout_bytes, self.info.stderr_bytes):
                    pass
            except errors.OutOfRange:  # more was printed than was kept
                async for _ in self.stream():
                    pass
        assert self.exit is not None
        return self.exit

    async def result(
        self, on_stdout: Optional[OutputCallback] = None, on_stderr: Optional[OutputCallback] = None
    ) -> CommandResult:
        """Until it has ended, with all that it printed. The callbacks get the bytes as they come."""
        pieces: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        truncated = {"stdout": False, "stderr": False}
        callbacks = {"stdout": on_stdout, "stderr": on_stderr}
        async for chunk in self.stream():
            pieces[chunk.stream].append(chunk.data)
            truncated[chunk.stream] = truncated[chunk.stream] or chunk.truncated
            callback = callbacks[chunk.stream]
            if callback is not None and chunk.data:
                callback(chunk.data)
        assert self.exit is not None
        return CommandResult(
            self.exit, b"".join(pieces["stdout"]), b"".join(pieces["stderr"]), truncated["stdout"], truncated["stderr"], self.id)

    async def write_stdin(self, data: Union[bytes, str]) -> None:
        """All of ``data`` is in the command's pipe when this returns. A repetition after a lost reply doesn't double it."""
        view = memoryview(data.encode() if isinstance(data, str) else data)
        while view:
            piece = bytes(view[:_STDIN_PIECE_BYTES])
            accepted = await self._post_stdin(piece, eof=False)
            taken = accepted - self._stdin_offset
            if not 0 <= taken <= len(piece):
                raise errors.DataLoss(
                    f"command {self.id} has taken {accepted} bytes of stdin, but {self._stdin_offset} + {len(piece)} were"
                    " sent: does somebody else write to it?")
            self._stdin_offset = accepted
            view = view[taken:]

    async def close_stdin(self) -> None:
        await self._post_stdin(b"", eof=True)

    async def _post_stdin(self, piece: bytes, eof: bool) -> int:
        where = query([("offset", self._stdin_offset), ("eof", True if eof else None)])
        while True:
            try:
                answer = await self._transport.request(
                    "POST", f"{self._path}/stdin{where}", content=lambda: piece, begun=True, repeat_silence=False,
                    headers={"Content-Type": "application/octet-stream"})
                return int(answer.json()["accepted"])
            except errors.ReadTimeout:
                continue  # a command that doesn't read may take any time; asking again finds a dead server

    async def signal(self, signal: str, target: str = "group") -> None:
        """``"TERM"``, ``"INT"``, ... to its ``process``, its process ``group`` or the whole ``tree`` it started."""
        await self._transport.json("POST", f"{self._path}/signal", {"signal": signal.upper().replace("SIG", "", 1), "target": target})

    async def kill(self) -> None:
        """SIGKILL to all that it started, background processes included."""
        await self.signal("KILL", "tree")

    async def resize(self, rows: int, cols: int) -> None:
        """Of its PTY."""
        await self._transport.json("POST", f"{self._path}/resize", {"rows": rows, "cols": cols}, idempotent=True)

    async def forget(self) -> None:
        """Kills all that it started and drops its output on the server."""
        await self._transport.json("DELETE", self._path)


class AsyncCommands:
    def __init__(self, transport: AsyncTransport, sandbox_id: str, default_user: Optional[str] = None) -> None:
        self._transport = transport
        self._sandbox_id = sandbox_id
        self._path = f"/sandboxes/{segment(sandbox_id)}/commands"
        self.default_user = default_user

    async def start(
        self,
        command: CommandLine,
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        user: Optional[str] = None,
        stdin: bool = False,
        pty: Optional[Tuple[int, int]] = None,
        timeout: Optional[float] = None,
        no_output_timeout: Optional[float] = None,
        output_limit_bytes: Optional[int] = None,
        on_output_limit: Optional[str] = None,
        on_disconnect: Optional[str] = None,
        op: Optional[str] = None,
        trusted_tools: bool = False,
    ) -> AsyncCommand:
        """Starts it and returns at once. ``pty`` is (rows, columns). ``op`` is made when not given, so that a lost reply
        never starts it twice; give your own to come back to it from another process."""
        body = self._body(
            command, env, cwd, user, timeout, no_output_timeout, output_limit_bytes, on_output_limit, op,
            {"stdin": "pipe" if stdin or pty else None, "on_disconnect": on_disconnect, "trusted_tools": trusted_tools or None,
             "pty": {"rows": pty[0], "cols": pty[1]} if pty else None})
        return await self._start(body)

    async def run(
        self,
        command: CommandLine,
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        user: Optional[str] = None,
        input: Union[None, bytes, str, Iterable[bytes]] = None,
        timeout: Optional[float] = None,
        no_output_timeout: Optional[float] = None,
        output_limit_bytes: Optional[int] = None,
        on_output_limit: Optional[str] = None,
        on_stdout: Optional[OutputCallback] = None,
        on_stderr: Optional[OutputCallback] = None,
        on_disconnect: Optional[str] = None,
        check: bool = False,
        op: Optional[str] = None,
        trusted_tools: bool = False,
    ) -> CommandResult:
        """Runs it to its end. A text runs as ``/bin/sh -c``; a list is the argument vector, exactly.

        ``timeout`` (seconds) ends the command with all it started; the result then has the partial output and
        ``exit.cause == "timeout"``. With ``check`` anything but exit code 0 raises a ``CommandError`` that carries the
        result. With ``trusted_tools`` the platform's own static shell and tools run it, which the agent can't replace, shadow
        or trace (docs/security.md): an evaluator's choice. What the *platform* did to the command raises ``CommandLost``
        in any case. When the caller is cancelled the command is killed. With ``on_disconnect="kill"`` it doesn't outlive the
        connection either: should this program die, so does the command; but a connection that is merely lost then ends it too.
        """
        inline, pieces = _split_input(input)
        more: Dict[str, Any] = {"stdin": "pipe"} if pieces is not None else dict(inline)
        more.update(on_disconnect=on_disconnect, trusted_tools=trusted_tools or None)
        body = self._body(
            command, env, cwd, user, timeout, no_output_timeout, output_limit_bytes, on_output_limit, op, more)
        streamed = pieces is not None or on_stdout is not None or on_stderr is not None
        try:
            result = None if streamed else await self._run_fast(body)
            if result is None:
                result = await self._run_streamed(body, pieces, on_stdout, on_stderr)
        except errors.HarenaError:
            raise
        except BaseException:
            await _runtime.shielded(self._abandon, body, timeout=_CLEANUP_S)
            raise
        return _judge(result, check)

    async def get(self, command_id: str) -> AsyncCommand:
        info = CommandInfo.from_json(await self._transport.json("GET", f"{self._path}/{segment(command_id)}"))
        return AsyncCommand(self._transport, self._sandbox_id, info)

    async def list(self) -> List[CommandInfo]:
        return [CommandInfo.from_json(one) for one in (await self._transport.json("GET", self._path))["commands"]]

    def _body(
        self, command: CommandLine, env: Optional[Mapping[str, str]], cwd: Optional[str], user: Optional[str],
        timeout: Optional[float], no_output_timeout: Optional[float], output_limit_bytes: Optional[int],
        on_output_limit: Optional[str], op: Optional[str], more: Mapping[str, Any],
    ) -> Dict[str, Any]:
        body = command_body(command)
        body.update(drop_none({
            "env": dict(env) if env else None,
            "cwd": cwd,
            # The default may be a name, and the sandbox says what names mean.
            "user": user or (None if more.get("trusted_tools") else self.default_user),
            "timeout_ms": milliseconds(timeout, "timeout"),
            "no_output_timeout_ms": milliseconds(no_output_timeout, "no_output_timeout"),
            "output_limit_bytes": output_limit_bytes,
            "on_output_limit": on_output_limit,
            "op": op or uuid.uuid4().hex,
            **more,
        }))
        return body

    async def _start(self, body: Mapping[str, Any]) -> AsyncCommand:
        answer = await self._transport.json("POST", self._path, dict(body), idempotent=True)
        return AsyncCommand(self._transport, self._sandbox_id, CommandInfo.from_json(answer))

    async def _run_fast(self, body: Mapping[str, Any]) -> Optional[CommandResult]:
        """One round trip, or None when the command takes longer than that is good for."""
        try:
            answer = await self._transport.json(
                "POST", self._path, {**body, "wait": True}, idempotent=True,
                read_timeout=min(_FAST_WAIT_S, self._transport.timeouts.read), repeat_silence=False)
        except errors.ReadTimeout:
            return None
        return CommandResult.from_json(answer)

    async def _run_streamed(
        self, body: Mapping[str, Any], pieces: Optional[Iterable[bytes]],
        on_stdout: Optional[OutputCallback], on_stderr: Optional[OutputCallback],
    ) -> CommandResult:
        command = await self._start(body)
        writer = _runtime.Background()
        if pieces is not None:
            writer.start(_feed, command, pieces)
        try:
            result = await command.result(on_stdout, on_stderr)
        except BaseException:
            await writer.abandon()
            raise
        await writer.finish()
        return result

    async def _abandon(self, body: Mapping[str, Any]) -> None:
        """Kills what was started under this ``op``. Asking for it by a start is the one way that can't miss a start
        which is still on its way; if none ever arrived, the command lives for this moment."""
        command = await self._start(body)
        await command.forget()


async def _feed(command: AsyncCommand, pieces: Iterable[bytes]) -> None:
    try:
        for piece in pieces:
            await command.write_stdin(piece)
        await command.close_stdin()
    except (errors.FailedPrecondition, errors.NotFound):
        pass  # it closed its stdin or ended without reading all: as a broken pipe, that is its own affair
    except Exception:
        # The rest won't come, and the command would wait for it for ever.
        await _runtime.shielded(command.kill, timeout=_CLEANUP_S)
        raise


def _split_input(
    data: Union[None, bytes, str, Iterable[bytes]]
) -> Tuple[Dict[str, Any], Optional[Iterable[bytes]]]:
    """What goes with the start, and what is piped after it."""
    if data is None:
        return {}, None
    if isinstance(data, str):
        data = data.encode()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        return {}, data
    if len(data) > _INLINE_STDIN_BYTES:
        return {}, [bytes(data)]
    return {"stdin_data_b64": base64.b64encode(data).decode("ascii")}, None


def _chunk(event: Mapping[str, Any], position: Dict[str, int], truncated: Set[str]) -> Optional[OutputChunk]:
    """The event as a chunk behind ``position``, which it moves; None for a sign of life and for what is repeated."""
    if "truncated" in event:
        stream = str(event["truncated"])
        if stream in truncated:
            return None
        truncated.add(stream)
        return OutputChunk(stream, b"", position[stream], truncated=True)
    if "stream" not in event:
        return None
    stream, offset = str(event["stream"]), int(event["offset"])
    data = bytes_field(event, "data") or b""
    expected = position[stream]
    if offset > expected:
        raise errors.DataLoss(f"{stream} goes on at byte {offset}, but {expected} is next: {offset - expected} bytes are missing")
    data = data[expected - offset:]
    if not data:
        return None
    position[stream] = expected + len(data)
    return OutputChunk(stream, data, expected)


def _judge(result: CommandResult, check: bool) -> CommandResult:
    cause = result.exit.cause
    if cause in ("platform", "sandbox_stopped"):
        raise errors.CommandLost(f"the command {result.exit.describe()}", result)
    if not check or result.exit.ok:
        return result
    message = f"the command {result.exit.describe()}"
    if result.stderr_bytes:
        message += ": " + result.stderr.strip()[-500:]
    if cause == "no_output_timeout":
        raise errors.CommandNoOutputTimeout(message, result)
    if result.exit.timed_out:
        raise errors.CommandTimeout(message, result)
    if cause in ("oom", "pids", "disk", "output_limit"):
        raise errors.CommandLimit(message, result)
    raise errors.CommandFailed(message, result)
