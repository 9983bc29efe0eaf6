"""E2B's Python SDK of half a year ago: it can't live in one process with the newest, so it runs in one of its own."""

import os
import subprocess
import sys

import pytest

from e2b_paths import SPRING

PROGRAM = """
from e2b import Sandbox, SandboxQuery
sandbox = Sandbox.create(timeout=60, metadata={"a": "b"}, envs={"X": "1"})
info = sandbox.get_info()
assert info.template_id == "base" and info.metadata == {"a": "b"}, info
sandbox.set_timeout(30)
pages = Sandbox.list(query=SandboxQuery(metadata={"a": "b"}))
assert [one.sandbox_id for one in pages.next_items()] == [sandbox.sandbox_id]
again = Sandbox.connect(sandbox.sandbox_id, timeout=100)
assert again.sandbox_id == sandbox.sandbox_id
(getattr(sandbox, "pause", None) or sandbox.beta_pause)()
assert str(sandbox.get_info().state.value) == "paused"
Sandbox.connect(sandbox.sandbox_id, timeout=60)
assert str(sandbox.get_info().state.value) == "running"
assert len(sandbox.get_metrics()) == 1
assert sandbox.kill() is True and sandbox.kill() is False
print("done")
"""


@pytest.mark.skipif(not (SPRING / "e2b").exists(), reason="E2B's Python SDK of last spring isn't installed: setup.sh installs it")
def test_the_control_api(e2b_env):
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, PYTHONPATH=str(SPRING), **e2b_env))
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr[-3000:]
