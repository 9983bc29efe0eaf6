"""Commands through E2B's Python SDK, sync and async."""

import time

import pytest


@pytest.fixture
def sandbox(sdk):
    return sdk.Sandbox.create(timeout=120)


def run(sandbox, text, **options):
    return sandbox.commands.run(text, **options)


def until(condition, what, limit_s=20):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def pids(sandbox):
    return {one.pid for one in sandbox.commands.list()}


# what comes out


def test_output_and_code(sandbox):
    done = run(sandbox, "echo out; echo err >&2")
    assert (done.stdout, done.stderr, done.exit_code, done.error or None) == ("out\n", "err\n", 0, None)


def test_no_output(sandbox):
    done = run(sandbox, "true")
    assert (done.stdout, done.stderr, done.exit_code) == ("", "", 0)


@pytest.mark.parametrize("code", [1, 2, 127, 255])
def test_another_code_is_an_exception(sdk, sandbox, code):
    with pytest.raises(sdk.CommandExitException) as raised:
        run(sandbox, f"echo before; exit {code}")
    assert raised.value.exit_code == code
    assert raised.value.stdout == "before\n"
    assert raised.value.error == f"exit status {code}"


def test_a_program_that_is_not_there(sdk, sandbox):
    with pytest.raises(sdk.CommandExitException) as raised:
        run(sandbox, "no-such-program")
    assert raised.value.exit_code == 127
    assert "no-such-program" in raised.value.stderr


def test_utf8_and_quotes(sandbox):
    assert run(sandbox, "printf '%s' \"äöü 漢字 🎉 'x' \\\"y\\\"\"").stdout == "äöü 漢字 🎉 'x' \"y\""


def test_bytes_that_are_no_text(sandbox):
    assert run(sandbox, r"printf '\377a'").stdout == "\ufffda"


def test_a_character_cut_between_two_writes(sandbox):
    assert run(sandbox, r"printf '\303'; sleep 0.2; printf '\244'").stdout == "ä"


def test_many_lines_in_order(sandbox):
    lines = run(sandbox, "seq 1 20000").stdout.split()
    assert lines == [str(i) for i in range(1, 20001)]


def test_ten_megabytes(sandbox):
    assert len(run(sandbox, "head -c 10000000 /dev/zero | tr '\\0' x").stdout) == 10_000_000


def test_callbacks_get_what_comes(sandbox):
    out, err = [], []
    run(sandbox, "echo a; echo b >&2; sleep 0.3; echo c", on_stdout=out.append, on_stderr=err.append)
    assert "".join(out) == "a\nc\n" and "".join(err) == "b\n"
    assert len(out) >= 2


def test_a_newline_that_is_not_there(sandbox):
    assert run(sandbox, "printf abc").stdout == "abc"


def test_several_lines_of_shell(sandbox):
    assert run(sandbox, "for i in 1 2 3; do\n  echo $i\ndone | tac").stdout == "3\n2\n1\n"


def test_a_long_command_text(sandbox):
    text = "x" * 100_000
    assert run(sandbox, f"echo {text} | wc -c").stdout.strip() == "100001"


# where, as whom, with what


def test_the_default_user_and_home(sandbox):
    assert run(sandbox, "whoami; pwd; echo $HOME $USER $LOGNAME").stdout == "user\n/home/user\n/home/user user user\n"


def test_as_root(sandbox):
    assert run(sandbox, "whoami; pwd; echo $HOME", user="root").stdout == "root\n/root\n/root\n"


def test_an_unknown_user(sdk, sandbox):
    with pytest.raises(sdk.AuthenticationException):
        run(sandbox, "true", user="nobody-there")


def test_cwd(sandbox):
    assert run(sandbox, "pwd", cwd="/tmp").stdout == "/tmp\n"


def test_cwd_from_home(sandbox):
    sandbox.files.make_dir("/home/user/here")
    assert run(sandbox, "pwd", cwd="here").stdout == "/home/user/here\n"
    assert run(sandbox, "pwd", cwd="~/here").stdout == "/home/user/here\n"


def test_cwd_that_is_not_there(sdk, sandbox):
    with pytest.raises(sdk.InvalidArgumentException, match="cwd '/no/such' does not exist"):
        run(sandbox, "pwd", cwd="/no/such")


def test_environment_of_one_command(sandbox):
    assert run(sandbox, 'echo "$A|$B"', envs={"A": "1", "B": "two words é"}).stdout == "1|two words é\n"
    assert run(sandbox, 'echo "$A"').stdout == "\n"


