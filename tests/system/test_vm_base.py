"""The machine is what the other modules take it for."""

import pytest

import vm


def test_systemd_runs_and_nothing_has_failed(machine):
    machine.run("systemctl is-system-running").check()
    assert machine.run("systemctl --failed --quiet --no-legend").check().out == ""


def test_cgroup_v2_alone(machine):
    mounts = machine.run("grep cgroup /proc/self/mounts").check().out.splitlines()
    assert [line.split()[1:3] for line in mounts] == [["/sys/fs/cgroup", "cgroup2"]]
    assert {"cpu", "memory", "pids", "io", "cpuset"} <= set(machine.run("cat /sys/fs/cgroup/cgroup.controllers").out.split())


def test_apparmor_is_on(machine):
    assert machine.run("cat /sys/module/apparmor/parameters/enabled").check().out == "Y\n"


def test_lxcfs_is_mounted(machine):
    machine.run("test -e /var/lib/lxcfs/proc/meminfo && systemctl is-active lxcfs").check()


def test_commands(machine):
    assert machine.run("echo out; echo err >&2; exit 3").code == 3
    assert machine.run("kill -TERM $$").code == 128 + 15
    assert len(machine.run("head -c 3000000 /dev/zero | tr '\\0' x").check().out) == 3_000_000
    # A child that keeps the outputs open doesn't hold the command.
    assert machine.run("sleep 300 & echo done").check().out == "done\n"


def test_a_command_over_its_limit_is_killed_and_its_words_are_kept(machine):
    with pytest.raises(vm.VmError, match="last words"):
        machine.run("echo last words; sleep 4217 & sleep 4217", limit_s=2)
    machine.run("for i in $(seq 50); do pgrep -f 'sleep 421[7]' || exit 0; sleep 0.1; done; exit 1").check()


def test_files_go_both_ways(machine):
    content = bytes(range(256)) * 9000
    machine.put("/tmp/harness", content)
    assert machine.get("/tmp/harness") == content
