"""The Python SDK over connections that break: every byte once, every command once, and nothing goes on that was given up."""

import asyncio
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import harena
from raw_api import beside, call, open_call

SOURCE = Path(__file__).resolve().parents[2]
PATIENT = harena.RetryPolicy(attempts=40, stream_attempts=40, first_delay=0.02, max_delay=0.3)


class Relay:
    """Between a client and the daemon: cuts its first ``cuts`` connections once so many bytes have passed to the client
    (``down``) or to the daemon (``up``). With ``swallow`` an answer is held back altogether: the daemon acts, the client never
    hears of it."""

    def __init__(self, daemon, cuts, down=None, up=None, swallow=False):
        self.target, self.cuts, self.down, self.up, self.swallow = daemon.about["api_port"], cuts, down, up, swallow
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.lock = threading.Lock()
        self.cut = 0
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            for one, other, limit in ((server, client, self.down), (client, server, self.up)):
                threading.Thread(target=self.pump, args=(one, other, limit, one is server), daemon=True).start()
            # The pumps' alone: a name here would keep a cut connection open, and its sender waiting, until the next one comes.
            del client, server, one, other

    def take_cut(self):
        with self.lock:
            if self.cut >= self.cuts:
                return False
            self.cut += 1
            return True

    def pump(self, source, target, limit, from_server):
        passed, left = 0, None if limit is None else random.randint(limit // 2, limit)
        try:
            while data := source.recv(65536):
                if from_server and self.swallow and self.take_cut():
                    break
                if left is not None and passed + len(data) > left and self.take_cut():
                    target.sendall(data[:left - passed])
                    break
                target.sendall(data)
                passed += len(data)
            else:
                return target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def through(relay, harenad):
    return harena.Client(relay.url, harenad.token, retry=PATIENT)


@pytest.fixture
def box(harenad, args):
    with harenad.client() as client, client.create(args) as sandbox:
        yield sandbox


def test_output_through_a_cutting_relay(harenad, box):
    with Relay(harenad, cuts=12, down=60_000) as relay, through(relay, harenad) as client:
        command = client.get(box.id).start("seq 1 100000; seq 1 1000 >&2; sleep 0.2; echo END")
        out = {"stdout": b"", "stderr": b""}
        for chunk in command.stream():
            assert chunk.offset == len(out[chunk.stream])
            out[chunk.stream] += chunk.data
        assert relay.cut == 12
    assert out["stdout"] == b"".join(b"%d\n" % number for number in range(1, 100_001)) + b"END\n"
    assert out["stderr"] == b"".join(b"%d\n" % number for number in range(1, 1001)) and command.exit.code == 0


def test_stdin_through_a_cutting_relay(harenad, box):
    data = os.urandom(6_000_000)
    with Relay(harenad, cuts=10, up=400_000) as relay, through(relay, harenad) as client:
        pieces = (data[at:at + 100_000] for at in range(0, len(data), 100_000))
        result = client.get(box.id).run(["sha256sum"], input=pieces)
        assert relay.cut == 10
    assert result.stdout.split()[0] == hashlib.sha256(data).hexdigest()


def test_another_process_goes_on_with_stdin(harenad, box):
    command = box.start(["cat"], stdin=True)
    command.write_stdin("one ")
    with harenad.client() as client:
        other = client.get(box.id).commands.get(command.id)
        other.write_stdin("two")
        other.close_stdin()
        assert other.result().stdout == "one two"


def test_files_through_a_cutting_relay(harenad, box, tmp_path):
    data = os.urandom(8_000_000)
    with Relay(harenad, cuts=6, up=3_000_000) as relay, through(relay, harenad) as client:
        client.get(box.id).files.write("/big", data)
        assert relay.cut == 6
    assert box.run(["sha256sum", "/big"]).stdout.split()[0] == hashlib.sha256(data).hexdigest()
    with Relay(harenad, cuts=8, down=1_000_000) as relay, through(relay, harenad) as client:
        files = client.get(box.id).files
        assert files.read("/big") == data
        assert files.read("/big", start=1_000_001, length=5_000_000) == data[1_000_001:6_000_001]
        assert relay.cut == 8


def test_lost_replies_run_nothing_twice(harenad, box):
    with Relay(harenad, cuts=0, swallow=True) as relay, through(relay, harenad) as client:
        sandbox = client.get(box.id)
        relay.cuts = 4
        assert sandbox.run("echo run >> /tmp/log; cat /tmp/log").stdout == "run\n"
        relay.cuts += 3
        command = sandbox.start("echo start >> /tmp/log")
        command.wait()
        assert relay.cut == 7
    assert box.run("cat /tmp/log").stdout == "run\nstart\n"


def test_killed_in_the_middle_of_everything(harenad, args):
    data = os.urandom(4_000_000)
    with harenad.client(retry=PATIENT) as client:
        sandbox = client.create(args)
        sandbox.files.write("/big", data)

        def slowly():
            for at in range(0, len(data), 40_000):
                time.sleep(0.01)
                yield data[at:at + 40_000]

        def read_slowly():
            got = b""
            for piece in sandbox.files.read_stream("/big"):
                got += piece
                time.sleep(0.005)
            return got

        feeding = beside(lambda: sandbox.run(["sha256sum"], input=slowly()).stdout.split()[0])
        reading = beside(read_slowly)
        command = sandbox.start("for i in $(seq 1 300); do echo line $i; sleep 0.01; done; echo END")
        streaming = beside(lambda: b"".join(chunk.data for chunk in command.stream()))
        waiting = beside(lambda: sandbox.run("echo once >> /tmp/once; sleep 3; cat /tmp/once").stdout)
        while "once" not in sandbox.run("ls /tmp").stdout:
            pass
        for _ in range(2):
            harenad.kill()
            harenad.restart()
            sandbox.run("true")
        assert feeding.result() == hashlib.sha256(data).hexdigest()
        assert reading.result() == data
        assert streaming.result().decode() == "".join(f"line {number}\n" for number in range(1, 301)) + "END\n"
        assert waiting.result() == "once\n"
        sandbox.stop()


def established(daemon):
    """Connections to the API whose daemon's side isn't closed: ESTABLISHED or CLOSE_WAIT."""
    port = f":{daemon.about['api_port']:04X}"
    lines = [line.split() for line in Path(f"/proc/{daemon.process.pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(1 for line in lines if line[1].endswith(port) and line[3] in ("01", "08"))


def falls_to(daemon, count, within):
    deadline = time.monotonic() + within
    while established(daemon) > count:
        assert time.monotonic() < deadline, established(daemon)
        time.sleep(0.02)


def test_a_closed_iterator_ends_its_request(harenad, box):
    before = established(harenad)
    with harenad.client() as client:
        command = client.get(box.id).start("while echo x; do sleep 0.01; done")
        stream = command.stream()
        next(stream)
        assert established(harenad) > before
        stream.close()
    falls_to(harenad, before, within=10)
    assert box.commands.get(command.id).info.state == "running"
    command = box.commands.get(command.id)
    command.kill()


def test_a_cancelled_task_ends_its_request_and_its_command(harenad, box):
    async def main():
        async with harenad.async_client() as client:
            sandbox = await client.get(box.id)
            command = await sandbox.start("while echo x; do sleep 0.01; done")

            async def follow():
                async for _ in command.stream():
                    pass

            tasks = [asyncio.ensure_future(follow()), asyncio.ensure_future(sandbox.run("sleep 71"))]
            while "sleep 71" not in (await sandbox.run(["ps"])).stdout:
                await asyncio.sleep(0.02)
            for task in tasks:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in done)
            while "sleep 71" in (await sandbox.run(["ps"])).stdout:
                await asyncio.sleep(0.02)
            await command.refresh()
            assert command.info.state == "running"  # following isn't owning
            await command.kill()

    before = established(harenad)
    asyncio.run(asyncio.wait_for(main(), 60))
    falls_to(harenad, before, within=10)


PROGRAM = """
import sys, harena
with harena.Client(sys.argv[1], sys.argv[2]) as client:
    client.get(sys.argv[3]).run("echo $$; exec sleep " + sys.argv[4], on_disconnect=sys.argv[5])
"""


@pytest.mark.parametrize("on_disconnect", ["kill", "keep"])
def test_what_outlives_its_client(harenad, box, on_disconnect):
    number = {"kill": "72", "keep": "73"}[on_disconnect]
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, harenad.url, harenad.token, box.id, number, on_disconnect],
                               env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk" / "python")})

    def there():
        return f"sleep {number}" in box.run(["ps"]).stdout

    while not there():
        assert program.poll() is None
    program.send_signal(signal.SIGKILL)
    program.wait()
    deadline = time.monotonic() + 20
    while on_disconnect == "kill" and there():
        assert time.monotonic() < deadline
    if on_disconnect == "keep":
        time.sleep(2)  # twice the time in which a departure is noticed
        assert there()


def test_a_departure_is_noticed_within_a_second(harenad, box):
    """Of a client that has asked for something that takes long, and of one that reads a silent stream."""
    command = box.start("sleep 74")
    for path in (("POST", f"/sandboxes/{box.id}/commands", {"shell": "sleep 75", "wait": True}),
                 ("GET", f"/sandboxes/{box.id}/commands/{command.id}/output", None)):
        before = established(harenad)
        gone = open_call(harenad, *path)
        deadline = time.monotonic() + 20
        while established(harenad) <= before:
            assert time.monotonic() < deadline
        gone.close()
        left = time.monotonic()
        while established(harenad) > before:
            assert time.monotonic() - left < 20
        # Half a second of grace for those that half-closed, and 200 ms between looks; the rest is this machine's.
        assert time.monotonic() - left < 3
    command.kill()


def test_one_download_doesnt_starve_small_calls(harenad, box):
    """Counted, not timed: while 64 clients make 20 calls each, an endless download moves on, and none of it is in their way."""
    command = box.start("yes", output_limit_bytes=1 << 40)
    moved, stop = [0], threading.Event()

    def download():
        with open_call(harenad, "GET", f"/sandboxes/{box.id}/commands/{command.id}/output", headers={"Accept": "application/vnd.harena.frames"}) as stream:
            while not stop.is_set():
                moved[0] += len(stream._begin().read1(1 << 20))

    downloading = beside(download)
    while moved[0] < 1 << 20:
        time.sleep(0.01)
    start = moved[0]
    work = [beside(lambda: [call(harenad, "GET", f"/sandboxes/{box.id}")[0] for _ in range(20)]) for _ in range(64)]
    assert all(one.result() == [200] * 20 for one in work)
    during = moved[0] - start
    stop.set()
    downloading.result()
    command.kill()
    command.forget()
    assert 0 < during < 1280 * (8 << 20)  # a call waits for a few blocks of it at most, not for its end