def test_environment_of_the_sandbox(sdk):
    sandbox = sdk.Sandbox.create(envs={"A": "create", "B": "create"})
    assert run(sandbox, "echo $A $B", envs={"B": "command"}).stdout == "create command\n"


def test_the_sandbox_is_told_that_it_is_one(sandbox):
    assert run(sandbox, "echo $E2B_SANDBOX $E2B_SANDBOX_ID").stdout == f"true {sandbox.sandbox_id}\n"


def test_path_finds_the_usual(sandbox):
    assert "/usr/bin" in run(sandbox, "echo $PATH").stdout


# stdin


def test_without_stdin_a_reader_gets_nothing(sandbox):
    assert run(sandbox, "cat; echo end").stdout == "end\n"


def test_stdin(sandbox):
    command = run(sandbox, "cat", background=True, stdin=True)
    sandbox.commands.send_stdin(command.pid, "Hello, ")
    sandbox.commands.send_stdin(command.pid, "World ä\n")
    sandbox.commands.close_stdin(command.pid)
    assert command.wait().stdout == "Hello, World ä\n"


def test_stdin_through_the_handle(sandbox):
    command = run(sandbox, "read a; echo got $a", background=True, stdin=True)
    command.send_stdin("it\n")
    assert command.wait().stdout == "got it\n"


def test_close_stdin_through_the_handle(sandbox):
    command = run(sandbox, "wc -c", background=True, stdin=True)
    command.send_stdin("12345")
    command.close_stdin()
    assert command.wait().stdout.strip() == "5"


def stream_in(sdk, target, pid, parts):
    """`target` is commands or pty. The async SDK has a handle that belongs into a running loop."""
    if not sdk.is_async:
        return target.stream_input(pid, parts)

    async def feed():
        async with target._inner.stream_input(pid) as handle:
            for part in parts:
                await handle.send(part)

    return sdk.loop.run_until_complete(feed())


def test_stream_input(sdk, sandbox):
    if not hasattr(sandbox.commands._inner if sdk.is_async else sandbox.commands, "stream_input"):
        pytest.skip("this release of the SDK has no stream_input")
    command = run(sandbox, "head -c 12", background=True, stdin=True)
    stream_in(sdk, sandbox.commands, command.pid, ["one ", b"two ", "three"])
    assert command.wait().stdout == "one two thre"


def test_stream_input_of_nobody(sdk, sandbox):
    if not hasattr(sandbox.commands._inner if sdk.is_async else sandbox.commands, "stream_input"):
        pytest.skip("this release of the SDK has no stream_input")
    with pytest.raises(sdk.module.NotFoundException):
        stream_in(sdk, sandbox.commands, 999_999, ["x"])


def test_half_a_megabyte_of_stdin(sandbox):
    command = run(sandbox, "wc -c", background=True, stdin=True)
    sandbox.commands.send_stdin(command.pid, "x" * 500_000)
    sandbox.commands.close_stdin(command.pid)
    assert command.wait().stdout.strip() == "500000"


def test_stdin_of_a_command_without(sdk, sandbox):
    command = run(sandbox, "sleep 30", background=True)
    with pytest.raises(sdk.SandboxException):
        sandbox.commands.send_stdin(command.pid, "x")
    command.kill()


def test_stdin_of_nobody(sdk, sandbox):
    with pytest.raises(sdk.SandboxException):
        sandbox.commands.send_stdin(999_999, "x")


# background, list, kill, connect


def test_background_returns_at_once(sandbox):
    began = time.monotonic()
    command = run(sandbox, "sleep 3; echo done", background=True)
    assert time.monotonic() - began < 2.5 and command.pid > 0
    assert command.wait().stdout == "done\n"


def test_background_failure_is_raised_by_wait(sdk, sandbox):
    command = run(sandbox, "exit 9", background=True)
    with pytest.raises(sdk.CommandExitException) as raised:
        command.wait()
    assert raised.value.exit_code == 9


def test_list(sandbox):
    command = run(sandbox, "sleep 30", background=True, cwd="/tmp", envs={"K": "v"})
    found = [one for one in sandbox.commands.list() if one.pid == command.pid]
    assert len(found) == 1
    assert (found[0].cmd, list(found[0].args)) == ("/bin/bash", ["-l", "-c", "sleep 30"])
    assert found[0].cwd == "/tmp" and dict(found[0].envs) == {"K": "v"}
    command.kill()
    until(lambda: command.pid not in pids(sandbox), "it is still listed")


