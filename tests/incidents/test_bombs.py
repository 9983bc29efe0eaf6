"""Row 14: bombs. The edge survives, the neighbour goes on, and the limit that was hit has its right name.

How far a neighbour's latency rises is a figure of the bench; here it must simply be served while the bombs go off.
"""

import time

import pytest


@pytest.fixture
def neighbour(make_box):
    return make_box()


def serve(neighbour):
    assert neighbour.shell("echo served").stdout == "served\n"
    neighbour.sandbox.files.write("/tmp/f", b"x")
    assert neighbour.sandbox.files.read("/tmp/f") == b"x"


def test_fork_bomb(make_box, neighbour):
    box = make_box(pids=64)
    command = box.sandbox.commands.start(["/tmp/harena-attack", "bomb", "fork"])
    serve(neighbour)
    result = command.result()
    born, error = result.stdout.split()
    assert int(born) <= 64 and error == "EAGAIN"
    assert result.exit.cause == "pids", result.exit
    command.forget()
    # What the bomb left is gone with its command: there is room again.
    assert box.shell("echo room").stdout == "room\n"


def test_fork_bomb_of_a_shell_that_never_ends(make_box, neighbour):
    box = make_box(pids=64)
    command = box.sandbox.commands.start("f() { f | f & }; f; wait; sleep 300")
    for _ in range(5):
        serve(neighbour)
    command.kill()
    box.sandbox.stop()
    serve(neighbour)


def test_memory_bomb(make_box, neighbour):
    box = make_box(memory="64MiB")
    result = box.attack("bomb", "memory", timeout=120)
    assert result.exit.cause == "oom", result.exit
    serve(neighbour)
    assert box.shell("echo alive").stdout == "alive\n"


def test_open_files(make_box, neighbour):
    box = make_box()
    result = box.attack("bomb", "files", timeout=120)
    opened, error = result.stdout.split()
    assert int(opened) <= 100_000 and error in ("EMFILE", "ENFILE", "ENOMEM", "all"), result.stdout
    serve(neighbour)


@pytest.mark.parametrize("kind, errors", [("disk", ["ENOSPC", "EDQUOT"]), ("inodes", ["ENOSPC", "EDQUOT"])])
def test_disk_and_inodes_at_their_limit(make_box, neighbour, kind, errors):
    box = make_box(disk="64MiB", inodes=2000)
    result = box.attack("bomb", kind, timeout=300)
    amount, error = result.stdout.split()
    assert error in errors, result.stdout
    serve(neighbour)
    assert box.trusted("echo alive").stdout == "alive\n"


def test_odd_trees_are_removed_with_their_sandbox(make_box, harenad):
    """3,000 folders deep, a sparse tebibyte, names that aren't text: a stop leaves nothing of them. (It answers before they are gone.)"""
    box = make_box()
    box.findings("14")
    state = harenad.state / "sandboxes" / box.id
    assert state.is_dir()
    box.sandbox.stop()
    until = time.monotonic() + 60
    while state.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not state.exists()
