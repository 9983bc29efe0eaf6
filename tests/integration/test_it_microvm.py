"""The backend microvm through harenad: real machines under QEMU, with or without KVM. What pause, snapshot, fork and rollback keep, who a clone is,
and what a crash of each process leaves.

The long forms (200 pauses, forks of 16, two minutes of standing still) run with HARENA_LONG_TESTS=1."""

import os
import signal
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import harena
import harenad_process
from harenad_process import IMAGE, SOURCE
from microvm_support import census, microvm_daemon, remove_groups
from running_daemon import import_tiny, stop_everything
from tiny_image import make_tiny_image

LONG = os.environ.get("HARENA_LONG_TESTS") == "1"


@pytest.fixture(scope="module")
def vms():
    """A daemon of this module's own, with root/tiny:v1."""
    folder = tempfile.mkdtemp(prefix="harena-vm-")
    try:
        daemon = microvm_daemon(folder)
        daemon.start()
        try:
            import_tiny(daemon, Path(folder))
            yield daemon
            if daemon.process is None:
                daemon.start()
            stop_everything(daemon)
        finally:
            daemon.stop()
        left = census()
        assert left["processes"] == [] and left["mounts"] == [], left
        remove_groups()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def api(vms):
    with vms.client() as client:
        yield client


def make(client, **params):
    return client.create(harena.MicroVMArgs(image=IMAGE, memory="192MiB", disk="64MiB", **params))


@pytest.fixture
def machine(api):
    one = make(api)
    yield one
    one.stop()


def lines(sandbox, text):
    return sandbox.run_shell(text, check=True).stdout


def vmm_pids(sandbox):
    return [int(pid) for pid in Path(f"/proc/{sandbox.info.raw['details']['machine_pid']}/task/"
                                     f"{sandbox.info.raw['details']['machine_pid']}/children").read_text().split()]


def wait_state(sandbox, state):
    deadline = time.monotonic() + 30
    while sandbox.refresh().state != state:
        assert time.monotonic() < deadline, sandbox.info.raw
        time.sleep(0.05)
    return sandbox.info


def test_a_kernel_of_its_own(api, machine):
    assert lines(machine, "uname -r") != os.uname().release + "\n"
    assert lines(machine, "id -u; hostname") == f"0\n{machine.id}\n"
    assert machine.info.raw["details"]["accelerator"] in ("kvm", "tcg")
    assert "pids" in machine.usage()


def test_the_vmm_is_confined(machine):
    (pid,) = vmm_pids(machine)
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    uids = set(status["Uid"].split())
    assert len(uids) == 1 and int(uids.pop()) >= 1000
    assert int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
    for namespace in ("mnt", "net", "ipc", "uts"):
        assert os.readlink(f"/proc/{pid}/ns/{namespace}") != os.readlink(f"/proc/self/ns/{namespace}"), namespace
    assert sorted(os.listdir(f"/proc/{pid}/root")) >= ["dev"] and not os.path.exists(f"/proc/{pid}/root/etc/passwd")
    assert not os.path.exists(f"/proc/{pid}/root/proc") and not os.path.exists(f"/proc/{pid}/root/root")


def test_pause_and_resume_in_the_middle_of_a_command(machine):
    command = machine.start("i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo $i; sleep 0.05; done")
    for _ in range(200 if LONG else 8):
        machine.pause()
        assert vmm_pids(machine) == []
        machine.resume()
    result = command.result()
    assert result.exit.code == 0 and result.stdout == "".join(f"{i}\n" for i in range(1, 41))


def test_use_resumes(machine):
    lines(machine, "echo kept > /dev/shm/memory; echo kept > /root/unsynced")
    machine.pause()
    assert lines(machine, "cat /dev/shm/memory /root/unsynced") == "kept\nkept\n"


def test_the_clock_is_right_and_sleeps_dont_end_early(machine):
    command = machine.start("cut -d' ' -f1 /proc/uptime; sleep 3; cut -d' ' -f1 /proc/uptime")
    time.sleep(0.5)  # the standing still itself is what is tried
    machine.pause()
    time.sleep(120 if LONG else 5)
    machine.resume()
    seen = int(lines(machine, "date +%s"))
    assert abs(seen - time.time()) <= 2
    began, ended = map(float, command.result().stdout.split())
    assert ended - began >= 2.99


