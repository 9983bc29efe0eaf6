"""Templates of the backend microvm: machines that start from the memory of one that has booted before, with its start command running, and machines
that stand by for the next create."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

import harena
from harenad_process import IMAGE
from microvm_support import census, microvm_daemon, remove_groups
from running_daemon import import_tiny

SMALL = {"memory": "192MiB", "disk": "64MiB"}


@pytest.fixture(scope="module")
def vms():
    folder = tempfile.mkdtemp(prefix="harena-vmt-")
    try:
        daemon = microvm_daemon(folder, templates="auto", ahead=1, templates_most=3)
        daemon.start()
        try:
            import_tiny(daemon, Path(folder))
            yield daemon
        finally:
            if daemon.process is not None:
                daemon.stop()
        left = census()
        assert left["processes"] == [] and left["mounts"] == [], left
        assert [path for path in left["groups"] if "warm-" in path] == []
        remove_groups()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def api(vms):
    with vms.client() as client:
        yield client
        for sandbox in client.list(states=["running", "paused"]):
            sandbox.stop()


def make(client, **params):
    return client.create(harena.MicroVMArgs(image=IMAGE, params={**SMALL, **params}))


def start_of(sandbox):
    return sandbox.info.raw["details"]["start"]


def lines(sandbox, text):
    return sandbox.run_shell(text, check=True).stdout


def templates(daemon):
    return sorted(path.name for path in (daemon.state / "microvm" / "templates").glob("*") if (path / "manifest.json").exists())


def spares(daemon):
    with daemon.client() as client:
        (microvm,) = [one for one in client.backends() if one.name == "microvm"]
    return microvm.raw["facts"].get("standing_by", 0)


def wait_for(what):
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_create_that_boots_is_followed_by_a_template(vms, api):
    first = make(api)
    assert "boot_us" in start_of(first)
    wait_for(lambda: len(templates(vms)) == 1 and spares(vms))
    second = make(api)
    assert start_of(second)["template"] == templates(vms)[0] and start_of(second)["ahead"] is True
    assert {"clock", "entropy", "hostname", "machine-id", "sandbox"} <= set(start_of(second)["renewed"])
    assert lines(second, "hostname; cat /etc/machine-id") != lines(first, "hostname; cat /etc/machine-id")
    assert lines(second, "hostname") == f"{second.id}\n"
    first.stop()
    second.stop()


def test_machines_of_one_template_are_others(vms, api):
    made = [make(api, template="make") for _ in range(4)]
    for question in ("cat /proc/sys/kernel/random/uuid", "head -c 16 /dev/urandom | od -An -tx1", "cat /etc/machine-id", "hostname"):
        assert len({lines(one, question) for one in made}) == len(made), question
    lines(made[0], "echo mine > /root/only; echo mine > /dev/shm/only")
    assert lines(made[1], "ls /root /dev/shm | grep only; true") == ""
    assert abs(int(lines(made[0], "date +%s")) - time.time()) <= 2
    for one in made:
        one.stop()


def test_one_that_stood_by_is_a_sandbox_like_others(vms, api):
    make(api, template="make").stop()
    wait_for(lambda: spares(vms))
    sandbox = make(api)
    assert start_of(sandbox)["ahead"] is True
    (group,) = [path for path in census()["groups"] if path.endswith(f"/{sandbox.id}") and "/memory/" in path] or ["v2"]
    if group != "v2":  # the limit holds for the VMM that stood by without one
        tasks = Path(group, "cgroup.procs").read_text().split()
        assert len(tasks) == 1 and "qemu" in os.readlink(f"/proc/{tasks[0]}/exe")
        assert int(Path(group, "memory.limit_in_bytes").read_text()) < 2 ** 30
    lines(sandbox, "echo kept > /dev/shm/a; echo kept > /root/b")
    sandbox.pause()
    sandbox.resume()
    child = sandbox.fork()[0]
    assert lines(child, "cat /dev/shm/a /root/b") == "kept\nkept\n"
    snapshot = sandbox.snapshot()
    restored = api.create(harena.MicroVMArgs(snapshot=snapshot.id))
    assert lines(restored, "cat /dev/shm/a") == "kept\n"
    vms.kill()
    vms.restart()
    assert lines(sandbox, "cat /dev/shm/a") == "kept\n" and lines(child, "cat /root/b") == "kept\n"
    for one in (sandbox, child, restored):
        one.stop()
    assert [path for path in census()["groups"] if sandbox.id in path] == []


def test_the_start_command_runs_already(vms, api):
    params = {"start_command": "echo started >> /root/starts; sleep 0.3; touch /tmp/ready; exec sleep 100000", "ready_command": "test -e /tmp/ready"}
    booted = make(api, template="none", **params)
    assert "boot_us" in start_of(booted)
    first = make(api, template="make", **params)
    second = make(api, template="make", **params)
    assert start_of(first)["template"] == start_of(second)["template"]
    for one in (booted, first, second):
        assert lines(one, "cat /root/starts; ps | grep -c '[s]leep 100000'") == "started\n1\n"
        one.stop()


def test_a_start_command_that_isnt_ready_is_an_error(api):
    before = {path for path in census()["groups"] if "warm-" not in path}
    for params, word in [({"start_command": "exit 3", "ready_command": "false"}, "exit code 3"),
                         ({"start_command": "sleep 1000", "ready_command": "exit 7", "ready_timeout_s": 1}, "exit code 7"),
                         ({"ready_command": "true"}, "ready_command")]:
        for template in ("make", "none"):
            with pytest.raises(harena.HarenaError) as failed:
                make(api, template=template, **params)
            assert word in str(failed.value)
    assert {path for path in census()["groups"] if "warm-" not in path} == before


def test_other_parameters_are_another_template_and_the_oldest_go(vms, api):
    keys = []
    for env in ({"A": "1"}, {"A": "2"}, {"A": "3"}, {"A": "4"}):
        sandbox = make(api, template="make", env=env)
        assert lines(sandbox, "echo $A") == f"{env['A']}\n"
        keys.append(start_of(sandbox)["template"])
        sandbox.stop()
    assert len(set(keys)) == 4 and templates(vms) == sorted(keys[1:])


def test_a_damaged_template_is_thrown_away(vms, api):
    sandbox = make(api, template="make", env={"B": "1"})
    key = start_of(sandbox)["template"]
    sandbox.stop()
    (state,) = (vms.state / "microvm" / "templates" / key).glob("state.*")
    state.write_bytes(b"nonsense" * 100)
    made = [make(api, env={"B": "1"}) for _ in range(2)]  # the first may have stood by already
    assert [lines(one, "echo $B") for one in made] == ["1\n", "1\n"]
    assert any("boot_us" in start_of(one) for one in made)
    for one in made:
        one.stop()


def test_a_daemon_that_is_killed_leaves_no_spare(vms, api):
    make(api, template="make").stop()
    wait_for(lambda: spares(vms))
    vms.kill()
    wait_for(lambda: census()["processes"] == [])
    dead = [path for path in census()["groups"] if "/warm-" in path]
    vms.restart()
    assert dead and not any(os.path.exists(path) for path in dead)
    with vms.client() as client:
        sandbox = make(client)  # the template outlived it
        assert "template" in start_of(sandbox)
        sandbox.stop()


def test_templates_that_are_off_are_refused_when_asked_for(vms):
    vms.stop()
    vms.restart(lambda config: config["plugins"]["microvm"]["config"].update(templates="off"))
    with vms.client() as client:
        with pytest.raises(harena.HarenaError) as refused:
            make(client, template="make")
        assert "template" in str(refused.value)
        sandbox = make(client)
        assert "boot_us" in start_of(sandbox)
        sandbox.stop()
    vms.stop()
    vms.restart()
