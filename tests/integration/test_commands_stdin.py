"""What a command is given on stdin arrives whole, in order, whoever reads slowly; and its end is seen."""

import base64
import hashlib
import threading

import pytest

from http_api import ApiError, at_once


def pattern(size):
    """Bytes that repeat nowhere within a few MB, so that a lost or doubled block changes the hash."""
    block = hashlib.sha256(b"seed").digest() * 32768
    return b"".join(n.to_bytes(8, "big") + block for n in range(size // len(block) + 1))[:size]


@pytest.mark.parametrize("megabytes", [10, 50])
def test_into_a_slow_reader(box, megabytes):
    data = pattern(megabytes << 20)
    slow = "while dd bs=1M count=1 iflag=fullblock of=/tmp/part 2>/dev/null && [ -s /tmp/part ]; do cat /tmp/part; sleep 0.02; done | sha256sum"
    command = box.start(slow, stdin="pipe")["id"]
    assert box.stdin(command, data, eof="true") == len(data)
    taken = box.collect(command)
    assert taken.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_ten_megabytes_with_the_start(box):
    data = pattern(10 << 20)
    result = box.run("sleep 0.3; sha256sum", stdin_data_b64=base64.b64encode(data).decode())
    assert result["stdout"].split()[0] == hashlib.sha256(data).hexdigest()


def test_not_read_at_all(box):
    """A command that ends without a look at its stdin is no error of its start, and answers the writer."""
    assert box.run("exit 4", stdin_data="x" * 1_000_000)["exit"]["code"] == 4
    command = box.start("sleep 0.3; exit 5", stdin="pipe")["id"]
    with pytest.raises(ApiError) as caught:
        box.stdin(command, b"x" * 1_000_000)
    assert caught.value.code == "failed_precondition"
    assert box.collect(command).exit["code"] == 5


def test_cat_without_stdin_ends(box):
    result = box.run("cat; echo done", timeout_ms=20_000)
    assert result["stdout"] == "done\n" and result["exit"]["code"] == 0


def test_cat_without_stdin_ends_on_a_terminal(box):
    result = box.run("cat; echo done", pty={"rows": 24, "cols": 80}, timeout_ms=20_000)
    assert result["stdout"].endswith("done\r\n") and result["exit"]["code"] == 0


def test_empty_stdin_is_an_end(box):
    assert box.run("cat; echo done", stdin_data="", timeout_ms=20_000)["stdout"] == "done\n"


def test_piece_by_piece_and_its_end(box):
    command = box.start("cat", stdin="pipe")["id"]
    for n in range(50):
        assert box.stdin(command, b"%02d\n" % n) == 3 * (n + 1)
    assert box.command(command)["state"] == "running"
    box.stdin(command, b"", eof="true")
    assert box.collect(command).stdout == b"".join(b"%02d\n" % n for n in range(50))


def test_offsets_skip_what_arrived_and_refuse_a_gap(box):
    command = box.start("cat", stdin="pipe")["id"]
    assert box.stdin(command, b"hello ", offset=0) == 6
    assert box.stdin(command, b"hello world", offset=0) == 11
    with pytest.raises(ApiError) as caught:
        box.stdin(command, b"x", offset=12)
    assert caught.value.code == "out_of_range" and "11" in caught.value.message
    assert box.stdin(command, b"", offset=11, eof="true") == 11
    assert box.collect(command).stdout == b"hello world"


def test_a_repetition_after_the_end_is_answered_as_the_first_time(box):
    """Whose answer was lost asks again; nothing is read twice, and nothing new is taken."""
    command = box.start("cat; echo end", stdin="pipe")["id"]
    assert box.stdin(command, b"hello", offset=0, eof="true") == 5
    assert box.collect(command).stdout == b"helloend\n"
    assert box.stdin(command, b"hello", offset=0, eof="true") == 5
    assert box.stdin(command, b"hel", offset=0) == 5
    assert box.stdin(command, b"", offset=5, eof="true") == box.stdin(command, b"", eof="true") == 5
    for data, query in ((b"x", {"offset": 5}), (b"hello more", {"offset": 0}), (b"x", {})):
        with pytest.raises(ApiError) as caught:
            box.stdin(command, data, **query)
        assert caught.value.code == "failed_precondition", (data, query)
    without = box.start("sleep 1000")["id"]
    with pytest.raises(ApiError) as caught:
        box.stdin(without, b"", offset=0, eof="true")
    assert caught.value.code == "failed_precondition"
    box.forget(without)


def test_the_end_of_a_full_terminal_arrives(box):
    """The end-of-file character waits for room as everything else does."""
    command = box.start("sleep 1; wc -c; echo ended", stdin="pipe", pty={"rows": 24, "cols": 80}, timeout_ms=60_000)["id"]
    assert box.stdin(command, b"line of a terminal\n" * 2_000, eof="true") == 38_000
    assert box.collect(command).stdout.endswith(b"ended\r\n")


def test_second_writer_replaces_the_first(box):
    """One writer at a time; the one that was replaced hears of it."""
    command = box.start("sleep 1000", stdin="pipe")["id"]
    errors = []

    def first():
        try:
            box.stdin(command, b"a" * 4_000_000)
        except ApiError as error:
            errors.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    while box.command(command)["stdin_bytes"] == 0:
        pass
    second = threading.Thread(target=lambda: pytest.raises(ApiError, box.stdin, command, b"b" * 4_000_000))
    second.start()
    thread.join(timeout=30)
    assert not thread.is_alive() and errors[0].code == "aborted" and "another writer" in errors[0].message
    box.forget(command)
    second.join(timeout=30)
    assert not second.is_alive()


def test_three_hundred_streams_answer(make_box):
    """One client with 300 commands, all attached, each answering what it's told."""
    box = make_box(pids=2048)
    commands = [box.start("read -r x; echo got $x; read -r y; echo then $y", stdin="pipe")["id"] for _ in range(300)]
    streams = [box.open_output(command) for command in commands]
    at_once(300, lambda n: box.stdin(commands[n], b"one %d\n" % n), workers=16)
    for n, stream in enumerate(streams):
        assert ("got one %d\\n" % n).encode() in stream.readline()
    at_once(300, lambda n: box.stdin(commands[n], b"two %d\n" % n), workers=16)
    for n, stream in enumerate(streams):
        rest = stream.read()
        assert ("then two %d\\n" % n).encode() in rest and b'"code":0' in rest
        stream.connection.close()


def test_nobody_listens_after_the_end(box):
    command = box.run("true")["id"]
    for query in ({}, {"eof": "true"}):
        with pytest.raises(ApiError) as caught:
            box.stdin(command, b"x", **query)
        assert caught.value.code == "failed_precondition"