def test_children_have_the_memory_and_are_others(machine):
    # A process with a variable that is nowhere but in its memory.
    lines(machine, "mkfifo /tmp/ask /tmp/answer; secret=$RANDOM$$; echo $secret > /tmp/secret;"
                   "(while read question < /tmp/ask; do echo $secret > /tmp/answer; done) > /dev/null 2>&1 &")
    secret = lines(machine, "echo ? > /tmp/ask; cat /tmp/answer")
    children = machine.fork(count=16 if LONG else 3)
    try:
        everyone = [machine, *children]
        assert [lines(one, "echo ? > /tmp/ask; cat /tmp/answer") for one in everyone] == [secret] * len(everyone)
        for question in ("cat /proc/sys/kernel/random/uuid", "head -c 16 /dev/urandom | od -An -tx1", "cat /etc/machine-id", "hostname"):
            assert len({lines(one, question) for one in everyone}) == len(everyone), question
        for child in children:
            renewed = child.info.raw["details"]["start"]["renewed"]
            assert {"clock", "entropy", "hostname", "machine-id"} <= set(renewed)
        lines(children[0], "echo mine > /root/only")
        assert lines(machine, "ls /root") == ""
    finally:
        for child in children:
            child.stop()


def test_grandchildren_and_a_source_that_goes_on(api, machine):
    lines(machine, "echo one > /dev/shm/a")
    child = machine.fork()[0]
    lines(machine, "echo two > /dev/shm/a")
    lines(child, "echo child > /dev/shm/a")
    grandchild = child.fork()[0]
    child.stop()
    again = machine.fork()[0]
    assert [lines(one, "cat /dev/shm/a") for one in (grandchild, again)] == ["child\n", "two\n"]
    grandchild.stop()
    again.stop()


def test_snapshots_and_rollback(api, machine):
    lines(machine, "echo before > /dev/shm/a; echo before > /root/b")
    snapshot = machine.snapshot("before")
    assert snapshot.kept == "memory"
    lines(machine, "echo after > /dev/shm/a; echo after > /root/b")
    restored = api.create(harena.MicroVMArgs(snapshot=snapshot.id))
    assert lines(restored, "cat /dev/shm/a /root/b; hostname") == f"before\nbefore\n{restored.id}\n"
    restored.stop()
    machine.rollback(snapshot)
    assert lines(machine, "cat /dev/shm/a /root/b; hostname") == f"before\nbefore\n{machine.id}\n"
    api.snapshots.delete(snapshot.id)
    assert lines(machine, "cat /root/b") == "before\n"


def test_many_snapshots_keep_the_chain_of_the_disk_short(vms, api, machine):
    for number in range(60 if LONG else 14):
        lines(machine, f"echo {number} > /root/{number}; dd if=/dev/urandom of=/root/data{number} bs=64k count=4 2>/dev/null; sync")
        api.snapshots.delete(machine.snapshot().id)
    before = lines(machine, "cd /root; sha256sum *")
    assert len(list((vms.state / "sandboxes" / machine.id / "vm").glob("disk.*"))) <= 13
    machine.pause()
    lines(machine, "echo 3 > /proc/sys/vm/drop_caches 2>/dev/null; true")
    child = machine.fork()[0]
    assert lines(child, "cd /root; sha256sum *") == before
    child.stop()


def test_a_paused_source(machine):
    lines(machine, "echo one > /dev/shm/a")
    machine.pause()
    child = machine.fork()[0]
    snapshot = machine.snapshot("paused")
    assert machine.refresh().state == "paused" and snapshot.kept == "memory"
    assert lines(child, "cat /dev/shm/a") == "one\n"
    child.stop()
    lines(machine, "echo two > /root/b; sync; cat /dev/shm/a")


