"""What the attack program tries by itself, as root and as an ordinary user inside: every rule must hold (attacks/*.cpp)."""

import subprocess

import pytest

from harenad_process import SOURCE

# At least so many rules answered: a program that stops half-way isn't a proof.
RULES = {"1": 20, "2": 5, "3": 1, "4": 15, "5": 75, "9": 40, "14": 8, "16": 17}


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


SECRETS = ["root/.bash_history", "root/.python_history", "home/agent/.bash_history", "root/.netrc", "root/.ssh/id_ed25519", "root/.git-credentials",
           "root/.cache/pip/wheel", "root/.npm/x", "root/.pypirc", "root/.config/pip/pip.conf", "root/.docker/config.json", "etc/apt/auth.conf.d/mirror.conf",
           "etc/apt/apt.conf.d/95proxy", "var/cache/apt/archives/x.deb", "var/cache/apt/pkgcache.bin", "var/lib/apt/lists/archive_Packages",
           "var/log/apt/history.log", "var/log/dpkg.log", "tmp/left", "var/tmp/left", "run/left"]
KEPT = ["root/.bashrc", "etc/skel/.profile", "usr/bin/tool", "home/agent/work"]


def test_a_builder_publishes_nothing_of_itself(tmp_path):
    """Row 1: no shell history, package caches, tokens or files that nobody declared: what the image builders' clean-up takes out."""
    for name in [*SECRETS, *KEPT, "dev/null", "etc/machine-id", "etc/resolv.conf"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("token=secret")
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    script = SOURCE / "deploy" / "image" / "apt_sources.sh"
    subprocess.run(["bash", "-euo", "pipefail", "-c", f'. "{script}"; clean "{tmp_path}" bookworm'], check=True)
    left = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file() and "secret" in one.read_text()}
    assert left == set(KEPT), left


def test_a_builders_image_has_nothing_of_the_host(box):
    """Row 1: what an image brings in is its own paths; the launcher's and the daemon's folders are in none of them."""
    listing = box.trusted("ls -a / /tmp /run /var /root /home; cat /proc/self/mountinfo /proc/self/cgroup; env").stdout
    for secret in ("harenad", "session.sock", "exit.json", "spool", "lowerdir=/", "upperdir=/", "admin.token"):
        assert secret not in listing, listing
