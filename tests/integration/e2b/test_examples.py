"""examples/e2b: an agent's loop in both languages, as a user runs it."""

import os
import subprocess
import sys

import pytest

from e2b_paths import NODE_MODULES, PYTHON, why_no_js
from python_image import SOURCE

EXPECTED = ("round 1: AssertionError: add(2, 3) is -1, not 5", "round 2: all tests pass", "+    return a + b")


def run(command, env):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **env})
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    for line in EXPECTED:
        assert line in done.stdout.splitlines(), done.stdout


@pytest.mark.skipif(not (PYTHON / "e2b").exists(), reason="E2B's Python SDK isn't installed: setup.sh installs it")
def test_python(e2b_env):
    run([sys.executable, str(SOURCE / "examples/e2b/agent_loop.py")], {**e2b_env, "PYTHONPATH": str(PYTHON)})


@pytest.mark.skipif(why_no_js("e2b") != "", reason=why_no_js("e2b"))
def test_javascript(e2b_env):
    run(["node", str(SOURCE / "examples/e2b/agent_loop.mjs")], {**e2b_env, "NODE_PATH": str(NODE_MODULES)})
