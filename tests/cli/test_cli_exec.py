"""exec, run, shell: bytes, quoting, endings, terminals."""

import fcntl
import hashlib
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

ODD = ["a b", "'", '"', "$HOME", "-n", "--", "--json", "[a,b]", "\u2603", "new\nline", "\\", "*", ""]


def test_arguments_keep_their_quoting(cli, box):
    assert cli.out("exec", box, "--", "printf", "%s|", *ODD) == "".join(word + "|" for word in ODD)


@pytest.mark.parametrize("script, code", [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_its_exit_code_is_ours(cli, box, script, code):
    cli("exec", box, "--", "sh", "-c", script, code=code)


def test_starts_that_fail(cli, box):
    assert "no program 'nope'" in cli.err("exec", box, "--", "nope", code=127)
    assert "isn't executable" in cli.err("exec", box, "--", "/etc/passwd", code=126)
    assert "cwd" in cli.err("exec", box, "-w", "/nowhere", "--", "true")
    assert "behind --" in cli.err("exec", box, "ls")
    assert "behind --" in cli.err("exec", box)
    assert "no sandbox" in cli.err("exec", "nosuch", "--", "true")


def test_timeout(cli, box):
    begun = time.monotonic()
    done = cli("exec", box, "--timeout", "300ms", "--", "sh", "-c", "echo partial; sleep 60", code=124)
    assert done.stdout == b"partial\n" and b"timeout" in done.stderr and time.monotonic() - begun < 10
    assert "--timeout is 'soon'" in cli.err("exec", box, "--timeout", "soon", "--", "true")


def test_streams_stay_apart_and_exact(cli, box):
    done = cli("exec", box, "--", "sh", "-c", r"printf 'out\n\n\377\000no newline'; printf err >&2")
    assert done.stdout == b"out\n\n\xff\0no newline" and done.stderr == b"err"


def test_stdin_is_piped_once_though_replies_are_lost(cli, box, fake):
    data = os.urandom(3_000_000)
    fake.fault("POST", "/stdin", "after", times=2)
    fake.fault("POST", "/stdin", "before")
    done = cli("exec", box, "--", "sha256sum", input=data)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_stdin_edges(cli, box):
    assert cli("exec", box, "--", "cat").stdout == b""
    assert cli("exec", "-n", box, "--", "cat", input=b"unseen").stdout == b""
    assert cli("exec", box, "--", "head", "-c", "3", input=b"x" * 2_000_000).stdout == b"xxx"
    # A command that ends without reading doesn't wait for our stdin.
    process = cli.start("exec", box, "--", "true", stdin=subprocess.PIPE)
    assert process.wait(timeout=20) == 0


def test_a_cut_stream_loses_nothing(cli, box, fake):
    fake.chunk = 4000
    for _ in range(3):
        fake.fault("GET", "/output", "middle", bytes=50_000)
    expected = "".join(f"{n}\n" for n in range(1, 30_001)) + "END\n"
    assert cli.out("exec", box, "--", "sh", "-c", "seq 1 30000; echo END") == expected
    assert fake.count("GET", "/output") == 4 and fake.starts == 1


def test_environment_cwd_and_user(cli, box, fake):
    value = "a=b 'c' \"d\" $e \\ \u2603\n"
    assert cli.out("exec", "-e", "X=" + value, box, "--", "printenv", "X") == value + "\n"
    assert cli.out("exec", "-e", "FROM_HERE", box, "--", "printenv", "FROM_HERE", env={"FROM_HERE": "1"}) == "1\n"
    assert "no such variable" in cli.err("exec", "-e", "NOT_HERE", box, "--", "true")
    cli("exec", "-u", "nobody", "-w", "/", box, "--", "true")
    started = [one[2] for one in fake.requests if one[0] == "POST" and one[1].endswith("/commands")][-1]
    assert started["user"] == "nobody" and started["cwd"] == "/"


def test_a_reader_that_leaves_is_no_error(cli, box):
    process = cli.start("exec", box, "--", "seq", "1", "1000000", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=30) == 141 and process.stderr.read() == b""


def test_signals_reach_the_command(cli, box):
    process = cli.start("exec", box, "--", "sh", "-c", "trap 'echo got; exit 5' INT; echo ready; while :; do sleep 0.05; done",
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == b"got\n" and process.wait(timeout=20) == 5


def test_the_third_signal_kills(cli, box):
    process = cli.start("exec", box, "--", "sh", "-c", "trap 'echo no' INT; echo ready; while :; do sleep 0.05; done",
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"no\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 137


def test_detach_ps_and_logs(cli, box):
    command = cli.out("exec", "-d", box, "--", "sh", "-c", "echo one; sleep 0.3; echo two >&2; exit 4").strip()
    done = cli("logs", "-f", box, command)
    assert done.stdout == b"one\n" and done.stderr == b"two\n"
    assert cli.out("logs", box) == "one\n"
    assert "exit 4" in cli.out("ps", box)
    assert '"stream":"stdout"' in cli.out("logs", "--json", box)


def test_an_op_runs_once(cli, box, fake):
    for _ in range(2):
        assert cli.out("exec", "--op", "step-1", box, "--", "sh", "-c", "echo x") == "x\n"
    assert fake.starts == 1
    assert "step-1" in cli.err("exec", "--op", "step-1", box, "--", "true")


def test_run_stops_its_sandbox(cli, fake):
    assert cli("run", "root/base:v1", "-p", "cpu=1", "--", "sh", "-c", "cat; exit 3", input=b"in", code=3).stdout == b"in"
    assert [one["state"] for one in fake.sandboxes.values()] == ["stopped"]
    cli("run", "--keep", "root/base:v1", "--", "true")
    assert sorted(one["state"] for one in fake.sandboxes.values()) == ["running", "stopped"]
    cli("run", "root/base:v1", "--", "nope", code=127)
    assert sorted(one["state"] for one in fake.sandboxes.values()) == ["running", "stopped", "stopped"]


def test_an_interrupted_run_stops_its_sandbox(cli, fake):
    process = cli.start("run", "root/base:v1", "--", "sleep", "60", stdin=subprocess.DEVNULL)
    while not fake.commands:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 143
    assert [one["state"] for one in fake.sandboxes.values()] == ["stopped"]


class Terminal:
    """A user at a terminal of a given size."""

    def __init__(self, cli, *args, size=(30, 100)):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([cli.binary, *args], env=cli.env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave = slave
        self.seen = b""

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, text):
        deadline = time.monotonic() + 20
        while text.encode() not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, (text, self.seen)
            self.seen += os.read(self.master, 4096)
        self.seen = self.seen.split(text.encode(), 1)[1]

    def wait(self):
        code = self.process.wait(timeout=20)
        assert termios.tcgetattr(self.slave) == self.before  # given back as it was
        os.close(self.slave)
        os.close(self.master)
        return code


def test_terminal_with_resize_and_keys(cli, box):
    terminal = Terminal(cli, "exec", "-it", box, "--", "sh", "-c",
                        "stty size; trap 'echo WINCH; stty size' WINCH; trap 'echo INT' INT; echo ready; while :; do read line && break; done; echo got $line; exit 9")
    terminal.expect("30 100")
    terminal.expect("ready")
    terminal.resize(50, 120)
    terminal.expect("WINCH")
    terminal.expect("50 120")
    terminal.type("\x03")
    terminal.expect("INT")
    terminal.type("hello\r")
    terminal.expect("got hello")
    assert terminal.wait() == 9


def test_shell(cli, box):
    terminal = Terminal(cli, "shell", box)
    terminal.type("echo $((6*7))x; exit 3\r")
    terminal.expect("42x")
    assert terminal.wait() == 3


def test_a_terminal_is_needed_for_one(cli, box, fake):
    assert "leave -t out" in cli.err("exec", "-t", box, "--", "true")
    assert fake.starts == 0
