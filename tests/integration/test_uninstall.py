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


def test_groups_of_other_instances_stay(tmp_path):
    """Empty ones too: the next command of a sandbox is born in one."""
    for name in ("unified/harena/default/x/cmd-0", "pids/harena/default/x", "pids/harena/other/y", "unified/harena/other/y/cmd-0", "cpu/harena/default"):
        (tmp_path / name).mkdir(parents=True)
    subprocess.run(["bash", "-c", '. deploy/service.sh; remove_cgroups "$0"', str(tmp_path)], check=True, cwd=SOURCE)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not any(path.iterdir())}
    assert left == {"pids/harena/other/y", "unified/harena/other/y/cmd-0", "cpu"}
