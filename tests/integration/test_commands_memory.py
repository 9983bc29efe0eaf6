"""However much is printed and however slowly it is read: harenad's memory stays where it was."""

import json
import time

from files_support import wait_until
from http_api import LONG, at_once, resident_bytes


def settled_bytes(pid, seconds=60):
    """harenad's memory once it has stayed within 1 MiB for a second: its readers have got all they can hold."""
    deadline = time.monotonic() + seconds
    seen = [resident_bytes(pid)]
    while len(seen) < 10 or max(seen[-10:]) - min(seen[-10:]) > 1 << 20:
        assert time.monotonic() < deadline, ("harenad's memory doesn't come to rest", seen[-10:])
        time.sleep(0.1)
        seen.append(resident_bytes(pid))
    return seen[-1]


def whole_result(box, body):
    """The answer's size and end, read in pieces as a client with little memory does."""
    connection = box.api.connect()
    connection.timeout = 300
    answer = box.api.send(connection, "POST", f"{box.path}/commands", json.dumps({**body, "wait": True}))
    size, tail = 0, b""
    while part := answer.read1(1 << 18):
        size += len(part)
        tail = (tail + part)[-200:]
    connection.close()
    return answer.status, size, tail


def test_waiting_for_big_results(make_box, harenad):
    """64 at a time: each whole, and none of them whole in memory."""
    size = (14 if LONG else 2) << 20
    box = make_box(pids=2048)
    whole_result(box, {"shell": f"head -c {size} /dev/zero | tr '\\0' x"})
    before, peak = resident_bytes(harenad.process.pid), [0]

    def one(n):
        text = n % 2 == 0
        fill = "tr '\\0' x" if text else "tr '\\0' '\\377'"
        status, got, tail = whole_result(box, {"shell": f"head -c {size} /dev/zero | {fill}; echo e >&2", "op": f"big{n}"})
        peak[0] = max(peak[0], resident_bytes(harenad.process.pid))
        expected = size if text else (size + 2) // 3 * 4
        box.forget([c["id"] for c in box.commands() if c.get("op") == f"big{n}"][0])
        return status == 200 and expected < got < expected + 2000 and tail.endswith(b"}")

    assert all(at_once(64, one, workers=64))
    assert peak[0] - before < 64 << 20, (before, peak)


def test_input_that_nobody_reads(make_box, harenad):
    """What is given with a start waits in the sandbox's spool, not in harenad."""
    box = make_box(pids=512)
    box.start("sleep 1000", stdin_data="x" * 3_000_000)
    before = resident_bytes(harenad.process.pid)
    commands = at_once(24, lambda n: box.start("sleep 1000", stdin_data="x" * 3_000_000)["id"], workers=4)
    assert resident_bytes(harenad.process.pid) - before < 24 * 1_000_000
    assert box.command(commands[-1])["stdin_bytes"] < 1_000_000
    for command in commands:
        box.forget(command)


def test_the_big_result_is_right(box):
    """In parts or at once: the same bytes, cut anywhere."""
    for count in (10, 1000, 20_000, 200_000):
        result = box.run(f"seq 1 {count} | sed 's/$/ \"☃\\\\/'; seq 1 {count} >&2")
        assert result["stdout"] == "".join(f'{n} "☃\\\n' for n in range(1, count + 1))
        assert result["stderr"] == "".join(f"{n}\n" for n in range(1, count + 1)) and not result["stdout_truncated"]


def test_three_hundred_readers_that_do_not_read(make_box, harenad):
    """Each may hold some 200 KiB; more output makes it no more, and one who reads is served all the same."""
    box = make_box(pids=512, memory="1GiB")
    command = box.start("while read -r n; do head -c $n /dev/zero | tr '\\0' x; done", stdin="pipe", output_limit_bytes=1 << 30)["id"]
    total = 0

    def print_more(megabytes):
        nonlocal total
        total += megabytes << 20
        box.stdin(command, f"{megabytes << 20}\n".encode())
        wait_until(lambda: box.command(command)["stdout_bytes"] == total, "the command was blocked by readers that don't read")

    before = resident_bytes(harenad.process.pid)
    readers = [box.open_output(command, frames=n % 2 == 0) for n in range(300)]
    print_more(16)
    loaded = settled_bytes(harenad.process.pid)
    assert loaded - before < 300 * (256 << 10), (before, loaded)
    print_more(64 if LONG else 24)
    assert settled_bytes(harenad.process.pid) - loaded < 8 << 20
    box.stdin(command, b"", eof="true")
    assert len(box.collect(command).stdout) == total
    assert box.run("echo others")["stdout"] == "others\n"
    # An allocator need not give memory back to the system, but those who come later must not cost it again.
    for reader in readers:
        reader.connection.close()
    readers = [box.open_output(command) for _ in range(300)]
    assert box.run("echo others")["stdout"] == "others\n"
    assert resident_bytes(harenad.process.pid) - loaded < 16 << 20, "what left readers held isn't used again"
    for reader in readers:
        reader.connection.close()


def test_idle_streams(make_box, harenad):
    """bench/idle_streams.py has 5,000; here enough of them to see what one costs."""
    box = make_box()
    command = box.start("read -r x; echo woken", stdin="pipe")["id"]
    streams = [box.open_output(command) for _ in range(20)]
    before = resident_bytes(harenad.process.pid)
    streams += [box.open_output(command) for _ in range(400)]
    assert resident_bytes(harenad.process.pid) - before < 400 * (64 << 10)
    box.stdin(command, b"\n")
    for stream in streams:
        assert b"woken" in stream.read()
        stream.connection.close()
