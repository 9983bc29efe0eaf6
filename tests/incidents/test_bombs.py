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


def test_thread_bomb(make_box, neighbour):
    box = make_box(pids=64)
    result = box.attack("bomb", "threads", timeout=120)
    born, error = result.stdout.split()
    assert int(born) <= 64 and error == "EAGAIN" and result.exit.cause == "pids", (result.stdout, result.exit)
    serve(neighbour)
    assert box.shell("echo room").stdout == "room\n"


def test_a_full_tmpfs_is_no_oom(make_box, neighbour):
    """It is charged to the memory and smaller than it: ENOSPC, and nothing is killed."""
    box = make_box(memory="64MiB", shm="16MiB")
    result = box.attack("bomb", "tmpfs", timeout=120)
    amount, error = result.stdout.split()
    assert (int(amount), error) == (16, "ENOSPC"), result.stdout
    assert result.exit.cause == "exit" and box.sandbox.usage().get("oom_kills", 0) == 0
    serve(neighbour)


def test_bombs_in_three_sandboxes_together(make_box, neighbour):
    boxes = {"fork": make_box(pids=64), "memory": make_box(memory="64MiB"), "disk": make_box(disk="64MiB")}
    going = {kind: box.sandbox.commands.start(["/tmp/harena-attack", "bomb", kind]) for kind, box in boxes.items()}
    for _ in range(5):
        serve(neighbour)
    causes = {kind: command.result().exit.cause for kind, command in going.items()}
    assert causes == {"fork": "pids", "memory": "oom", "disk": "disk"}
    going["fork"].forget()
    for box in boxes.values():
        assert box.trusted("echo alive").stdout == "alive\n"


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
    assert result.exit.cause == "disk", result.exit
    serve(neighbour)
    assert box.trusted("echo alive").stdout == "alive\n"


def test_odd_trees_are_removed_with_their_sandbox(make_box, harenad):
    """3,000 folders deep, a sparse tebibyte, names that aren't text: a stop leaves nothing of them. (It answers before they are gone.)"""
    box = make_box()
    box.findings("14")
    state = harenad.state / "sandboxes" / box.id
    assert state.is_dir()
    box.sandbox.stop()
    # Its answer comes when nothing runs any more; the files go right after it.
    until = time.monotonic() + 60
    while state.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not state.exists()
