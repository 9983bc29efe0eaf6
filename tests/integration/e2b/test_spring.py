"""E2B's Python SDK of half a year ago: it can't live in one process with the newest, so it runs in one of its own."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

from e2b_paths import GIVEN, SDK_FOLDER, SPRING

HERE = Path(__file__).parent
FILES = ("test_e2b_commands.py", "test_e2b_files.py", "test_git.py")
CASE = re.compile(r"^def (test_\w+)\(", re.MULTILINE)
# What that release hasn't got, and what it does wrong by itself.
NO_STDIN = "it can't close stdin, and its handles have none"
NO_STREAM = "it has no stream_input"
NO_METADATA = "files have no metadata there, and watches no entries"
OWN_CLOCK = "its HTTP client's own timeout is as long, and an exception of httpx where it comes first"
NOT_THERE = {
    "test_a_character_cut_between_two_writes": "it decodes each piece of output alone",
    "test_stdin": NO_STDIN,
    "test_stdin_through_the_handle": NO_STDIN,
    "test_close_stdin_through_the_handle": NO_STDIN,
    "test_half_a_megabyte_of_stdin": NO_STDIN,
    "test_stream_input": NO_STREAM,
    "test_stream_input_of_nobody": NO_STREAM,
    "test_stream_input_of_a_terminal": NO_STREAM,
    "test_timeout_is_an_exception_and_the_end_of_the_tree": OWN_CLOCK,
    "test_output_before_the_timeout": OWN_CLOCK,
    "test_metadata": NO_METADATA,
    "test_watch_with_entries": NO_METADATA,
}

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


@pytest.fixture(scope="module")
def spring_results(e2b_env, tmp_path_factory):
    """Every case of FILES with that SDK, sync and async: {(file, function): [failure or None, ...]}."""
    if not (SPRING / "e2b").exists():
        pytest.skip("E2B's Python SDK of last spring isn't installed: setup.sh installs it")
    report = tmp_path_factory.mktemp("spring") / "report.xml"
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *(str(HERE / file) for file in FILES)],
                   env={**os.environ, GIVEN: json.dumps(e2b_env), SDK_FOLDER: str(SPRING)}, capture_output=True, timeout=1500)
    results = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        bad = [one.text or one.get("message") for one in case if one.tag in ("failure", "error", "skipped")]
        file = case.get("classname").rpartition(".")[2] + ".py"
        results.setdefault((file, case.get("name").partition("[")[0]), []).append(bad[0] if bad else None)
    return results


def cases():
    for file in FILES:
        for name in CASE.findall((HERE / file).read_text()):
            if name not in NOT_THERE:
                yield pytest.param(file, name, id=f"{file.removesuffix('.py')}-{name}")


@pytest.mark.parametrize("file, name", cases())
def test_cases_of_the_newest(spring_results, file, name):
    outcomes = spring_results.get((file, name))
    assert outcomes, "pytest ended before this case"
    assert outcomes == [None] * len(outcomes), next(one for one in outcomes if one)[-3000:]
