"""harenad dies by SIGKILL in the middle of everything and comes back: no byte is lost or repeated, nothing runs twice."""

import base64
import hashlib
import json
import os
import random
import shutil
import threading
import time

import pytest

from http_api import LONG, Api, ApiError, Taken

LINES = 400


class Pinned:
    """A daemon that comes back on the port that it had, with a copy of its program if asked (a "newer build")."""

    def __init__(self, daemon):
        self.daemon = daemon

    def restart(self, copy_to=None):
        self.daemon.kill()
        config = self.daemon.config.read_text()
        port = self.daemon.about["api_port"]
        self.daemon.config.write_text(config.replace('"listen": "127.0.0.1:0"', f'"listen": "127.0.0.1:{port}"', 1))
        try:
            self.daemon.start(program=copy_to)
        finally:
            self.daemon.config.write_text(config)


def patiently(call, errors=(OSError, ApiError), until_s=60):
    """Repeats while the daemon isn't there: what any client does with an idempotent call."""
    import http.client

    deadline = time.monotonic() + until_s
    while True:
        try:
            return call()
        except (*errors, http.client.HTTPException) as error:
            if isinstance(error, ApiError) and error.code != "unavailable" or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def follow(box, command, taken):
    """Reads to the exit, coming back with the offsets behind the last bytes as often as the stream is lost."""
    def once():
        for event in box.output(command, stdout_offset=taken.next["stdout"], stderr_offset=taken.next["stderr"]):
            taken.add(event)
        if not taken.exit:
            raise OSError("the stream was cut")
    patiently(once, errors=(OSError, ValueError))


def numbered(n):
    return "".join(f"{n}: line {i}\n" for i in range(1, LINES + 1)).encode() + b"END\n"