def test_an_ended_command_is_not_listed(sandbox):
    command = run(sandbox, "true", background=True)
    command.wait()
    assert command.pid not in pids(sandbox)


def test_kill(sdk, sandbox):
    command = run(sandbox, "sleep 100", background=True)
    assert command.kill() is True
    with pytest.raises(sdk.CommandExitException) as raised:
        command.wait()
    assert raised.value.exit_code == -1
    assert raised.value.error == "signal: killed"


def test_kill_by_pid_and_twice(sandbox):
    command = run(sandbox, "sleep 100", background=True)
    assert sandbox.commands.kill(command.pid) is True
    until(lambda: command.pid not in pids(sandbox), "it is still listed")
    assert sandbox.commands.kill(command.pid) is False


def test_kill_nobody(sandbox):
    assert sandbox.commands.kill(999_999) is False


def test_kill_takes_what_the_shell_started(sandbox):
    command = run(sandbox, "sleep 4242 | cat", background=True)
    until(lambda: "4242" in run(sandbox, "ps").stdout, "it never ran")
    command.kill()
    until(lambda: "sleep 4242" not in run(sandbox, "ps").stdout, "what it started goes on")


def test_connect_gets_what_comes_from_then_on(sandbox):
    command = run(sandbox, "echo early; read a; echo late $a", background=True, stdin=True)
    until(lambda: command.pid in pids(sandbox), "it isn't listed")
    time.sleep(0.5)
    again = sandbox.commands.connect(command.pid)
    assert again.pid == command.pid
    sandbox.commands.send_stdin(command.pid, "word\n")
    assert again.wait().stdout == "late word\n"
    assert command.wait().stdout == "early\nlate word\n"


def test_several_readers(sandbox):
    command = run(sandbox, "read a; seq 1 1000; exit 0", background=True, stdin=True)
    others = [sandbox.commands.connect(command.pid) for _ in range(3)]
    sandbox.commands.send_stdin(command.pid, "go\n")
    for one in [command, *others]:
        assert one.wait().stdout.split() == [str(i) for i in range(1, 1001)]


def test_connect_to_nobody(sdk, sandbox):
    with pytest.raises(sdk.NotFoundException):
        sandbox.commands.connect(999_999)


def test_a_late_connect_still_gets_the_end(sandbox):
    command = run(sandbox, "sleep 0.2; exit 0", background=True)
    command.wait()
    assert sandbox.commands.connect(command.pid).wait().exit_code == 0


def test_disconnect_leaves_it_running(sandbox):
    command = run(sandbox, "sleep 1; echo lived > /tmp/lived; sleep 30", background=True)
    command.disconnect()
    until(lambda: sandbox.files.exists("/tmp/lived"), "the command died with its reader")
    assert command.pid in pids(sandbox)
    assert sandbox.commands.kill(command.pid) is True


def test_what_a_command_leaves_behind_lives(sandbox):
    run(sandbox, "(sleep 4243 >/dev/null 2>&1 &)")
    assert "sleep 4243" in run(sandbox, "ps").stdout


def test_many_at_once(sandbox):
    commands = [run(sandbox, f"sleep 0.3; echo {i}", background=True) for i in range(20)]
    assert [one.wait().stdout for one in commands] == [f"{i}\n" for i in range(20)]


# time


def test_timeout_is_an_exception_and_the_end_of_the_tree(sdk, sandbox):
    with pytest.raises(sdk.TimeoutException):
        run(sandbox, "(setsid sleep 4244 &); sleep 4245", timeout=1)
    until(lambda: "424" not in run(sandbox, "ps | grep 'sleep 424' | grep -v grep || true").stdout, "the tree outlived its timeout")


def test_timeout_zero_is_none(sandbox):
    assert run(sandbox, "sleep 1; echo x", timeout=0).stdout == "x\n"


def test_output_before_the_timeout(sdk, sandbox):
    seen = []
    with pytest.raises(sdk.TimeoutException):
        run(sandbox, "echo before; sleep 60", timeout=1, on_stdout=seen.append)
    assert "".join(seen) == "before\n"


# the sandbox's end


def test_a_command_of_a_killed_sandbox(sdk, sandbox):
    command = run(sandbox, "sleep 100", background=True)
    sandbox.kill()
    with pytest.raises(sdk.TimeoutException):
        command.wait()


