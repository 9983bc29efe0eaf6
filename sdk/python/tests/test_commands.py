"""Commands: ran once, every byte once, endings told apart."""

import asyncio
import time

import pytest

import harena


def test_a_list_is_argv_and_a_text_is_shell(sandbox):
    odd = ["printf", "%s|", "a b", "'", '"', "$HOME", "-n", "snow \u2603", "new\nline", ""]
    assert sandbox.run(odd).stdout == "a b|'|\"|$HOME|-n|snow \u2603|new\nline||"
    assert sandbox.run_shell("echo $((6*7))").stdout == "42\n"
    with pytest.raises(ValueError, match="empty list"):
        sandbox.run([])


def test_environment_is_exact(sandbox):
    value = "a\\b'c\"$HOME\n-n \u2603"
    assert sandbox.run(["printenv", "X"], env={"X": value}).stdout == value + "\n"


def test_output_that_isnt_text(sandbox):
    result = sandbox.run(r"printf '\377\000x'; printf '\376' >&2; exit 3")
    assert result.stdout_bytes == b"\xff\0x" and result.stderr_bytes == b"\xfe" and result.exit_code == 3
    assert not result.ok and "\ufffd" in result.stdout


@pytest.mark.parametrize("when", ["before", "after"])
def test_runs_once_though_the_reply_was_lost(sandbox, fake, when):
    fake.fault("POST", "/commands$", when, times=2)
    assert sandbox.run("echo x >> $PWD/log; cat log").stdout == "x\n"
    assert fake.starts == 1


def test_a_long_command_is_followed_and_still_one(client, fake):
    quick = harena.Client(fake.url, client._transport.config.token, timeouts=harena.Timeouts(read=0.2))
    with quick.create(harena.ContainerArgs()) as sandbox:
        assert sandbox.run("echo a; sleep 0.7; echo b").stdout == "a\nb\n"
    assert fake.starts == 1
    quick.close()


def test_a_cut_stream_loses_and_repeats_nothing(sandbox, fake):
    fake.chunk = 1000
    for _ in range(3):
        fake.fault("GET", "/output", "middle", bytes=20_000)
    pieces = []
    result = sandbox.run("seq 1 20000; echo END", on_stdout=pieces.append)
    expected = "".join(f"{n}\n" for n in range(1, 20001)).encode() + b"END\n"
    assert result.stdout_bytes == expected and b"".join(pieces) == expected
    assert fake.count("GET", "/output") == 4 and fake.starts == 1


def test_a_gap_is_an_error_and_a_repetition_is_not(sandbox):
    from harena._sync._commands import _chunk

    at = {"stdout": 5, "stderr": 0}
    assert _chunk({"stream": "stdout", "offset": 3, "data": "abcd"}, at, set()).data == b"cd"
    assert at["stdout"] == 7
    assert _chunk({"stream": "stdout", "offset": 0, "data": "abc"}, at, set()) is None
    with pytest.raises(harena.DataLoss, match="2 bytes are missing"):
        _chunk({"stream": "stdout", "offset": 9, "data": "x"}, at, set())


def test_signs_of_life_are_not_output(sandbox, fake):
    fake.life_sign_s = 0.02
    command = sandbox.start("sleep 0.2; echo done")
    assert [chunk.data for chunk in command.stream()] == [b"done\n"]
    assert command.exit.ok


def test_several_readers_and_late_ones(sandbox):
    command = sandbox.start("echo one; echo two >&2; exit 4")
    assert command.wait().code == 4
    first, second = command.result(), command.result()
    assert first.stdout == second.stdout == "one\n" and first.stderr == "two\n"
    again = sandbox.commands.get(command.id)
    assert b"".join(chunk.data for chunk in again.stream(stdout_offset=2)) in (b"e\ntwo\n", b"two\ne\n")
    assert [info.id for info in sandbox.commands.list()] == [command.id]


def test_truncation_is_said(sandbox):
    result = sandbox.run("seq 1 1000", output_limit_bytes=100)
    assert result.stdout_truncated and len(result.stdout_bytes) == 100 and not result.stderr_truncated
    command = sandbox.start("seq 1 1000", output_limit_bytes=100)
    assert [chunk.truncated for chunk in command.stream()][-1] is True


def test_timeout_of_the_command(sandbox):
    begun = time.monotonic()
    result = sandbox.run("echo partial; sleep 30", timeout=1.0)
    assert time.monotonic() - begun < 3
    assert result.exit.cause == "timeout" and result.exit.timed_out and result.stdout == "partial\n"
    with pytest.raises(harena.CommandTimeout) as caught:
        sandbox.run("echo partial; sleep 30", timeout=1.0, check=True)
    assert caught.value.result.stdout == "partial\n" and isinstance(caught.value, harena.LimitError)
    assert not isinstance(caught.value, harena.TransportError)
    with pytest.raises(ValueError, match="more than 0"):
        sandbox.run("true", timeout=0)


