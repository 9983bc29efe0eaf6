"""What a command printed is there to the last byte: through HTTP, on a container."""

import json
import time

import pytest

from http_api import LONG, ApiError, Taken, at_once, result_bytes


def test_last_line_without_newline(box):
    result = box.run("printf 'one\\ntwo'; printf 'err' >&2")
    assert result["stdout"] == "one\ntwo" and result["stderr"] == "err"
    assert box.collect(result["id"]).stdout == b"one\ntwo"


def test_blank_lines(box):
    text = "\n\n  \n\nx\n\n\n"
    command = box.start(argv=["printf", "%s", text])
    assert box.collect(command["id"]).stdout.decode() == text
    assert box.run(argv=["printf", "%s", text])["stdout"] == text


def test_every_byte_value(box):
    """Also those that aren't UTF-8, and characters that are cut by a chunk's end."""
    script = "i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done"
    result = box.run(script)
    assert "stdout" not in result and result_bytes(result) == bytes(range(256))
    assert box.collect(result["id"]).stdout == bytes(range(256))
    snow = box.run("yes '☃☃☃' | head -n 60000")
    assert snow["stdout"] == "☃☃☃\n" * 60000
    assert box.collect(snow["id"]).stdout.decode() == snow["stdout"]


def test_exit_comes_behind_the_last_byte(box):
    """The main process ends while the pipe is full of what nobody has taken yet, and another still writes. Where that one is silent for
    200 ms (a busy machine) the end says `background`, and what came behind it is there all the same."""
    for _ in range(20):
        result = box.run("(sleep 0.1; seq 1 20000; echo LAST) & seq 1 20000")
        assert result["exit"]["code"] == 0 and result["exit"]["stdout_bytes"] == len(result["stdout"])
        whole = result["stdout"]
        if result["exit"].get("background"):
            whole = box.collect(result["id"], background="true").stdout.decode()
            assert whole.startswith(result["stdout"])
        assert whole.count("\n") == 40001 and whole.endswith("LAST\n")


def test_every_last_line_under_load(box):
    """Cut at the process' exit is what others did, 64 at a time."""
    count = 200 if LONG else 64
    last = 200_000 if LONG else 20_000
    expected = "".join(f"{n}\n" for n in range(1, last + 1)).encode() + b"END\n"

    def one(_):
        command = box.start(f"seq 1 {last}; sleep 0.2; echo END")
        taken = box.collect(command["id"])
        box.forget(command["id"])
        return taken.exit["code"], taken.stdout == expected, taken.stdout[-20:]

    assert set(at_once(count, one)) == {(0, True, expected[-20:])}


