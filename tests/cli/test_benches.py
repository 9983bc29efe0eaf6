"""The benches aren't run here, but they start: what they import is there, and so is every target that bench/run.sh builds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]
BUILD = Path(os.environ["HARENA_BUILD_DIR"])
SCRIPTS = sorted(path.relative_to(SOURCE) for path in (SOURCE / "bench").rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_a_bench_finds_what_it_imports(script):
    """Run but for its main part."""
    run = subprocess.run([sys.executable, "-c", f"import runpy; runpy.run_path({str(script)!r}, run_name='bench')"], cwd=SOURCE,
                         env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk" / "python")}, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


def test_every_target_that_it_builds_is_one():
    text = (SOURCE / "bench" / "run.sh").read_text()
    command = re.search(r'--target ((?:[\w\s.-]|\\\n)+)', text).group(1)
    targets = command.replace("\\\n", " ").split()
    assert len(targets) > 10
    known = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    names = {line.split(":")[0] for line in known.splitlines()}
    assert [target for target in targets if target not in names] == []


def test_an_unknown_bench_is_named(tmp_path):
    run = subprocess.run(["bench/run.sh", "comands"], cwd=SOURCE, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "unknown bench 'comands'; known: build" in run.stderr
