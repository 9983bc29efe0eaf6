"""The machine ends under running sandboxes: by a power cut, and in order. Afterwards they have failed by the infrastructure's fault, nothing of
them is left, and new ones can be made."""

import json
import time

import pytest

from machine import LONG
from test_vm_product import TOKEN, cli, create

CENSUS = """
echo mounts $(grep -c /var/lib/harena /proc/self/mounts)
echo loops $(losetup --list --noheadings --output BACK-FILE | grep -c harena)
echo cgroups $(find /sys/fs/cgroup/harena -mindepth 2 -maxdepth 2 -type d | grep -vc /platform)
echo shims $(pgrep -c harena-shim)
echo runs $(find /run/harena -mindepth 2 -maxdepth 2 -type d | wc -l)
echo uppers $(find /var/lib/harena/sandboxes -mindepth 1 -maxdepth 1 -not -name ".container-*" 2>/dev/null | wc -l)
echo layers $(find /var/lib/harena/sandboxes/.container-layers -mindepth 2 -maxdepth 2 2>/dev/null | wc -l)
"""


def nothing_runs(machine):
    cli(machine, "ls --quiet | xargs -r harena stop").check()
    expect_no_more_than(machine, {"cgroups": 0, "shims": 0, "runs": 0, "uppers": 0})
    return census(machine)


def census(machine):
    """What there is of sandboxes; those that wait in the pool, prepared in advance, have a group and nothing else."""
    lines = machine.run(CENSUS).check().out.splitlines()
    found = {line.split()[0]: int(line.split()[1]) for line in lines}
    backends = machine.run(f"{TOKEN} curl -fsS -H \"Authorization: Bearer $HARENA_TOKEN\" $HARENA_URL/v1/backends").check().out
    found["cgroups"] -= sum(backend["facts"].get("prepared", 0) for backend in json.loads(backends)["backends"])
    return found


def expect_no_more_than(machine, before):
    """What a stop or a sweep still has under way behind its answer has its time; what stays is a leak. (A layer's own loop device may go
    with a boot, and comes back with the next sandbox.)"""
    for _ in range(120):
        found = census(machine)
        if all(found[name] <= most for name, most in before.items()):
            return
        time.sleep(0.5)
    assert found == before


def create_of(machine, options):
    return cli(machine, f"create {options}").check().out.strip()


def inspect(machine, box):
    return json.loads(cli(machine, f"inspect {box} --json").check().out)[0]


def wait_ready(machine):
    machine.run("for i in $(seq 600); do curl -fsS -o /dev/null http://127.0.0.1:9467/readyz && exit 0; sleep 0.2; done; exit 1", limit_s=240).check()
    machine.run("systemctl is-active harenad").check()


only_long = pytest.mark.skipif(not LONG, reason="minutes, emulated; HARENA_LONG_TESTS=1 runs it")


@pytest.mark.parametrize("way", ["cut_power", pytest.param("reboot", marks=only_long)])
def test_the_machine_ends_under_running_sandboxes(installed, way):
    empty = nothing_runs(installed)
    boxes = [create(installed), create(installed, "-p disk=64MiB")]
    for box in boxes:
        cli(installed, f"exec {box} -- sh -c 'echo written > /root/file; sync'").check()
        cli(installed, f"exec --detach {box} -- sleep 4000").check()
    assert census(installed)["shims"] > empty["shims"] and census(installed)["mounts"] >= empty["mounts"]
    installed.run("sync").check()
    getattr(installed, way)()
    wait_ready(installed)
    for box in boxes:
        found = inspect(installed, box)
        assert found["state"] == "failed", found
        assert found["ending"]["cause"] == "infrastructure", found
        assert "restarted" in json.dumps(found["ending"]), found["ending"]
        assert cli(installed, f"exec {box} -- true").code != 0
    assert cli(installed, "ls --quiet").check().out == ""
    expect_no_more_than(installed, empty)
    assert cli(installed, f"exec {create(installed)} -- echo new").check().out == "new\n"
    cli(installed, "ls --quiet | xargs harena stop").check()
    expect_no_more_than(installed, {**empty, "loops": empty["loops"] + 1})


@pytest.mark.parametrize("options", ["", "-p disk=64MiB"], ids=["folder", "disk"])
def test_a_snapshot_survives_a_power_cut_right_behind_its_answer(installed, options):
    nothing_runs(installed)
    box = create(installed, options)
    fill = "mkdir -p /root/kept && for i in $(seq 200); do head -c 20000 /dev/urandom > /root/kept/$i; done; sha256sum /root/kept/* > /root/sums; ln -s /root/sums /root/link"
    cli(installed, f"exec {box} -- sh -c '{fill}'").check()
    name = "kept-" + ("disk" if options else "folder")
    cli(installed, f"snapshot {box} {name}").check()
    installed.cut_power()
    wait_ready(installed)
    again = create_of(installed, f"--snapshot {name} -p memory=64MiB {options}")
    said = cli(installed, f"exec {again} -- sh -c 'sha256sum -c /root/link | grep -vc OK; ls /root/kept | wc -l'").out
    assert said.split() == ["0", "200"]
    cli(installed, f"stop {again}").check()
    cli(installed, f"snapshots rm {name}").check()


@only_long
def test_power_cut_right_behind_the_answer(installed):
    """What nobody had time to write down may be forgotten; then no trace of it is left either."""
    empty = nothing_runs(installed)
    boxes = [create(installed) for _ in range(3)]
    installed.cut_power()
    wait_ready(installed)
    for box in boxes:
        said = cli(installed, f"inspect {box} --json")
        if said.code == 0:
            assert json.loads(said.out)[0]["state"] == "failed", said.out
        else:
            assert "not_found" in said.err, said.err
    expect_no_more_than(installed, empty)
    cli(installed, f"stop {create(installed)}").check()


@only_long
def test_uninstall_leaves_nothing(installed):
    """The last of all: what quickstart made goes, with sandboxes that run."""
    create(installed)
    installed.run("cd /opt/harena-test/source && deploy/quickstart.sh --uninstall", limit_s=180).check()
    left = installed.run("ls -d /usr/local/bin/harena* /usr/local/lib/harena /usr/local/libexec/harena /var/lib/harena /run/harena /sys/fs/cgroup/harena* "
                         "/etc/systemd/system/harenad.service 2>/dev/null; grep harena- /sys/kernel/security/apparmor/profiles; pgrep -l harena; "
                         "grep harena /proc/self/mounts | grep -v ' /opt/harena-test '; losetup --list --noheadings").out
    assert left == ""
