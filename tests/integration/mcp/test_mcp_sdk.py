"""The cases of sdk_cases.py, each a test here, with the handshake and without."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from harenad_process import BUILD

FILE = Path(__file__).with_name("sdk_cases.py")
PYTHON = BUILD / "mcp" / "bin" / "python"
NAMES = re.findall(r"@case\nasync def (\w+)", FILE.read_text())


@pytest.fixture(scope="module")
def ran(mcp):
    if not (BUILD / "mcp" / "requirements.done").exists():
        pytest.skip("MCP's Python SDK isn't installed: tests/integration/mcp/setup.sh installs it")
    results = {}

    def of(mode):
        if mode not in results:
            done = subprocess.run([str(PYTHON), str(FILE), mcp.url, mcp.token, mode], capture_output=True, text=True, timeout=600)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            results[mode] = ({line["name"]: line for line in lines}, done.stderr[-3000:])
        return results[mode]

    return of


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.parametrize("name", NAMES)
def test_sdk(ran, mode, name):
    results, stderr = ran(mode)
    assert name in results, stderr
    if (mode, name) == ("2026-07-28", "the_handshake"):
        pytest.skip("a client that is told the revision doesn't ask for what server/discover says")
    assert results[name]["ok"], results[name]["error"]
