"""harenad installed by quickstart as a unit of systemd: the unit, restarts under running sandboxes, the incidents, doctor, uninstall's opposite."""

import json
import re

import pytest

TOKEN = "export HARENA_URL=http://127.0.0.1:7300 HARENA_TOKEN=$(cat /var/lib/harena/admin.token);"


def cli(machine, command, limit_s=120):
    return machine.run(f"{TOKEN} harena {command}", limit_s=limit_s)


def create(machine, options=""):
    return cli(machine, f"create root/base:v1 -p memory=64MiB {options}").check().out.strip()


def main_pid(machine):
    return int(machine.run("systemctl show -P MainPID harenad").check().out)


def group_of(machine, box):
    """Its cgroup: one that was prepared in advance keeps the name that it had then."""
    return json.loads(cli(machine, f"inspect {box} --json").check().out)[0]["details"]["cgroup"]


@pytest.fixture
def box(installed):
    made = create(installed)
    yield made
    cli(installed, f"stop {made}")


def test_quickstart_started_the_unit(installed):
    installed.run("systemctl is-active harenad && systemctl is-enabled harenad").check()
    assert cli(installed, "run root/base:v1 -- sh -c 'echo $((6*7))'").check().out == "42\n"


def test_quickstart_again_keeps_what_is_there(installed):
    said = installed.run("cd /opt/harena-test/source && deploy/quickstart.sh --prebuilt /opt/harena-test/prefix --base-folder /var/tmp/tiny", limit_s=240)
    assert "it is there already" in said.check().out


def test_the_unit_is_valid(installed):
    said = installed.run("systemd-analyze verify /etc/systemd/system/harenad.service").check()
    assert said.out + said.err == ""


