"""Commands that are started when the sandbox's memory is full: what the OOM killer takes before it has become a program is told as the
sandbox's limit, and never as the machine's fault or as the agent's. It may take the process that makes commands along (shim/light_child.hpp)."""

import pytest

from http_api import ApiError, at_once, shim_of

#: Of files in memory, which no OOM killer can take.
FILL = ["/bin/busybox", "dd", "if=/dev/zero", "bs=4096", "count=20000"]


def outcome(box, argv):
    """How it went: an exit's cause, or what kept it from starting."""
    try:
        exit = box.run(argv=argv)["exit"]
        return exit["cause"] if exit["code"] != 0 else "done"
    except ApiError as error:
        assert error.error["cause"] == "limit", error
        assert (error.status, error.code, error.details["cause_detail"]) == (429, "resource_exhausted", "memory"), error
        return "refused"


def fill(box):
    """Until new processes don't get to their program any more."""
    seen = [outcome(box, [*FILL, f"of=/dev/shm/{n}"]) for n in range(40)]
    while seen[-3:].count("refused") < 3 and len(seen) < 200:
        seen.append(outcome(box, [*FILL, f"of=/dev/shm/{len(seen)}"]))
    assert set(seen) <= {"oom", "refused"}, seen
    if "refused" not in seen:
        pytest.skip("here every process gets to its program before the killer sees it: nothing that this test is about")


def make_room(box):
    """Who removes the file is in the full memory too: it may be told so, and asks again."""
    for _ in range(50):
        status = box.api.raw("DELETE", f"{box.path}/files?path=/dev/shm/0")[0]
        if status != 429:
            break
    assert status == 200


def test_starts_in_a_full_memory_are_the_limits(make_box):
    box = make_box(memory="32MiB")
    shim = shim_of(box.id)
    fill(box)
    seen = at_once(48, lambda n: outcome(box, ["/bin/busybox", "true"]), workers=16)
    assert set(seen) <= {"oom", "refused", "done"}, seen
    # Room again, made without a command: the very next one works, and so do all behind it.
    make_room(box)
    assert [outcome(box, ["/bin/busybox", "true"]) for _ in range(20)] == ["done"] * 20
    assert shim_of(box.id) == shim