def test_no_reader_of_yes(make_box, harenad):
    """Neither blocked (bytes are counted on) nor bloated (64 MiB, unless asked otherwise, are kept and no more)."""
    box = make_box()
    kept = 64 << 20 if LONG else 4 << 20
    command = box.start("yes", **({} if LONG else {"output_limit_bytes": kept}))["id"]
    seen, deadline = [], time.monotonic() + (60 if LONG else 5)
    while time.monotonic() < deadline:
        seen.append(box.command(command)["stdout_bytes"])
        time.sleep(1)
    assert all(a < b for a, b in zip(seen, seen[1:])), "the command was blocked"
    while box.command(command)["stdout_bytes"] <= kept:
        time.sleep(0.1)
    box.signal(command, signal="KILL", target="tree")
    taken = box.collect(command)
    assert len(taken.stdout) == kept and taken.truncated == ["stdout"]
    assert taken.stdout == b"y\n" * (kept // 2)
    spools = [entry for entry in harenad.run.rglob("*.out")] + [entry for entry in harenad.state.rglob("*.out")]
    assert all(entry.stat().st_size <= kept for entry in spools)


def test_one_of_three_readers_leaves(box):
    command = box.start("i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line $i; sleep 0.01; done")["id"]
    readers = [box.output(command) for _ in range(3)]
    got = [Taken() for _ in readers]
    for reader, taken in zip(readers, got):
        taken.add(next(reader))
    readers[1].close()
    for index in (0, 2):
        for event in readers[index]:
            got[index].add(event)
    expected = "".join(f"line {n}\n" for n in range(1, 201)).encode()
    assert got[0].stdout == got[2].stdout == expected
    assert expected.startswith(got[1].stdout) and got[0].exit["code"] == 0


def test_resumed_at_every_offset(box):
    """A reader that comes back with its offset misses nothing and sees nothing twice."""
    text = "".join(f"{n} ☃\n" for n in range(40)).encode()
    command = box.run(argv=["printf", "%s", text.decode()])["id"]
    for offset in range(0, len(text) + 1, 7):
        taken = Taken(stdout_offset=offset)
        for event in box.output(command, stdout_offset=offset):
            taken.add(event)
        assert taken.stdout == text[offset:] and taken.exit


def test_a_start_with_attach_tells_it_all(box):
    lines = [json.loads(line) for line in box.start_attached("echo out; echo err >&2; exit 3")]
    started, *output, last = [line for line in lines if line]
    command = box.command(started["started"]["id"])
    assert started["started"] == {"id": command["id"], "pid": command["pid"], "existing": False}
    taken = Taken()
    for event in [*output, last]:
        taken.add(event)
    assert taken.stdout == b"out\n" and bytes(taken.bytes["stderr"]) == b"err\n" and last["exit"]["code"] == 3


def test_a_start_with_attach_in_frames(box):
    whole = box.start_attached("printf abc", frames=True).read()
    kinds, payloads = [], []
    while whole:
        size = int.from_bytes(whole[4:8], "little")
        kinds.append(whole[0])
        payloads.append(whole[16 : 16 + size])
        whole = whole[16 + size :]
    assert kinds == [6, 1, 4] and payloads[1] == b"abc"
    assert set(json.loads(payloads[0])) == {"id", "pid", "existing"} and json.loads(payloads[2])["code"] == 0


def test_a_start_with_attach_says_its_start_before_any_output(box):
    """The client knows the command while it is silent, and its going leaves the command alone."""
    answer = box.start_attached("read line; echo got $line", stdin="pipe")
    started = json.loads(answer.readline())["started"]
    answer.connection.close()
    box.stdin(started["id"], b"it\n")
    assert box.collect(started["id"]).stdout == b"got it\n"


def test_attach_of_a_repeated_start_is_of_the_first(box):
    first = json.loads(box.start_attached("echo once", op="attached").readline())["started"]
    box.collect(first["id"])
    lines = [json.loads(line) for line in box.start_attached("echo once", op="attached")]
    assert lines[0]["started"] == {**first, "existing": True}
    assert [line["data"] for line in lines if "data" in line] == ["once\n"]


def test_a_start_that_fails_is_no_stream(box):
    with pytest.raises(ApiError) as refused:
        box.start_attached("true", cwd="/no/such/folder")
    assert refused.value.status == 404


def test_frames_carry_the_same(box):
    command = box.run("seq 1 50000; echo oops >&2; exit 3")["id"]
    whole = box.open_output(command, frames=True).read()
    got = {1: b"", 2: b"", 4: b""}
    while whole:
        kind, size, offset = whole[0], int.from_bytes(whole[4:8], "little"), int.from_bytes(whole[8:16], "little")
        assert whole[1:4] == b"\0\0\0" and (kind == 4 or offset == len(got[kind]))
        got[kind] += whole[16:16 + size]
        whole = whole[16 + size:]
    taken = box.collect(command)
    assert got[1] == taken.stdout and got[2] == b"oops\n" and json.loads(got[4]) == taken.exit
    assert taken.exit["code"] == 3


def cpu_of_reading(box, megabytes):
    """Process time of a client that takes so much and looks at each line."""
    command = box.start(f"head -c {megabytes << 20} /dev/zero | tr '\\0' 'x'", output_limit_bytes=1 << 30)["id"]
    before, size = time.process_time(), 0
    for event in box.output(command):
        size += len(event.get("data", ""))
    assert size == megabytes << 20
    box.forget(command)
    return time.process_time() - before


def test_client_cpu_is_linear(box):
    """200 MB cost four times what 50 MB cost; twice that is still no square."""
    cpu_of_reading(box, 5)
    small, large = cpu_of_reading(box, 50), cpu_of_reading(box, 200)
    assert large < 8 * small, (small, large)


def test_outputs_of_a_sandbox_share_a_budget(make_box):
    """1 GiB together: older results give way to what is printed now, which is kept whole."""
    box = make_box()
    ids = []
    for _ in range(17):
        ids.append(box.start(f"head -c {64 << 20} /dev/zero")["id"])
        while box.command(ids[-1])["state"] == "running":
            time.sleep(0.02)
    left = {command["id"]: command for command in box.commands()}
    assert ids[0] not in left and set(ids[1:]) == set(left)
    assert all(command["stdout_bytes"] == 64 << 20 for command in left.values())
    assert len(box.collect(ids[-1], stdout_offset=(64 << 20) - 5).stdout) == 5


def test_truncation_kills_as_asked(box):
    result = box.run("yes", output_limit_bytes=1 << 20, on_output_limit="kill")
    assert result["exit"]["cause"] == "output_limit" and result["stdout_truncated"]
    assert len(result["stdout"]) == 1 << 20