def test_a_daemon_that_is_killed_leaves_machines_alone(vms, api, machine):
    command = machine.start("i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo $i; sleep 0.1; done")
    sleeping = make(api)
    sleeping.pause()  # both stand here when the daemon dies: one runs, one doesn't
    vms.kill()
    vms.restart()
    assert command.result().stdout.split()[-1] == "30"
    assert sleeping.refresh().state == "paused" and lines(sleeping, "echo here") == "here\n"
    sleeping.pause()
    vms.kill()
    vms.restart()
    sleeping.stop()
    assert [group for group in census()["groups"] if sleeping.id in group] == []


def machine_pids(sandbox):
    """Its processes harena-machine, whoever started them."""
    return [int(Path(path).parent.name) for path in census()["processes"] if f"/platform/{sandbox.id}" in Path(path).read_text()]


def test_a_paused_machine_outlives_its_process(vms, api, machine):
    lines(machine, "echo kept > /dev/shm/a; echo kept > /root/b")
    command = machine.start("i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo $i; sleep 0.1; done")
    machine.pause()
    for round in range(2):
        (pid,) = machine_pids(machine)
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while machine_pids(machine) in ([], [pid]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert machine.refresh().state == "paused"
    assert lines(machine, "cat /dev/shm/a /root/b") == "kept\nkept\n"
    assert command.result().stdout.split() == [str(i) for i in range(1, 21)]
    vms.kill()  # the daemon finds the process that it has now
    vms.restart()
    assert lines(machine, "cat /dev/shm/a") == "kept\n"


def test_a_paused_machine_outlives_a_reboot(vms, api, machine):
    lines(machine, "echo kept > /dev/shm/a; echo kept > /root/b")
    running = make(api)
    machine.pause()
    vms.kill()
    # What a reboot leaves: no process, nothing below /run, no groups.
    for pid in [*machine_pids(machine), *machine_pids(running)]:
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while census()["processes"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    shutil.rmtree(vms.run)
    remove_groups()
    vms.restart()
    assert machine.refresh().state == "paused" and running.refresh().state == "failed"
    assert lines(machine, "cat /dev/shm/a /root/b; hostname") == f"kept\nkept\n{machine.id}\n"


def test_a_paused_machine_whose_image_is_damaged_is_a_failure_with_a_cause(vms, machine):
    machine.pause()
    vms.kill()
    os.kill(machine_pids(machine)[0], signal.SIGKILL)
    for file in (vms.state / "sandboxes" / machine.id / "vm").glob("state.*"):
        file.unlink()
    vms.restart()
    assert machine.refresh().state == "failed" and "infrastructure" in str(machine.info.raw)


def hashes(sandbox):
    return lines(sandbox, "cd /root && find . -type f | sort | xargs -r sha256sum")


def test_rounds_of_writing_pausing_and_resuming_keep_every_file(machine):
    for number in range(10 if LONG else 3):
        lines(machine, f"dd if=/dev/urandom of=/root/{number} bs=64k count={number + 1} 2>/dev/null; [ -e /root/0 ] && echo {number} >> /root/0")
        before = hashes(machine)
        machine.pause()
        assert hashes(machine) == before  # use resumes it


def at_once(*calls):
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.exception() for future in [pool.submit(call) for call in calls]]


def test_verbs_that_meet(api, machine):
    """The loser of two verbs is told so, or has nothing to do; the machine is one of what they wanted, and works."""
    for verbs in ((machine.pause, machine.pause), (machine.resume, machine.resume), (machine.pause, machine.resume), (machine.fork, machine.pause)):
        for failure in at_once(*verbs):
            assert failure is None or isinstance(failure, harena.HarenaError), failure
        assert machine.refresh().state in ("running", "paused")
        assert lines(machine, "echo well") == "well\n"
    for sandbox in api.list(states=["running", "paused"]):
        if sandbox.id != machine.id:
            sandbox.stop()


def test_a_stop_in_the_middle_of_a_pause(api):
    for _ in range(5 if LONG else 2):
        doomed = make(api)
        failures = at_once(doomed.pause, doomed.stop)
        assert failures[1] is None, failures
        assert wait_state(doomed, "stopped") and [group for group in census()["groups"] if doomed.id in group] == []


def test_paused_ones_are_deleted_after_a_restart(vms, api):
    before = census()
    made = [make(api)]
    made += made[0].fork(count=49 if LONG else 2)
    for one in made:
        one.pause()
    vms.kill()
    vms.restart()
    for one in made:
        one.stop()
    after = census()
    assert after["groups"] == before["groups"] and after["mounts"] == before["mounts"] and len(after["processes"]) == len(before["processes"])
    assert not [one.id for one in made if (vms.state / "sandboxes" / one.id).exists()]


def test_a_web_server_goes_on_in_every_fork(machine):
    lines(machine, "mkdir -p /tmp/www; echo served > /tmp/www/index.html; httpd -p 127.0.0.1:8080 -h /tmp/www")
    children = machine.fork(count=3)
    for one in (machine, *children):
        assert lines(one, "wget -qO- http://127.0.0.1:8080/index.html") == "served\n"
    lines(children[0], "echo mine > /tmp/www/index.html")
    assert lines(machine, "wget -qO- http://127.0.0.1:8080/index.html") == "served\n"
    for child in children:
        child.stop()


def test_the_search_of_the_examples(vms, api):
    sys.path.insert(0, str(SOURCE / "examples"))
    import tree_search

    value, path = tree_search.search(api, IMAGE, 24, 3)
    assert value == 24 and path == ["value + 7", "value * 3"]


def in_the_middle(stopped, verb, state, then):
    """Begins `verb` while the process `stopped` stands still, does `then` in the middle of it, and lets all go on; what the verb ended with."""
    os.kill(stopped, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as pool:
            ending = pool.submit(verb)
            try:
                wait_for(state)
                then()
            finally:
                try:
                    os.kill(stopped, signal.SIGCONT)
                except ProcessLookupError:
                    pass
            return ending.exception()
    except OSError as gone:
        return gone


def wait_for(what):
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_vmm_that_is_killed_during_a_pause(api):
    sandbox = make(api)
    (vmm,) = vmm_pids(sandbox)
    failure = in_the_middle(vmm, sandbox.pause, lambda: sandbox.refresh().state == "pausing", lambda: os.kill(vmm, signal.SIGKILL))
    assert isinstance(failure, harena.HarenaError), failure
    info = wait_state(sandbox, "failed")
    assert "infrastructure" in str(info.raw) and [group for group in census()["groups"] if sandbox.id in group] == []


def test_a_vmm_that_is_killed_while_it_resumes_leaves_a_paused_machine(machine):
    lines(machine, "echo kept > /dev/shm/a")
    machine.pause()
    (keeper,) = machine_pids(machine)
    children = Path(f"/proc/{keeper}/task/{keeper}/children")
    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(machine.resume)
        while not (pids := children.read_text().split()):
            assert not ending.done(), ending.exception()
        os.kill(int(pids[0]), signal.SIGKILL)  # the one that was to go on
        failure = ending.exception()
    # The SDK may have asked once more, where the error said that it is worth it.
    assert failure is None or isinstance(failure, harena.HarenaError), failure
    if failure is None and not survives(machine):
        return  # the resume had ended before this process came to its kill
    assert machine.refresh().state == ("running" if failure is None else "paused")
    assert lines(machine, "cat /dev/shm/a") == "kept\n"


def survives(machine):
    try:
        lines(machine, "true")
        return True
    except harena.HarenaError:
        wait_state(machine, "failed")
        return False


@pytest.mark.parametrize("verb", ["pause", "resume", "snapshot", "fork", "rollback"])
def test_a_daemon_that_is_killed_in_the_middle_of_a_verb(vms, api, machine, verb):
    """The machine finishes what it was asked for, or the next start undoes it; it goes on with what it had, and so does all that follows."""
    lines(machine, "echo kept > /dev/shm/a; echo kept > /root/b")
    snapshot = machine.snapshot("first") if verb == "rollback" else None
    if verb == "resume":
        machine.pause()
    # The VMM where it is asked first, else the process above it.
    (stopped,) = vmm_pids(machine) if verb in ("pause", "snapshot", "fork") else machine_pids(machine)

    def under_way():
        """The daemon is connected to the machine's control socket, and waits."""
        return Path("/proc/net/unix").read_text().count(f"{machine.id}/machine.sock") > 1

    failure = in_the_middle(stopped, {"rollback": lambda: machine.rollback(snapshot)}.get(verb, getattr(machine, verb)), under_way, vms.kill)
    assert failure is not None
    vms.restart()
    assert machine.refresh().state in ("running", "paused")
    assert lines(machine, "cat /dev/shm/a /root/b") == "kept\nkept\n"
    child = machine.fork()[0]  # all works again
    assert lines(child, "cat /dev/shm/a") == "kept\n"
    child.stop()
    machine.pause()
    assert lines(machine, "cat /root/b") == "kept\n"
    for one in api.snapshots.list():
        api.snapshots.delete(one.id)
    assert list(vms.state.glob("snapshots/*")) == [] and not list(vms.state.glob(f"sandboxes/{machine.id}/vm/fork"))


@pytest.mark.skipif(not LONG, reason="waits three minutes; HARENA_LONG_TESTS=1 runs it")
def test_a_machine_that_is_busy_for_longer_than_a_restart_waits_is_not_destroyed(vms, machine, monkeypatch):
    monkeypatch.setattr(harenad_process, "START_S", 400)
    lines(machine, "echo kept > /dev/shm/a")
    (keeper,) = machine_pids(machine)
    vms.kill()
    os.kill(keeper, signal.SIGSTOP)
    try:
        vms.restart()
    finally:
        os.kill(keeper, signal.SIGCONT)
    assert "its state" in vms.log.read_text(errors="replace")
    assert machine.refresh().state == "running"
    assert lines(machine, "cat /dev/shm/a") == "kept\n"


@pytest.mark.parametrize("who", ["vmm", "machine"])
def test_a_process_that_dies_is_a_failure_with_a_cause(api, who):
    sandbox = make(api)
    pid = vmm_pids(sandbox)[0] if who == "vmm" else sandbox.info.raw["details"]["machine_pid"]
    (vmm,) = vmm_pids(sandbox)
    os.kill(pid, signal.SIGKILL)
    info = wait_state(sandbox, "failed")
    ending = info.raw.get("ending") or info.raw
    assert "infrastructure" in str(ending) and not os.path.exists(f"/proc/{vmm}/root/ram")
    assert [group for group in census()["groups"] if sandbox.id in group] == []


def test_a_guest_that_ends_itself_is_the_agents_doing(api):
    sandbox = make(api)
    with pytest.raises(harena.HarenaError):
        sandbox.run_shell("kill -9 1; echo b > /proc/sysrq-trigger; reboot -f", check=True)
    assert lines(sandbox, "echo alive") == "alive\n"  # neither is within its reach
    sandbox.stop()


@pytest.mark.parametrize("params, word", [
    ({"gpu": 1}, "gpu"),
    ({"devices": ["/dev/kvm"]}, "devices"),
    ({"network": {"mode": "open"}}, "network.mode"),
    ({"memory": "64MiB"}, "memory"),
    ({"cpu": 0}, "cpu"),
    ({"memroy": "1GiB"}, "memroy"),
])
def test_what_it_cant_do_is_refused_by_name(api, params, word):
    before = census()["groups"]
    with pytest.raises(harena.HarenaError) as refused:
        api.create(harena.MicroVMArgs(image=IMAGE, params=params))
    assert word in str(refused.value)
    assert census()["groups"] == before


def test_nothing_is_left(vms, api):
    with vms.client() as client:
        for sandbox in client.list(states=["running", "paused"]):
            sandbox.stop()
    for _ in range(2):
        sandbox = make(api)
        child = sandbox.fork()[0]
        child.pause()
        child.stop()
        sandbox.stop()
    left = census()
    assert left["processes"] == [] and left["mounts"] == [], left
    assert [entry for entry in os.listdir(vms.state / "sandboxes")] == []
