"""The shim dies by SIGKILL at each point of a command's life: the sandbox fails as the infrastructure's fault, nothing of it is left,
and the daemon serves others. The points are those of shim/fault.hpp (test builds)."""

import os
import time

import pytest

from http_api import ApiError, host_processes

POINTS = ["spawn.before", "spawn.after", "spawn.born", "output", "exit", "file"]


def run_folder(harenad, sandbox):
    found = [path for path in harenad.state.rglob("session") if sandbox in str(path) and path.is_dir()]
    assert len(found) == 1, found
    return found[0]


def ended(api, sandbox, within=20):
    deadline = time.monotonic() + within
    while (view := api.call("GET", f"/sandboxes/{sandbox}"))["state"] not in ("failed", "stopped"):
        assert time.monotonic() < deadline, view
        time.sleep(0.02)
    return view


def cgroups(sandbox):
    return [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if sandbox in folder]


def first_error(api, victim, point):
    """What a caller was told, or None: a worker for files, which is there by then, may answer before the shim's death has reached it."""
    if point == "file":
        status, text = api.raw("GET", f"{victim.path}/files?path=/etc/passwd")
        return None if status < 400 else ApiError(status, text).error
    with pytest.raises(ApiError) as caught:
        victim.run("echo output; setsid sleep 300 & sleep 0.1")
    return caught.value.error


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_of_the_shim_is_the_infrastructures(harenad, api, box, make_box, point):
    victim = make_box(pids=64)
    # A process that hides from its command is there already.
    victim.run("setsid sleep 300 & :")
    folder = run_folder(harenad, victim.id)
    (folder / "fault").write_text(point)
    error = first_error(api, victim, point)
    assert error is None or error["cause"] == "infrastructure", error
    view = ended(api, victim.id)
    assert view["state"] == "failed" and view["ending"]["cause"] == "infrastructure", view
    deadline = time.monotonic() + 10
    while (left := (host_processes(victim.id), cgroups(victim.id))) != ({}, []):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
    assert box.run("echo others live")["stdout"] == "others live\n"
