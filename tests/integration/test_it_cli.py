"""The program harena against a real harenad and real containers."""

import fcntl
import hashlib
import json
import os
import pty
import select
import signal
import socket
import stat
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


class Terminal:
    """A user at a terminal of a given size."""

    def __init__(self, cli, *args, size=(30, 100)):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen([cli.binary, *args], env=cli.env, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = b""

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def expect(self, text):
        """What was shown before it."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, (text, self.seen)
            self.seen += os.read(self.master, 4096)
        before, self.seen = self.seen.split(text, 1)
        return before

    def wait(self):
        code = self.process.wait(timeout=60)
        assert termios.tcgetattr(self.slave) == self.before  # given back as it was
        os.close(self.slave)
        os.close(self.master)
        return code


def test_leaving_a_terminal_and_returning(cli, box):
    first = Terminal(cli, "exec", "-it", "--detach-keys", "ctrl-p,ctrl-q", box, "--", "sh")
    first.type(b"x=kept; echo ma''rk\r")
    first.expect(b"mark")
    first.type(b"\x10")  # the first of the keys alone is held back, not lost: a line editor's ctrl-p gets it with what follows
    first.type(b"\x11")
    first.expect(b"detached: ")
    command = first.expect(b"\r\n").decode().strip()
    assert first.wait() == 0
    assert "running" in cli.out("ps", box)
    second = Terminal(cli, "attach", box, command, size=(50, 120))
    second.type(b"echo $x; stty size; exit 9\r")
    second.expect(b"kept")
    second.expect(b"50 120")
    assert second.wait() == 9
    assert b"no terminal" in cli("attach", box, cli.out("exec", "-d", box, "--", "sleep", "60").strip(), code=125).stderr


def test_a_terminal_outlives_the_daemon(harenad, cli, box):
    terminal = Terminal(cli, "exec", "-it", box, "--", "sh")
    terminal.type(b"echo on''e\r")
    terminal.expect(b"one")
    for end in (harenad.kill, harenad.stop):
        end()
        harenad.restart()
        terminal.type(b"echo tw''o\r")
        terminal.expect(b"two")
    terminal.type(b"exit 4\r")
    assert terminal.wait() == 4


def test_what_was_typed_arrives_though_the_daemon_dies(harenad, cli, box):
    """Lines typed at the moment of a kill, and while nobody is there, each arrive once."""
    terminal = Terminal(cli, "exec", "-it", box, "--", "sh", "-c", "stty -echo; echo on''e; exec cat > /tmp/typed")
    terminal.expect(b"one")
    for number in range(300):
        terminal.type(b"line %d\r" % number)
        if number in (100, 200):
            harenad.kill()
        if number in (110, 200):
            harenad.restart()
    terminal.type(b"\x04")
    assert terminal.wait() == 0
    assert cli.out("exec", box, "--", "cat", "/tmp/typed") == "".join(f"line {number}\n" for number in range(300))


def test_logs_follow_across_a_restart(harenad, cli, box):
    command = cli.out("exec", "-d", box, "--", "sh", "-c", "for i in $(seq 1 300); do echo line $i; sleep 0.01; done; echo END; exit 3").strip()
    plain = subprocess.Popen([cli.binary, "logs", "-f", box, command], env=cli.env, stdout=subprocess.PIPE)
    lines = subprocess.Popen([cli.binary, "logs", "-f", "--json", box, command], env=cli.env, stdout=subprocess.PIPE)
    first = plain.stdout.readline()
    harenad.kill()
    harenad.restart()
    expected = b"".join(b"line %d\n" % number for number in range(1, 301)) + b"END\n"
    assert first + plain.stdout.read() == expected and plain.wait() == 0
    events = [json.loads(line) for line in lines.stdout]
    assert "".join(one.get("data", "") for one in events).encode() == expected
    assert events[-1]["exit"]["code"] == 3 and lines.wait() == 0


def test_exec_across_a_restart(harenad, cli, box):
    data = os.urandom(1_000_000)
    process = subprocess.Popen([cli.binary, "exec", box, "--", "sh", "-c", "echo started; sleep 1; sha256sum; echo ran >> /tmp/runs; exit 6"],
                               env=cli.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"started\n"
    process.stdin.write(data[:500_000])
    process.stdin.flush()
    harenad.kill()
    harenad.restart()
    process.stdin.write(data[500_000:])
    process.stdin.close()
    assert process.stdout.read().split()[0].decode() == hashlib.sha256(data).hexdigest() and process.wait() == 6
    assert cli.out("exec", box, "--", "cat", "/tmp/runs") == "ran\n"


def test_a_terminal(cli, box):
    terminal = Terminal(cli, "shell", box)
    terminal.type(b"stty size; echo ma''rk\r")
    terminal.expect(b"30 100")
    terminal.expect(b"mark")
    terminal.resize(50, 120)
    terminal.type(b"sleep 0.3; stty size\r")
    terminal.expect(b"50 120")
    # Who says it is in the foreground by then: the shell itself might be just about to start it, and lose the interrupt.
    terminal.type(b"sh -c \"echo sleep''ing; exec sleep 100\"\r")
    terminal.expect(b"sleeping")
    terminal.type(b"\x03exit 7\r")
    assert terminal.wait() == 7


def test_cp(cli, box, tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "f").write_bytes(os.urandom(500_000))
    (source / "x 'y\n").write_text("odd")
    (source / "link").symlink_to("sub/f")
    cli("cp", str(source), f"{box}:/dest")
    cli("cp", f"{box}:/dest", str(tmp_path / "back"))
    assert subprocess.run(["diff", "-r", "--no-dereference", source, tmp_path / "back"]).returncode == 0


def test_cp_of_one_file_follows_what_the_user_names(cli, box, tmp_path):
    cli("exec", box, "--", "sh", "-c", "mkdir -p /srv; echo text > /srv/f; chmod 640 /srv/f; ln -s f /srv/link; mkdir /srv/d; echo in > /srv/d/x; ln -s d /srv/dlink")
    cli("cp", f"{box}:/srv/link", str(tmp_path / "of-link"))
    assert (tmp_path / "of-link").read_text() == "text\n" and (tmp_path / "of-link").stat().st_mode & 0o7777 == 0o640
    cli("cp", f"{box}:/srv/dlink", str(tmp_path / "tree"))
    assert (tmp_path / "tree" / "x").read_text() == "in\n"
    (tmp_path / "real").write_text("old")
    (tmp_path / "by-link").symlink_to("real")
    cli("cp", f"{box}:/srv/f", str(tmp_path / "by-link"))
    assert (tmp_path / "by-link").is_symlink() and (tmp_path / "real").read_text() == "text\n"


def test_cp_writes_to_devices_and_fifos_and_never_replaces_them(cli, box, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
    cli("cp", f"{box}:/etc/passwd", str(fifo))
    assert b"root:" in reader.communicate(timeout=60)[0]
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    assert b"root:" in cli("cp", f"{box}:/etc/passwd", str(tmp_path / "stdout")).stdout
    # A device of its own: a fault here mustn't cost the machine its /dev/full.
    try:
        os.mknod(tmp_path / "full", 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        open(tmp_path / "full").close()
    except PermissionError:
        return  # no devices on this file system
    assert b"No space left" in cli("cp", f"{box}:/etc/passwd", str(tmp_path / "full"), code=125).stderr
    assert stat.S_ISCHR((tmp_path / "full").stat().st_mode)


def test_cp_of_names_that_look_like_options(cli, box, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-rf").write_text("dashes")
    cli("cp", "-q", "--", "-rf", f"{box}:/tmp/")
    assert cli.out("exec", box, "--", "cat", "/tmp/-rf") == "dashes"
    cli("cp", "--", f"{box}:/tmp/-rf", "-o")
    assert (tmp_path / "-o").read_text() == "dashes"


def test_a_closed_stdin_is_an_empty_one(cli, box):
    """As a daemon or a cron job may have it: no other descriptor of the program is read in its place."""
    command = [cli.binary, "exec", box, "--", "cat"]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *command], env=cli.env, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("how", [[], ["--parallel", "4"]])
def test_cp_shows_how_far_it_is(cli, box, tmp_path, how):
    source = tmp_path / "source"
    source.mkdir()
    for number in range(20):
        (source / f"f{number}").write_bytes(os.urandom(200_000))
    there = Terminal(cli, "cp", *how, str(source), f"{box}:/dest")
    there.expect(b"20 of 20 files, 3.8 MiB of 3.8 MiB")
    assert there.wait() == 0
    back = Terminal(cli, "cp", *how, f"{box}:/dest", str(tmp_path / "back"))
    back.expect(b"20 of 20 files, 3.8 MiB of 3.8 MiB" if how else b"20 files, 3.8 MiB")
    assert back.wait() == 0
    assert cli("cp", *how, str(source), f"{box}:/quiet").stderr == b""  # nobody looks


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


def test_port_forward_v6_half_close_and_interrupt(cli, box):
    cli("exec", "-d", box, "--", "sh", "-c", "while true; do nc -l -p 9001 -e sh -c 'wc -c; echo bye'; done")
    cli("exec", "-d", box, "--", "httpd", "-f", "-p", "[::1]:9002", "-h", "/etc")
    process = subprocess.Popen([cli.binary, "port-forward", "--json", "--address", "::1", box, "0:9001", "0:9002", "0:9"], env=cli.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    where = [json.loads(process.stdout.readline()) for _ in range(3)]
    assert [one["port"] for one in where] == [9001, 9002, 9] and all(one["local"].startswith("[::1]:") for one in where)
    numbers = [int(one["local"].rsplit(":", 1)[1]) for one in where]

    def talk(number, data):
        with socket.create_connection(("::1", number), timeout=60) as peer:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: peer.recv(65536), b""))

    def until(number, data, wanted):
        deadline = time.monotonic() + 30
        while wanted not in (got := talk(number, data)):
            assert time.monotonic() < deadline, got
        return got

    assert until(numbers[0], b"x" * 100_000, b"bye").split() == [b"100000", b"bye"]
    assert b"root:" in until(numbers[1], b"GET /passwd HTTP/1.0\r\n\r\n", b"root:")
    assert talk(numbers[2], b"") == b""
    with socket.create_connection(("::1", numbers[1]), timeout=60):  # one in use doesn't hold the end up
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    errors = process.stderr.read()
    assert b"nothing listens on port 9 " in errors and b"Traceback" not in errors
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("::1", numbers[1]))
    assert b"--address" in cli("port-forward", "--address", "here", box, "80", code=125).stderr


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