def test_limits_of_the_unit(installed):
    limits = installed.run(f"cat /proc/{main_pid(installed)}/limits").check().out
    assert [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files")] == [["1048576", "1048576"]]
    assert installed.run("systemctl show -P TasksMax harenad").out == "infinity\n"
    assert installed.run("stat -c %a /var/lib/harena /run/harena").check().out == "700\n700\n"


def test_the_unit_holds_what_it_can(installed):
    """What systemd itself says of it; the number is the exposure, 10 for a unit without any care."""
    said = installed.run("systemd-analyze security --no-pager harenad", limit_s=60).out
    exposure = float(re.search(r"Overall exposure level for harenad.service: ([0-9.]+)", said).group(1))
    assert exposure < 9.6
    status = installed.run(f"cat /proc/{main_pid(installed)}/status").check().out
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert fields["NoNewPrivs"].strip() == "1" and fields["Seccomp"].strip() == "0"
    bounding = int(fields["CapBnd"], 16)
    for number in (16, 17, 22, 25, 26):  # module, rawio, boot, time, tty_config
        assert bounding >> number & 1 == 0


def test_sandboxes_are_outside_of_the_units_group(installed, box):
    """So that nothing that systemd does to the unit reaches them, and no limit of the unit is theirs."""
    group = installed.run("systemctl show -P ControlGroup harenad").check().out.strip()
    inside = installed.run(f"cat /sys/fs/cgroup{group}/cgroup.procs").check().out.split()
    assert inside == [str(main_pid(installed))]
    processes = installed.run(f"cat $(find {group_of(installed, box)} -name cgroup.procs)").check().out.split()
    assert processes and str(main_pid(installed)) not in processes


def test_limits_are_in_force_on_cgroup_v2(installed, box):
    group = group_of(installed, box)
    set_to = installed.run(f"cat {group}/memory.max {group}/memory.swap.max {group}/pids.max {group}/cpu.max").check().out.split()
    assert set_to[:2] == ["67108864", "0"] and set_to[2].isdigit() and len(set_to) == 5, (group, set_to)
    said = cli(installed, f"exec {box} -- sh -c 'grep MemTotal /proc/meminfo'").check().out
    assert said.split()[1] == str(65536)


def test_shims_outweigh_any_number_of_sandboxes(installed):
    """They share one level with all sandboxes of the instance, and answer for them."""
    assert installed.run("cat /sys/fs/cgroup/harena/default/platform/cpu.weight").check().out == "10000\n"
    assert installed.run("cat /sys/fs/cgroup/harena/default/cgroup.subtree_control").check().out.split().count("cpu") == 1


def test_cpus_inside_are_those_of_the_limit(installed, box):
    """On two CPUs, with lxcfs as the distribution starts it."""
    said = cli(installed, f"exec {box} -- sh -c 'nproc; grep -c ^processor /proc/cpuinfo; cat /sys/devices/system/cpu/online'").check().out
    assert said.split() == ["1", "1", "0"]
    cli(installed, f"resize {box} --cpu 2").check()
    said = cli(installed, f"exec {box} -- sh -c 'nproc; grep -c ^processor /proc/cpuinfo; cat /sys/devices/system/cpu/online'").check().out
    assert said.split() == ["2", "2", "0-1"]


def test_daemon_reload_takes_no_limit_away(installed, box):
    """systemd switches off controllers that none of its units needs; ours stay."""
    before = installed.run("cat /sys/fs/cgroup/harena/cgroup.subtree_control").check().out.split()
    assert {"cpu", "memory", "pids"} <= set(before)
    installed.run("systemctl daemon-reload && systemctl restart systemd-journald && systemctl daemon-reexec", limit_s=90).check()
    assert installed.run("cat /sys/fs/cgroup/harena/cgroup.subtree_control").check().out.split() == before
    test_limits_are_in_force_on_cgroup_v2(installed, box)
    cli(installed, f"stop {create(installed)}").check()


@pytest.mark.parametrize("way", ["systemctl restart harenad", "kill -KILL {pid}", "systemctl stop harenad; sleep 1; systemctl start harenad"])
def test_a_running_command_survives(installed, box, way):
    """Whatever happens to the daemon, the sandbox and its command go on, and its output is whole."""
    counted = cli(installed, f"exec --detach {box} -- sh -c 'for i in $(seq 60); do echo $i; sleep 0.2; done; echo end'").check().out.split()[0]
    before = main_pid(installed)
    installed.run(way.format(pid=before), limit_s=120).check()
    installed.run("for i in $(seq 300); do curl -fsS -o /dev/null http://127.0.0.1:9467/readyz && exit 0; sleep 0.2; done; exit 1", limit_s=120).check()
    assert main_pid(installed) != before
    said = cli(installed, f"logs --follow {box} {counted}", limit_s=180).check().out
    assert said.split() == [*map(str, range(1, 61)), "end"]
    assert cli(installed, f"exec {box} -- echo again").check().out == "again\n"


SANDBOXED = """[Service]
PrivateTmp=yes
ProtectSystem=full
ProtectHome=yes
"""


def test_a_unit_with_mounts_of_its_own(installed):
    """An operator's drop-in with options that we advise against: what it costs is said by doctor, and nothing is lost by it."""
    before = create(installed)
    installed.put("/tmp/drop-in.conf", SANDBOXED)
    installed.run("mkdir -p /etc/systemd/system/harenad.service.d && cp /tmp/drop-in.conf /etc/systemd/system/harenad.service.d/ && "
                  "systemctl daemon-reload && systemctl restart harenad", limit_s=120).check()
    try:
        assert cli(installed, f"exec {before} -- echo on").check().out == "on\n"
        inside = create(installed, "-p disk=32MiB")
        installed.run("systemctl restart harenad", limit_s=120).check()
        assert cli(installed, f"exec {inside} -- echo on").check().out == "on\n"
        findings = json.loads(cli(installed, "doctor --json").out)
        assert "container.unit.mounts" in {one["id"] for one in findings if one["level"] == "warning"}
    finally:
        installed.run("rm -r /etc/systemd/system/harenad.service.d; systemctl daemon-reload; systemctl restart harenad", limit_s=120).check()
    for box in (before, inside):
        assert cli(installed, f"exec {box} -- echo on").check().out == "on\n"
        cli(installed, f"stop {box}").check()
    assert installed.run("losetup --list --noheadings | grep -c sandboxes").out == "0\n"


def test_incidents(installed):
    """Every row that this kernel can be asked holds, under cgroup v2 and AppArmor."""
    said = cli(installed, "incidents --image root/base:v1 --each --json", limit_s=400)
    found = json.loads(said.out)
    assert [one for one in found if one["verdict"] == "broken"] == []
    assert {one["row"] for one in found} == {1, 2, 3, 4, 5, 9, 11, 14, 15, 16}
    said.check()


def test_commands_are_under_the_profile(installed, box):
    said = cli(installed, f"exec {box} -- cat /proc/self/attr/current").check().out
    assert said == "harena-default (enforce)\n"


def test_doctor_has_no_error(installed):
    said = cli(installed, "doctor --json")
    findings = json.loads(said.out)
    assert [one for one in findings if one["level"] == "error"] == []
    said.check()
    warnings = {one["id"] for one in findings if one["level"] == "warning"}
    assert "container.apparmor" not in warnings and "container.lxcfs" not in warnings
    assert all(one["why"] and one["fix"] for one in findings if one["level"] == "warning")
