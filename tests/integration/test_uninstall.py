"""quickstart.sh --uninstall leaves nothing of what was installed."""

import subprocess
from pathlib import Path

from harenad_process import BUILD, SOURCE


def test_nothing_stays_that_was_installed(tmp_path):
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(prefix)], check=True, capture_output=True)
    assert (prefix / "bin" / "harenad").exists() and (prefix / "lib" / "harena" / "plugins").is_dir()
    foreign = prefix / "share" / "doc" / "other"
    foreign.mkdir(parents=True)
    (foreign / "README").write_text("of somebody else")
    subprocess.run(["bash", "-c", '. deploy/service.sh; remove_files "$0"', str(prefix)], check=True, cwd=SOURCE)
    left = [str(path.relative_to(prefix)) for path in Path(prefix).rglob("*") if not path.is_dir()]
    assert left == ["share/doc/other/README"]
