"""quickstart.sh --uninstall leaves nothing of what was installed."""

import json
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
    for name in ("unified/harena/default/x/cmd-0", "pids/harena/default/x", "pids/harena/other/y", "unified/harena/other/y/cmd-0", "cpu/harena/default",
                 "memory/harena-qemu/default/platform/x", "memory/harena-qemu/other", "memory/harena-vm/default"):
        (tmp_path / name).mkdir(parents=True)
    subprocess.run(["bash", "-c", '. deploy/service.sh; remove_cgroups "$0"', str(tmp_path)], check=True, cwd=SOURCE)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not any(path.iterdir())}
    assert left == {"pids/harena/other/y", "unified/harena/other/y/cmd-0", "cpu", "memory/harena-qemu/other"}


def test_state_goes_and_disk_images_stay(tmp_path):
    state, run = tmp_path / "state", tmp_path / "run"
    script = f'. deploy/service.sh; state_dir="{state}"; run_dir="{run}"; remove_state'
    for folder in ("sandboxes/x", "disks"):
        (state / folder).mkdir(parents=True)
    run.mkdir()
    image = state / "disks" / "mine.qcow2"
    image.write_text("mine")
    told = subprocess.run(["bash", "-euc", script], check=True, cwd=SOURCE, capture_output=True, text=True).stdout
    assert image.read_text() == "mine" and [path.name for path in state.iterdir()] == ["disks"] and str(image.parent) in told and not run.exists()
    image.unlink()
    subprocess.run(["bash", "-euc", script], check=True, cwd=SOURCE)
    assert not state.exists()


def config_of(tmp_path, plugins, program):
    """deploy/service.sh's words about the configuration, with a file and an installation of the test's own."""
    for name in plugins:
        (tmp_path / "prefix/lib/harena/plugins" / name).mkdir(parents=True, exist_ok=True)
    script = f". deploy/service.sh; config_file={tmp_path}/etc/harena.json; {program}"
    done = subprocess.run(["bash", "-euc", script, str(tmp_path / "prefix")], cwd=SOURCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tmp_path / "etc" / "harena.json"


def test_quickstarts_configuration_is_one_and_goes_with_it(tmp_path):
    written = config_of(tmp_path, ["e2b", "mcp"], 'write_config "$0"')
    checked = subprocess.run([str(BUILD / "bin" / "harenad"), "--check-config", "--config", str(written)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert {"e2b", "mcp"} <= set(json.loads(checked.stdout)["plugins"])
    assert not config_of(tmp_path, [], "remove_config").parent.exists()


def test_a_configuration_of_ones_own_stays(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "harena.json").write_text("{}")
    kept = config_of(tmp_path, ["e2b"], 'write_config "$0"; remove_config')
    assert kept.read_text() == "{}"


def test_what_isnt_installed_isnt_named(tmp_path):
    assert '"e2b"' not in config_of(tmp_path, ["mcp"], 'write_config "$0"').read_text()
    assert not config_of(tmp_path / "none", [], 'write_config "$0"').exists()
