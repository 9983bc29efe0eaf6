"""What the attack program tries by itself, as root and as an ordinary user inside: every rule must hold (attacks/*.cpp)."""

import pytest

# At least so many rules answered: a program that stops half-way isn't a proof.
RULES = {"1": 20, "2": 5, "3": 1, "4": 15, "5": 70, "9": 40, "14": 8, "16": 10}


@pytest.mark.parametrize("row", RULES, ids=[f"row{row}" for row in RULES])
def test_every_rule_holds(box, row):
    found = box.findings(row)
    assert len(found) >= RULES[row], [one["rule"] for one in found]
    # Only what this kernel hasn't got may be missing, never a rule about our own mounts and filters.
    absent = {one["rule"] for one in found if one["verdict"] == "absent"}
    assert all(rule.startswith(("/proc/", "/sys/")) for rule in absent), absent
    assert box.shell("echo alive").stdout == "alive\n"


def test_kernel_calls_are_refused_to_other_users_too(box):
    result = box.attack("row", "5", user="1000:1000")
    held = result.stdout.count('"held"')
    assert '"verdict": "broken"' not in result.stdout and held >= 70, result.stdout


def test_terminals_too(box):
    """The same filter with a terminal, where TIOCSTI would have somebody to push to."""
    command = box.sandbox.commands.start(["/tmp/harena-attack", "row", "5"], pty=(24, 200))
    result = command.result()
    assert '"verdict": "broken"' not in result.stdout and result.stdout.count('"held"') >= 70, result.stdout


def test_a_builders_image_has_nothing_of_the_host(box):
    """Row 1: what an image brings in is its own paths; the launcher's and the daemon's folders are in none of them."""
    listing = box.trusted("ls -a / /tmp /run /var /root /home; cat /proc/self/mountinfo /proc/self/cgroup; env").stdout
    for secret in ("harenad", "session.sock", "exit.json", "spool", "lowerdir=/", "upperdir=/", "admin.token"):
        assert secret not in listing, listing