def test_check(sandbox):
    with pytest.raises(harena.CommandFailed, match="code 7: boo") as caught:
        sandbox.run("echo boo >&2; exit 7", check=True)
    assert caught.value.result.exit_code == 7 and caught.value.cause == "agent"
    with pytest.raises(harena.CommandFailed, match="SIGKILL"):
        sandbox.run("kill -9 $$", check=True)


def test_what_the_platform_did_is_never_a_result():
    from harena._sync._commands import _judge

    lost = harena.CommandResult(harena.ExitStatus(None, "KILL", "platform"), b"", b"")
    with pytest.raises(harena.CommandLost) as caught:
        _judge(lost, check=False)
    assert isinstance(caught.value, harena.InfrastructureError)
    oom = harena.CommandResult(harena.ExitStatus(None, "KILL", "oom"), b"", b"")
    assert _judge(oom, check=False) is oom
    with pytest.raises(harena.CommandLimit) as limit:
        _judge(oom, check=True)
    assert limit.value.cause_detail == "oom"


def test_a_start_that_fails_is_typed(sandbox):
    with pytest.raises(harena.NotFound) as caught:
        sandbox.run(["no-such-program"])
    assert caught.value.details["reason"] == "no_such_program" and isinstance(caught.value, harena.AgentError)
    with pytest.raises(harena.NotFound, match="cwd"):
        sandbox.run("true", cwd="/nowhere")


def test_input_small_and_large(sandbox, fake):
    assert sandbox.run("cat", input="hello").stdout == "hello"
    data = bytes(range(256)) * 12_000
    fake.fault("POST", "/stdin", "after", times=2)
    fake.fault("POST", "/stdin", "before")
    result = sandbox.run("sha256sum", input=data)
    import hashlib

    assert result.stdout.split()[0] == hashlib.sha256(data).hexdigest()
    assert sandbox.run("cat", input=iter([b"a", b"b"])).stdout == "ab"
    assert sandbox.run("head -c 3", input=data).stdout_bytes == data[:3]
    assert sandbox.run("cat").stdout == ""


def test_an_input_that_fails_ends_its_command(sandbox, fake):
    """It would wait for the rest for ever."""
    def broken():
        yield b"first"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        sandbox.run("cat", input=broken())
    with pytest.raises(TypeError):
        sandbox.run("cat", input=[1, 2])
    assert all(info.state == "exited" for info in sandbox.commands.list())


def test_time_limits_that_are_none(sandbox):
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="leave it out for none"):
            sandbox.run("true", timeout=seconds)


def test_stdin_by_hand_signal_and_kill(sandbox):
    command = sandbox.start("cat", stdin=True)
    command.write_stdin("a\n")
    command.write_stdin(b"b\n")
    command.close_stdin()
    assert command.result().stdout == "a\nb\n"
    sleeper = sandbox.start("sleep 60")
    sleeper.signal("SIGTERM")
    assert sleeper.wait().signal == "TERM"
    other = sandbox.start("sleep 60")
    other.kill()
    assert other.wait().signal == "KILL"


def test_pty(sandbox):
    command = sandbox.start(["sh", "-c", "stty size; read x; stty size; echo got $x"], pty=(24, 80))
    stream = command.stream()
    assert next(stream).text.startswith("24 80")
    command.resize(50, 132)
    command.write_stdin("hello\n")
    text = b"".join(chunk.data for chunk in stream).decode()
    assert "50 132" in text and "got hello" in text


def test_ops_are_exactly_once(sandbox, fake):
    first = sandbox.start("echo x", op="step-1")
    assert sandbox.start("echo x", op="step-1").id == first.id and fake.starts == 1
    with pytest.raises(harena.AlreadyExists):
        sandbox.start("echo y", op="step-1")


def test_cancelling_kills_the_command(open_async, fake):
    async def main():
        async with open_async() as client:
            sandbox = await client.create(harena.ContainerArgs())
            for callback in (None, lambda data: None):
                task = asyncio.ensure_future(sandbox.run("sleep 60", on_stdout=callback))
                while fake.count("POST", "/commands$") == 0 or not fake.commands:
                    await asyncio.sleep(0.01)
                process = next(iter(fake.commands.values())).process
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert process.wait(timeout=5) == -9 and not fake.commands

    asyncio.run(main())


def test_a_callback_that_raises_ends_the_command(sandbox, fake):
    def stop(data):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sandbox.run("echo x; sleep 60", on_stdout=stop)
    assert not fake.commands


def test_many_at_once(open_async, fake):
    async def main():
        async with open_async() as client:
            sandbox = await client.create(harena.ContainerArgs())
            results = await asyncio.gather(*(sandbox.run(f"exit {n % 8}") for n in range(60)))
            assert [result.exit_code for result in results] == [n % 8 for n in range(60)]

    asyncio.run(main())
