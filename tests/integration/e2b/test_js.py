"""The cases of js/*_cases.cjs, each a test here: node runs a file once, and every case has its own result."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from e2b_paths import NODE_MODULES, why_no_js

HERE = Path(__file__).parent / "js"
CASE = re.compile(r"^test\('((?:[^'\\]|\\.)*)'", re.MULTILINE)
# What the release of last spring hasn't got, and what it does wrong by itself.
NOT_IN_SPRING = {
    "a character cut between two writes": "it decodes each piece of output alone",
    "metadata": "files have no metadata there",
    "files: a list with metadata": "files have no metadata there",
    "watch with entries": "it can't ask for entries",
    "sendStdin and closeStdin of a handle": "handles have neither there",
    "sandbox: fork keeps files": "it can't fork",
}
# Which files run with which release.
VERSIONS = {"e2b": ("*",), "e2b-spring": ("control", "envd", "method")}


def collected():
    for version, stems in VERSIONS.items():
        for file in sorted(file for stem in stems for file in HERE.glob(f"{stem}_cases.cjs")):
            for name in CASE.findall(file.read_text()):
                if version == "e2b" or name not in NOT_IN_SPRING:
                    yield pytest.param(version, file.name, name.replace("\\'", "'"), id=f"{version}-{file.stem}-{name}")


@pytest.fixture(scope="session")
def js_results(e2b_env):
    ran = {}

    def results(version, file):
        if (version, file) not in ran:
            ran[version, file] = run(version, file, e2b_env)
        return ran[version, file]

    return results


def run(version, file, env):
    if why_no_js(version):
        pytest.skip(why_no_js(version))
    done = subprocess.run(["node", str(HERE / "run.cjs"), str(HERE / file)], capture_output=True, text=True, timeout=1500,
                          env=dict(os.environ, NODE_PATH=str(NODE_MODULES), E2B_JS=version, **env))
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["name"]: line for line in lines}, done.stderr[-3000:]


@pytest.mark.parametrize("version, file, name", collected())
def test_js(js_results, version, file, name):
    results, stderr = js_results(version, file)
    assert name in results, f"node ended before this case: {stderr}"
    assert results[name]["ok"], results[name]["error"]
