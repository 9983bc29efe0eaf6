"""SIGTERM while calls are in flight: what can end, ends; what can't is told so and can be gone on with; nothing happens twice."""

import base64
import signal

import pytest

import harena
from port_tools import Ports
from raw_api import beside, call, open_call

DRAIN_S = 4


@pytest.fixture
def short_drain(harenad):
    """A daemon that gives its calls 4 s, and the usual one again afterwards."""
    harenad.stop()
    harenad.restart(lambda config: config.update(limits={"drain_s": DRAIN_S}))
    yield harenad
    if harenad.process is None:
        harenad.restart()
    harenad.stop()
    harenad.restart()


def terminate(daemon):
    """SIGTERM; ``wait()`` of the result gives the exit code."""
    process = daemon.process
    process.send_signal(signal.SIGTERM)
    daemon.process = None
    return process


def is_draining(error):
    return error["code"] == "unavailable" and error["retry"] == "same_node" and error["details"]["cause_detail"] == "draining"


def test_calls_in_flight(short_drain, args):
    with short_drain.client() as client:
        sandbox = client.create(args)
    commands = f"/sandboxes/{sandbox.id}/commands"
    quick = open_call(short_drain, "POST", commands, {"shell": "echo begun > /tmp/quick; sleep 1; echo done", "wait": True})
    long = {"shell": "echo ran >> /tmp/runs; sleep 8; echo through", "op": "long", "wait": True}
    waiting = open_call(short_drain, "POST", commands, long)
    _, _, printing = call(short_drain, "POST", commands, {"shell": "i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); sleep 0.02; done"})
    stream = open_call(short_drain, "GET", f"{commands}/{printing['id']}/output")
    seen = [next(stream.lines())]
    while "quick" not in call(short_drain, "POST", commands, {"shell": "ls /tmp; cat /tmp/runs", "wait": True})[2]["stdout"]:
        pass

    call(short_drain, "POST", commands, {"argv": ["nc", "-l", "-p", "9000", "-e", "cat"]})
    raw = echoing(Ports(short_drain, sandbox, 9000))
    process = terminate(short_drain)
    seen += list(stream.lines())  # ends at once, and properly: IncompleteRead would say otherwise
    assert is_draining(seen.pop()["error"])
    assert all("stream" in line for line in seen if line)
    with call_refused(short_drain) as (status, fields, error):
        assert status == 503 and fields["Connection"] == "close" and int(fields["Retry-After"]) > 0 and is_draining(error)
    assert quick.status == 200 and quick.json()["stdout"] == "done\n"  # it had the time
    assert waiting.status == 503 and is_draining(waiting.json()["error"])  # it hadn't
    assert waiting.fields["Retry-After"]
    assert process.wait(timeout=DRAIN_S + 20) == 0
    with pytest.raises(ConnectionResetError):  # cut, and not with the look of an end
        raw.rest()

    short_drain.restart()
    status, _, result = call(short_drain, "POST", commands, long)
    assert status == 200 and result["stdout"] == "through\n"
    assert call(short_drain, "POST", commands, {"shell": "cat /tmp/runs", "wait": True})[2]["stdout"] == "ran\n"
    printed = b"".join(data_of(line) for line in seen)
    with open_call(short_drain, "GET", f"{commands}/{printing['id']}/output?stdout_offset={len(printed)}") as rest:
        lines = list(rest.lines())
    assert lines[-1]["exit"]["code"] == 0
    printed += b"".join(data_of(line) for line in lines[:-1])
    assert printed == b"".join(b"line %d\n" % number for number in range(400))
    call(short_drain, "DELETE", f"/sandboxes/{sandbox.id}")


def echoing(port):
    """A raw connection to an echo, once there is one."""
    while True:
        connection = port.connect()
        connection.send(port.request("GET", "", [("Connection", "Upgrade"), ("Upgrade", "tcp")]))
        if connection.head().startswith(b"HTTP/1.1 101 "):
            connection.send(b"x")
            assert connection.exactly(1) == b"x"
            return connection


class call_refused:
    def __init__(self, daemon):
        self.daemon = daemon

    def __enter__(self):
        status, fields, body = call(self.daemon, "GET", "/version")
        return status, fields, body["error"]

    def __exit__(self, *exc):
        pass


def data_of(line):
    if "data_b64" in line:
        return base64.b64decode(line["data_b64"])
    return line.get("data", "").encode()


def test_a_batch_in_flight(short_drain, args):
    """Each request of it gets its line; what was begun is made, what wasn't is said to be left; sent again, it is completed."""
    count = 20
    body = {"count": count, "request": {"image": args.image, "labels": {"it": "drain"}, "idempotency_key": "drain-batch",
                                        "params": {"cpu": 0.1, "memory": "32MiB"}}}
    batch = open_call(short_drain, "POST", "/backends/container/sandboxes:batch", body)
    lines = batch.lines()
    got = [next(lines)]
    process = terminate(short_drain)
    got += list(lines)
    assert process.wait(timeout=120) == 0
    assert sorted(line["index"] for line in got) == list(range(count))
    made = {line["index"]: line["sandbox"]["id"] for line in got if "sandbox" in line}
    assert all(is_draining(line["error"]) for line in got if "sandbox" not in line)
    short_drain.restart()
    try:
        with open_call(short_drain, "POST", "/backends/container/sandboxes:batch", body) as again:
            now = {line["index"]: line["sandbox"] for line in again.lines()}
        assert {index: now[index]["id"] for index in made} == made
        assert len({one["id"] for one in now.values()}) == count and {one["state"] for one in now.values()} == {"running"}
        with short_drain.client() as client:
            assert len(list(client.list(labels={"it": "drain"}))) == count
    finally:
        with short_drain.client() as client:
            for one in client.list(labels={"it": "drain"}):
                one.stop()


def test_the_sdk_goes_on_by_itself(short_drain, args):
    """A stop and a start in the middle of everything: the SDK's caller sees neither."""
    patient = harena.RetryPolicy(attempts=40, stream_attempts=40, first_delay=0.05, max_delay=0.5)
    with short_drain.client(retry=patient) as client:
        sandbox = client.create(args)
        command = sandbox.start("for i in $(seq 1 300); do echo line $i; sleep 0.01; done; echo END")
        reading = beside(lambda: b"".join(chunk.data for chunk in command.stream()))
        running = beside(lambda: sandbox.run("echo once >> /tmp/once; sleep 7; cat /tmp/once").stdout)
        while "once" not in sandbox.run("ls /tmp").stdout:
            pass
        small = harena.ContainerArgs(image=args.image, cpu=0.1, memory="32MiB", labels={"it": "sdk-drain"})
        making = beside(lambda: list(client.create_batch(small, count=16)))
        while not list(client.list(labels=small.labels)):
            pass
        process = terminate(short_drain)
        assert process.wait(timeout=60) == 0
        short_drain.restart()
        made = making.result()
        assert len({one.id for one in made}) == 16 == len(list(client.list(labels=small.labels)))
        for one in made:
            one.stop()
        assert reading.result().decode() == "".join(f"line {number}\n" for number in range(1, 301)) + "END\n"
        assert running.result() == "once\n"
        sandbox.stop()
