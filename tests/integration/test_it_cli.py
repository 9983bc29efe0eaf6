"""The program harena against a real harenad and real containers."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time

import pytest


@pytest.fixture
def box(cli, image):
    one = cli.out("create", "--image", image, "-p", "cpu=1", "-p", "memory=256MiB").strip()
    yield one
    cli("stop", one)


def test_run_stops_what_it_made(cli, image):
    done = cli("run", image, "--label", "it=run", "--", "sh", "-c", "cat; exit 3", input=b"piped", code=3)
    assert done.stdout == b"piped"
    assert [one["state"] for one in json.loads(cli.out("ls", "-a", "-l", "it=run", "--json"))] == ["stopped"]


def test_exec(cli, box):
    odd = ["a b", "'", '"', "$HOME", "-n", "--", "[a,b]", "\u2603", "new\nline", ""]
    assert cli.out("exec", box, "--", "printf", "%s|", *odd) == "".join(word + "|" for word in odd)
    cli("exec", box, "--", "sh", "-c", "exit 255", code=255)
    cli("exec", box, "--", "sh", "-c", "kill -9 $$", code=137)
    cli("exec", box, "--", "no-such-program", code=127)
    cli("exec", box, "--", "/etc/passwd", code=126)
    cli("exec", box, "--timeout", "500ms", "--", "sleep", "60", code=124)
    data = os.urandom(2_000_000)
    assert cli("exec", box, "--", "cat", input=data).stdout == data


def test_detached_with_logs(cli, box):
    command = cli.out("exec", "-d", box, "--", "sh", "-c", "echo one; sleep 0.5; echo two >&2").strip()
    done = cli("logs", "-f", box, command)
    assert done.stdout == b"one\n" and done.stderr == b"two\n"
    assert "exit 0" in cli.out("ps", box)


def test_a_terminal(cli, box):
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen([cli.binary, "shell", box], env=cli.env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    seen = b""

    def expect(text):
        nonlocal seen
        deadline = time.monotonic() + 30
        while text not in seen:
            ready, _, _ = select.select([master], [], [], max(0, deadline - time.monotonic()))
            assert ready, (text, seen)
            seen += os.read(master, 4096)
        seen = seen.split(text, 1)[1]

    os.write(master, b"stty size; echo ma''rk\r")
    expect(b"30 100")
    expect(b"mark")
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    os.write(master, b"sleep 0.3; stty size\r")
    expect(b"50 120")
    os.write(master, b"sleep 100\r")
    time.sleep(0.3)
    os.write(master, b"\x03exit 7\r")
    assert process.wait(timeout=30) == 7
    os.close(master)


def test_cp(cli, box, tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "f").write_bytes(os.urandom(500_000))
    (source / "x 'y\n").write_text("odd")
    (source / "link").symlink_to("sub/f")
    cli("cp", str(source), f"{box}:/dest")
    cli("cp", f"{box}:/dest", str(tmp_path / "back"))
    assert subprocess.run(["diff", "-r", "--no-dereference", source, tmp_path / "back"]).returncode == 0


def test_port_forward(cli, box):
    import urllib.request

    cli("exec", box, "--", "sh", "-c", "mkdir /www; echo inside > /www/index.html")
    cli("exec", "-d", box, "--", "httpd", "-f", "-p", "8080", "-h", "/www")
    process = subprocess.Popen([cli.binary, "port-forward", box, "0:8080"], env=cli.env, stdout=subprocess.PIPE)
    try:
        address = process.stdout.readline().decode().split(" -> ")[0]
        for attempt in range(50):
            try:
                assert urllib.request.urlopen(f"http://{address}/index.html", timeout=10).read() == b"inside\n"
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("nothing came through")
    finally:
        process.terminate()
        process.wait()


def test_verbs_and_lists(cli, box):
    assert box in cli.out("ls")
    cli("pause", box)
    assert json.loads(cli.out("inspect", box))[0]["state"] == "paused"
    cli("resume", box)
    for command in ("backends", "plugins", "nodes", "version", "images", "ps"):
        cli(command, *([box] if command == "ps" else []))
    assert json.loads(cli.out("doctor", "--json"))


def test_errors_are_one_sentence(cli, image):
    for args, words in (
        (["create", "--image", "root/nope:v1"], b"root/nope:v1"),
        (["create", "--image", image, "-p", "memroy=1"], b"did you mean 'memory"),
        (["create", "--image", image, "-p", "cpu=0"], b"cpu"),
        (["create", "--backend", "acme"], b"acme"),
        (["inspect", "local000000000000000"], b"local000000000000000"),
    ):
        done = cli(*args, code=125)
        assert words in done.stderr and done.stderr.count(b"error: ") == 1 and not done.stdout, done
