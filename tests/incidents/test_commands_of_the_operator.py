"""`harena incidents` and `harena doctor` on this machine."""

import json
import platform
import re

from harenad_process import SOURCE


def test_incidents_prints_a_line_a_row(cli, image, client):
    before = {one.id for one in client.list(states=["running"])}
    table = cli.out("incidents", "--image", image)
    lines = table.splitlines()
    assert lines[0].split() == ["ROW", "RULE", "HERE", "HOW"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3", "4", "5", "9", "11", "14", "15", "16"], table
    assert "NOT ENFORCED" not in table and all(" enforced " in line for line in lines[1:]), table
    assert {one.id for one in client.list(states=["running"])} == before, "its sandbox is gone"


def test_incidents_tells_each_attempt(cli, image):
    found = json.loads(cli.out("incidents", "--image", image, "--json"))
    assert len(found) > 150 and {one["verdict"] for one in found} <= {"held", "absent"}
    rules = {(one["row"], one["rule"]) for one in found}
    assert {(4, "evaluation"), (11, "flood"), (14, "fork_bomb"), (14, "memory_bomb"), (14, "threads_bomb"), (14, "tmpfs_bomb"), (14, "disk_bomb"),
            (14, "inodes_bomb"), (14, "files_bomb"), (15, "fifo"), (15, "write_device"), (16, "exec_answers")} <= rules
    assert "xfs_swapext" in cli.out("incidents", "--image", image, "--each")


def test_the_table_of_the_docs_is_this_one(cli, image):
    """docs/security.md says what `harena incidents` says: rows, rules and verdicts; figures on the kernel that they are from."""
    text = (SOURCE / "docs" / "security.md").read_text()
    told = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:5]] for line in text.splitlines() if re.match(r"\| \d+ \|", line)}
    found = {}
    for line in cli.out("incidents", "--image", image).splitlines()[1:]:
        row, rule, here, how = re.match(r"(\d+) +(.+?) {2,}(\S+) +(.+)", line).groups()
        found[row] = [rule, here, how]
    assert {row: cells[:2] for row, cells in told.items()} == {row: cells[:2] for row, cells in found.items()}
    if platform.release().startswith("6.18") and "hybrid" in text:
        assert told == found


def test_incidents_without_its_program_says_so(cli, image):
    failed = cli("incidents", "--image", image, "--program", "/nowhere/attack", code=125)
    assert b"/nowhere/attack" in failed.stderr


def test_doctor_has_findings_with_reasons_and_commands(cli, image):
    findings = json.loads(cli("doctor", "--json", code=0).stdout)
    ours = {one["id"]: one for one in findings if one["id"].startswith("container.")}
    for name in ("kernel", "erofs", "overlay", "cgroup", "cgroup.memory", "namespaces.user", "seccomp", "apparmor", "landlock", "tools",
                 "ids", "lxcfs", "pid_max", "file_max", "inotify_instances", "suid_dumpable", "core_pattern", "swap", "clock"):
        assert f"container.{name}" in ours, sorted(ours)
    for one in ours.values():
        assert one["what"]
        assert one["level"] == "ok" or (one["why"] and one["fix"]), one