def test_a_killed_sandbox_runs_nothing(sdk, sandbox):
    sandbox.kill()
    with pytest.raises((sdk.TimeoutException, sdk.NotFoundException, sdk.SandboxException)):
        run(sandbox, "true")
    assert sandbox.is_running() is False


def test_is_running(sandbox):
    assert sandbox.is_running() is True


def test_a_paused_sandbox_is_not_running_and_comes_back(sdk, sandbox):
    command = run(sandbox, "read a; echo $a", background=True, stdin=True)
    command.disconnect()
    sandbox.pause()
    assert sandbox.is_running() is False
    again = sdk.Sandbox.connect(sandbox.sandbox_id)
    assert again.is_running() is True
    handle = again.commands.connect(command.pid)
    again.commands.send_stdin(command.pid, "back\n")
    assert handle.wait().stdout == "back\n"


# terminals


def test_a_terminal(sdk, sandbox):
    seen = bytearray()
    terminal = sandbox.pty.create(sdk.module.PtySize(rows=24, cols=80), **({"on_data": seen.extend} if sdk.is_async else {}))
    sandbox.pty.send_stdin(terminal.pid, b"echo mark$((40+2)); tty; exit\n")
    if sdk.is_async:
        terminal.wait()
    else:
        terminal.wait(on_pty=seen.extend)
    assert b"mark42" in seen and b"/dev/pts" in seen


def test_stream_input_of_a_terminal(sdk, sandbox):
    if not hasattr(sandbox.pty._inner if sdk.is_async else sandbox.pty, "stream_input"):
        pytest.skip("this release of the SDK has no stream_input")
    seen = bytearray()
    terminal = sandbox.pty.create(sdk.module.PtySize(rows=24, cols=80), **({"on_data": seen.extend} if sdk.is_async else {}))
    stream_in(sdk, sandbox.pty, terminal.pid, [b"echo str", b"eam$((3+4)); exit\n"])
    if sdk.is_async:
        terminal.wait()
    else:
        terminal.wait(on_pty=seen.extend)
    assert b"stream7" in seen


def test_a_terminal_has_a_size_and_gets_another(sdk, sandbox):
    seen = bytearray()
    terminal = sandbox.pty.create(sdk.module.PtySize(rows=30, cols=100), **({"on_data": seen.extend} if sdk.is_async else {}))
    sandbox.pty.send_stdin(terminal.pid, b"stty size; read go; stty size; exit\n")
    time.sleep(1)
    sandbox.pty.resize(terminal.pid, sdk.module.PtySize(rows=50, cols=120))
    sandbox.pty.send_stdin(terminal.pid, b"x\n")
    if sdk.is_async:
        terminal.wait()
    else:
        terminal.wait(on_pty=seen.extend)
    assert b"30 100" in seen and b"50 120" in seen


def test_a_terminal_is_killed(sdk, sandbox):
    terminal = sandbox.pty.create(sdk.module.PtySize(rows=24, cols=80), **({"on_data": print} if sdk.is_async else {}))
    assert sandbox.pty.kill(terminal.pid) is True
    until(lambda: terminal.pid not in pids(sandbox), "it is still listed")
    assert sandbox.pty.kill(terminal.pid) is False


def test_a_terminal_with_environment_and_folder(sdk, sandbox):
    seen = bytearray()
    terminal = sandbox.pty.create(sdk.module.PtySize(rows=24, cols=80), cwd="/tmp", envs={"MARK": "abc"}, user="root",
                                  **({"on_data": seen.extend} if sdk.is_async else {}))
    sandbox.pty.send_stdin(terminal.pid, b"echo $MARK-$PWD-$TERM-$(whoami); exit\n")
    if sdk.is_async:
        terminal.wait()
    else:
        terminal.wait(on_pty=seen.extend)
    assert b"abc-/tmp-xterm-256color-root" in seen or b"abc-/tmp-xterm-root" in seen


def test_a_terminal_found_again(sdk, sandbox):
    seen = bytearray()
    terminal = sandbox.pty.create(sdk.module.PtySize(rows=24, cols=80), **({"on_data": lambda _: None} if sdk.is_async else {}))
    terminal.disconnect()
    again = sandbox.pty.connect(terminal.pid, **({"on_data": seen.extend} if sdk.is_async else {}))
    sandbox.pty.send_stdin(terminal.pid, b"echo again$((1+1)); exit\n")
    if sdk.is_async:
        again.wait()
    else:
        again.wait(on_pty=seen.extend)
    assert b"again2" in seen