def upload(box, path, data, size, outcome):
    """A body that takes its time; cut, it must leave nothing."""
    connection = box.api.connect()
    try:
        connection.putrequest("PUT", f"/v1{box.path}/files?path={path}")
        for name, value in {**box.api.headers(), "Content-Length": str(size)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        for at in range(0, size, len(data)):
            connection.send(data)
            time.sleep(0.02)
        outcome[path] = connection.getresponse().status
    except OSError:
        outcome[path] = "cut"


@pytest.mark.parametrize("newer", [False, True])
def test_fifty_commands_and_twenty_uploads(harenad, make_box, tmp_path, newer):
    box = make_box(pids=1024, memory="1GiB")
    program = None
    if newer:
        program = str(tmp_path / "harenad-next")
        shutil.copy(harenad.program, program)
    commands = [box.start(f"i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo {n}: line $i; sleep 0.01; done; echo END; echo err >&2; exit {n}")["id"]
                for n in range(50)]
    taken = [Taken() for _ in commands]
    readers = [threading.Thread(target=follow, args=(box, command, got)) for command, got in zip(commands, taken)]
    outcome = {}
    uploads = [threading.Thread(target=upload, args=(box, f"/work/up{n}", b"u" * 65536, 65536 * 200, outcome)) for n in range(20)]
    for thread in readers + uploads:
        thread.start()
    while min(got.next["stdout"] for got in taken) < 200:
        time.sleep(0.01)
    Pinned(harenad).restart(program)
    for thread in readers + uploads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    for n, got in enumerate(taken):
        assert got.stdout == numbered(n) and bytes(got.bytes["stderr"]) == b"err\n" and got.exit["code"] == n
    assert set(outcome.values()) == {"cut"}, outcome
    assert box.run("find /work /tmp -mindepth 1")["stdout"] == "", "parts of uploads were left"
    # And what runs now is what was asked for.
    assert os.path.realpath(f"/proc/{harenad.process.pid}/exe") == os.path.realpath(program or harenad.program)
    assert box.run("echo fine")["stdout"] == "fine\n"


def test_started_exactly_once(harenad, make_box):
    """Killed at any moment of a start; the start is repeated under its op until it is answered."""
    box = make_box(pids=1024)
    rounds = 12 if LONG else 4
    for turn in range(rounds):
        done = []

        def start(n, turn=turn):
            body = {"shell": f"echo {turn}-{n} >> /work/ran; echo out {n}", "op": f"{turn}-{n}"}
            done.append((n, patiently(lambda: box.start(wait=True, **body))))

        threads = [threading.Thread(target=start, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(random.uniform(0, 0.08))
        Pinned(harenad).restart()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive()
        assert all(result["stdout"] == f"out {n}\n" and result["exit"]["code"] == 0 for n, result in done) and len(done) == 16
    ran = box.run("cat /work/ran")["stdout"].split()
    assert sorted(ran) == sorted(f"{turn}-{n}" for turn in range(rounds) for n in range(16))


def test_stdin_is_resumed(harenad, make_box):
    """Killed while stdin is being written: the writer asks how far it came and goes on there."""
    box = make_box()
    data = random.Random(7).randbytes(24 << 20)
    command = box.start("while dd bs=64k count=4 iflag=fullblock of=/tmp/part 2>/dev/null && [ -s /tmp/part ]; do cat /tmp/part; sleep 0.02; done"
                        " | sha256sum", stdin="pipe")["id"]
    kills = 3

    def write():
        def once():
            at = box.command(command)["stdin_bytes"]
            return box.stdin(command, data[at:], offset=at, eof="true")
        assert patiently(once) == len(data)

    writer = threading.Thread(target=write)
    writer.start()
    for n in range(kills):
        while patiently(lambda: box.command(command))["stdin_bytes"] < (n + 1) * len(data) // (kills + 1):
            time.sleep(0.01)
        Pinned(harenad).restart()
    writer.join(timeout=120)
    assert not writer.is_alive()
    assert box.collect(command).stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_input_given_with_a_start_arrives(harenad, make_box):
    """Answered is taken: killed behind the answer, before the command has read a byte."""
    box = make_box()
    data = random.Random(8).randbytes(3 << 20)
    encoded = base64.b64encode(data).decode()
    plain = box.start("sleep 1; sha256sum", stdin_data_b64=encoded)["id"]
    lines = b"".join(b"%079d\n" % n for n in range(1000))
    terminal = box.start("sleep 1; head -c 80000 | sha256sum", stdin_data=lines.decode(), pty={}, timeout_ms=60_000)["id"]
    Pinned(harenad).restart()
    for command, expected in ((plain, data), (terminal, lines)):
        assert hashlib.sha256(expected).hexdigest() in box.collect(command).stdout.decode().split()
    with pytest.raises(ApiError) as caught:
        box.stdin(plain, b"more")
    assert caught.value.code == "failed_precondition"


def test_waiting_is_resumed(harenad, make_box):
    """A whole result that was waited for, asked again under its op."""
    box = make_box()
    body = {"shell": "echo once >> /work/ran; seq 1 50000; sleep 1; echo END", "op": "waited", "wait": True}
    result = {}
    waiter = threading.Thread(target=lambda: result.update(patiently(lambda: box.start(**body))))
    waiter.start()
    while not [c for c in patiently(box.commands) if c["stdout_bytes"] > 1000]:
        time.sleep(0.01)
    Pinned(harenad).restart()
    waiter.join(timeout=60)
    assert result["stdout"] == "".join(f"{n}\n" for n in range(1, 50001)) + "END\n"
    assert box.run("cat /work/ran")["stdout"] == "once\n"


def test_killed_at_any_moment_of_the_start_of_the_daemon(harenad, make_box):
    """Also a daemon that is itself killed while it recovers leaves the commands alone."""
    box = make_box()
    command = box.start("i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo 1: line $i; sleep 0.02; done")["id"]
    for _ in range(6 if LONG else 3):
        harenad.kill()
        harenad.spawn()
        time.sleep(random.uniform(0, 0.4))
    harenad.kill()
    harenad.start()
    taken = Taken()
    follow(box, command, taken)
    assert taken.stdout == b"".join(b"1: line %d\n" % i for i in range(1, 301)) and taken.exit["code"] == 0
    assert json.dumps(Api(harenad).call("GET", f"/sandboxes/{box.id}")).count('"running"') == 1
