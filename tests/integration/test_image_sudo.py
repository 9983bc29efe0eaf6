"""The `sudo` of the images that Harena's builders make (images/sudo): what it runs, and what it says."""

import os
import subprocess
from pathlib import Path

import pytest

SUDO = str(Path(__file__).resolve().parents[2] / "images" / "sudo" / "sudo.sh")


def run(*words, user=None):
    return subprocess.run(["/bin/sh", SUDO, *words], capture_output=True, text=True, env={"PATH": os.environ["PATH"], "KEPT": "k"},
                          stdin=subprocess.DEVNULL, user=user)


@pytest.mark.parametrize("words, printed", [
    (["echo", "-n", "x"], "x"), (["-E", "sh", "-c", "echo $KEPT"], "k\n"), (["-n", "-H", "-u", "root", "--", "echo", "y"], "y\n"),
    (["-uroot", "A=b c", "sh", "-c", "echo $A"], "b c\n"), (["--user=root", "--preserve-env=X", "id", "-u"], "0\n"), (["-v"], "")])
def test_root_runs_it(words, printed):
    done = run(*words)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_its_status_is_the_commands():
    assert run("sh", "-c", "exit 7").returncode == 7


@pytest.mark.parametrize("words, said", [(["-u", "user", "id"], "run the command as the user 'user'"), (["-i"], "the option '-i' isn't there"),
                                         (["-u"], "only -u root"), ([], "usage")])
def test_what_it_cannot_do_is_told(words, said):
    done = run(*words)
    assert done.returncode == 1 and said in done.stderr and done.stdout == ""


def test_others_are_told_what_is_right():
    done = subprocess.run(["/bin/sh", "-c", Path(SUDO).read_text(), "sudo", "id"], capture_output=True, text=True, user=65534)
    assert done.returncode == 1 and "run the command as the user root" in done.stderr
