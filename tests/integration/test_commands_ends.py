"""How commands end, and that what they started ends with them: looked at from the host."""

import json
import time

import pytest

from files_support import wait_until
from http_api import LONG, ApiError, at_once, host_processes


def left(box):
    """Host processes of the sandbox but for its init."""
    return {pid: name for pid, name in host_processes(box.id).items() if name != "init"}


def leaves_nothing(box):
    """What was killed may need a moment to die on a busy machine; nothing of it lives on."""
    deadline = time.monotonic() + 10
    while left(box) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left(box) == {}


ESCAPES = {
    "background": "sleep 30 & sleep 30",
    "setsid": "setsid sleep 30 & sleep 30",
    "double fork": "(setsid sh -c '(sleep 30 &) &' &); sleep 30",
    "ignored SIGTERM": "trap '' TERM INT HUP; sleep 30 & while true; do sleep 1; done",
    "detached from its output": "setsid sh -c 'exec </dev/null >/dev/null 2>&1; while true; do sleep 0.1; done' & sleep 30",
    "forking on": "f() { sleep 0.05; f & }; f & sleep 30",
    "stopped": "sleep 30 & kill -STOP $!; kill -STOP $$",
    "closed stdio": "exec >&- 2>&- <&-; sleep 30",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_timeout_ends_everything(make_box, name):
    box = make_box(pids=256)
    begun = time.monotonic()
    result = box.run(ESCAPES[name], timeout_ms=2_000)
    took = time.monotonic() - begun
    assert result["exit"]["cause"] == "timeout" and result["exit"]["code"] is None
    assert 2 <= took < 3 and 2_000 <= result["exit"]["duration_ms"] < 3_000
    assert leaves_nothing(box)


def test_partial_output_on_timeout(box):
    result = box.run("echo first; printf half; echo err >&2; sleep 30", timeout_ms=500)
    assert (result["stdout"], result["stderr"], result["exit"]["cause"]) == ("first\nhalf", "err\n", "timeout")
    command = box.start("echo first; printf half; sleep 30", timeout_ms=500)["id"]
    taken = box.collect(command)
    assert taken.stdout == b"first\nhalf" and taken.exit["cause"] == "timeout"


def test_no_output_timeout(box):
    result = box.run("for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done; sleep 30", no_output_timeout_ms=1_000)
    assert result["exit"]["cause"] == "no_output_timeout" and result["stdout"] == "1\n2\n3\n4\n5\n6\n"


def test_background_process_that_was_wanted_stays(make_box):
    """Its output goes on being collected; the command's own end isn't held up by it."""
    box = make_box()
    begun = time.monotonic()
    result = box.run("(for i in 1 2 3 4 5 6 7 8 9 10; do echo tick $i; sleep 0.3; done; echo over) & echo started")
    assert result["exit"]["code"] == 0 and result["exit"]["background"] and "started\n" in result["stdout"]
    assert time.monotonic() - begun < 2 and "over" not in result["stdout"]
    assert "sleep" in left(box).values()
    taken = box.collect(result["id"], background="true")
    assert taken.stdout.decode().endswith("tick 10\nover\n")


def test_detached_service_stays_and_delete_ends_it(make_box):
    box = make_box()
    command = box.run("setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!")["id"]
    wait_until(lambda: list(left(box).values()) == ["sleep"], "the service isn't there alone")
    assert box.run("echo other")["exit"]["code"] == 0
    assert list(left(box).values()) == ["sleep"]
    box.forget(command)
    assert leaves_nothing(box)
    with pytest.raises(ApiError) as caught:
        box.command(command)
    assert caught.value.code == "not_found"


def test_delete_of_a_running_tree(make_box):
    box = make_box()
    command = box.start("trap '' TERM; setsid sleep 1000 & (sleep 1000 &); echo ready; sleep 1000")["id"]
    assert "ready" in next(box.output(command))["data"]
    box.forget(command)
    assert leaves_nothing(box) and box.commands() == []
    with pytest.raises(ApiError):
        box.forget(command)


def test_signals_and_targets(box):
    """process: only it; group: with its children; tree: with what left the group too."""
    loop = "echo ready; while true; do sleep 0.05; done"
    script = f"trap 'echo parent' USR1; sh -c \"trap 'echo child; exit' USR1; {loop}\" & setsid sh -c \"trap 'echo other; exit' USR1; {loop}\" & {loop}"
    for target, expected in [("process", {"parent"}), ("group", {"parent", "child"}), ("tree", {"parent", "child", "other"})]:
        command = box.start(script, timeout_ms=30_000)["id"]
        words = []
        for event in box.output(command):
            words += event.get("data", "").split()
            if words == ["ready"] * 3:  # all have their traps
                box.signal(command, signal="SIGUSR1", target=target)
            if expected <= set(words):
                break
        assert {"parent", "child", "other"} & set(words) == expected
        box.signal(command, signal="KILL", target="tree")
        exit = box.collect(command).exit
        assert exit["signal"] == "KILL" and exit["code"] is None
        box.forget(command)


@pytest.mark.parametrize("given, name", [("TERM", "TERM"), ("SIGINT", "INT"), ("9", "KILL"), ("RTMIN", None), ("34", "34"), ("HUP", "HUP"), ("PIPE", "PIPE")])
def test_signal_names(box, given, name):
    command = box.start(argv=["sleep", "1000"])["id"]
    if name is None:
        with pytest.raises(ApiError):
            box.signal(command, signal=given)
        box.forget(command)
        return
    box.signal(command, signal=given)
    exit = box.collect(command).exit
    assert (exit["signal"], exit["cause"]) == (name, "signal")
    for call in (box.signal, box.resize):
        with pytest.raises(ApiError) as caught:
            call(command, **({"rows": 1, "cols": 1} if call == box.resize else {}))
        assert caught.value.code == "failed_precondition"


def test_thousand_parallel_exits(make_box):
    box = make_box(pids=4096)
    results = at_once(1000, lambda n: box.run("exit 7"), workers=100)
    assert {(r["exit"]["code"], r["exit"]["cause"]) for r in results} == {(7, "exit")}
    assert len({r["id"] for r in results}) == 1000


def test_exit_codes(box):
    for code in (0, 1, 2, 126, 127, 128, 137, 255):
        assert box.run(f"exit {code}")["exit"]["code"] == code
    assert box.run("kill -SEGV $$")["exit"]["signal"] == "SEGV"


def test_orphans_leave_no_zombie(make_box):
    """Children of processes that ended are the init's, which reaps them."""
    box = make_box(pids=2048)
    box.run("for i in $(seq 300); do (sh -c 'sleep 0.2; exit 3' &) ; done", timeout_ms=60_000)
    deadline = time.monotonic() + 60
    while left(box):
        assert time.monotonic() < deadline, left(box)
        time.sleep(0.05)
    assert box.run("ps -o stat,comm | grep -c '^Z'")["stdout"] == "0\n"


def test_start_and_cancel(make_box):
    """Started and cancelled at once, by DELETE and by a client that goes away; then a normal exec."""
    count = 500 if LONG else 100
    box = make_box(pids=1024)

    def cancel(n):
        if n % 2:
            return box.forget(box.start("sleep 100 & sleep 100")["id"])
        connection = box.api.connect()
        body = {"shell": "sleep 100 & sleep 100", "wait": True, "on_disconnect": "kill"}
        connection.request("POST", f"/v1{box.path}/commands", json.dumps(body), box.api.headers())
        connection.close()

    at_once(count, cancel, workers=8)
    deadline = time.monotonic() + 60
    while left(box):
        assert time.monotonic() < deadline, left(box)
        time.sleep(0.05)
    assert all(command["state"] == "exited" for command in box.commands())
    assert box.run("echo fine")["stdout"] == "fine\n"


def begun(box, method, path, body=None):
    """A streamed answer whose first line has come: (connection, line)."""
    connection = box.api.connect()
    connection.request(method, f"/v1{box.path}/commands{path}", json.dumps(body) if body else None, box.api.headers())
    return connection, json.loads(connection.getresponse().readline())


def test_what_holds_a_command_ends_it_and_a_reader_does_not(box):
    """on_disconnect: kill is bound to the start that follows its command; /output only reads, also of such a command."""
    body = {"shell": "echo here; exec sleep 1000", "on_disconnect": "kill"}
    holder, started = begun(box, "POST", "", {**body, "attach": True})
    read = box.start(**body)["id"]
    for reader in [begun(box, "GET", f"/{one}/output?follow=true") for one in (read, started["started"]["id"])]:
        assert reader[1]["data"] == "here\n"
        reader[0].close()
    assert [box.command(one)["state"] for one in (read, started["started"]["id"])] == ["running", "running"]
    holder.close()
    assert box.collect(started["started"]["id"]).exit["signal"] == "KILL"
    assert box.command(read)["state"] == "running"
    box.forget(read)


def test_a_repeated_start_holds_nothing(box):
    """Who asks again with the same op watches what the first one holds."""
    body = {"shell": "echo here; exec sleep 1000", "on_disconnect": "kill", "attach": True, "op": "held once"}
    holder, started = begun(box, "POST", "", body)
    watcher, again = begun(box, "POST", "", body)
    assert again["started"] == {**started["started"], "existing": True}
    watcher.close()
    other, _ = begun(box, "POST", "", body)
    assert box.command(started["started"]["id"])["state"] == "running"
    holder.close()
    assert box.collect(started["started"]["id"]).exit["signal"] == "KILL"
    other.close()


def test_waiting_client_that_leaves_keeps_its_command(box):
    connection = box.api.connect()
    connection.request("POST", f"/v1{box.path}/commands", '{"shell": "sleep 0.5; echo kept", "wait": true, "op": "left"}', box.api.headers())
    deadline = time.monotonic() + 30
    while not [c for c in box.commands() if c.get("op") == "left"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    connection.close()
    assert box.run("sleep 0.5; echo kept", op="left")["stdout"] == "kept\n"


@pytest.mark.skipif(not LONG, reason="takes 45 s; the short form is api_live_answer_test")
def test_a_long_wait_gives_signs_of_life(box):
    """A client that takes 30 s of silence for a dead connection gets its result."""
    connection = box.api.connect()
    connection.timeout = 30
    for shell, size in (("sleep 45; echo done", 5), ("sleep 26; seq 1 100000", 588_895)):
        answer = box.api.send(connection, "POST", box.path + "/commands", {"shell": shell, "wait": True})
        text = answer.read()
        assert answer.status == 200 and text.startswith(b"\n") and len(json.loads(text)["stdout"]) == size
    connection.close()


def test_list_and_info(make_box):
    box = make_box()
    first, second = box.start(argv=["sleep", "1000"])["id"], box.run("echo hi; exit 3", op="two")["id"]
    listed = {command["id"]: command for command in box.commands()}
    assert set(listed) == {first, second}
    assert listed[first]["state"] == "running" and listed[first]["argv"] == ["sleep", "1000"] and listed[first]["pid"] > 1
    assert listed[second] == box.command(second)
    assert listed[second]["exit"]["code"] == 3 and listed[second]["op"] == "two" and listed[second]["stdout_bytes"] == 3
    box.forget(first)
