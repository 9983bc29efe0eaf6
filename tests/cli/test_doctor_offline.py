"""`harena doctor` where no harenad answers, and `harenad --doctor` itself: nothing is started, made or listened on."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


@pytest.fixture
def config(tmp_path, binary):
    build = Path(binary).parents[1]
    file = tmp_path / "harena.json"
    file.write_text(json.dumps({"api": {"listen": "127.0.0.1:0"}, "health": {"listen": "127.0.0.1:0"}, "state_dir": str(tmp_path / "state"),
                                "run_dir": str(tmp_path / "run"), "plugin_dirs": [str(build / "plugins")]}))
    return file


def run(binary, *words, url, code):
    env = {**os.environ, "HARENA_URL": url, "HARENA_TOKEN": "x"}
    done = subprocess.run([binary, *words], capture_output=True, timeout=60, env=env, text=True)
    assert done.returncode == code, (done.returncode, done.stdout[-3000:], done.stderr[-2000:])
    return done


@pytest.fixture
def silent_url():
    """A port of loopback where nothing answers: bound, so that nobody else gets it, and not listened on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{one.getsockname()[1]}"


def test_no_harenad_is_the_first_finding_and_the_rest_follows(binary, config, silent_url):
    findings = json.loads(run(binary, "doctor", "--json", "--config", str(config), url=silent_url, code=1).stdout)
    assert findings[0]["id"] == "harenad" and findings[0]["level"] == "error"
    assert "systemctl start harenad" in findings[0]["fix"]
    ids = {one["id"] for one in findings}
    assert {"kernel", "room", "state.lock", "port.api", "port.health", "plugin.container", "backend.container", "container.cgroup"} <= ids
    assert not (config.parent / "state").exists() and not (config.parent / "run").exists(), "it makes nothing"


def test_text_says_what_why_and_the_command(binary, config, silent_url):
    said = run(binary, "doctor", "--config", str(config), url=silent_url, code=1).stdout
    assert "no harenad answers" in said and "fix: systemctl start harenad" in said


def test_local_asks_no_server_and_its_status_tells_of_errors_only(binary, config, silent_url, tmp_path):
    done = subprocess.run([binary, "doctor", "--local", "--json", "--config", str(config)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "HARENA_URL": silent_url})
    findings = json.loads(done.stdout)
    assert "harenad" not in {one["id"] for one in findings}
    assert done.returncode == (1 if any(one["level"] == "error" for one in findings) else 0)


def test_a_port_that_somebody_has(binary, config, silent_url):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        port = other.getsockname()[1]
        changed = json.loads(config.read_text())
        changed["api"]["listen"] = f"127.0.0.1:{port}"
        config.write_text(json.dumps(changed))
        findings = json.loads(run(binary, "doctor", "--local", "--json", "--config", str(config), url=silent_url, code=1).stdout)
    found = next(one for one in findings if one["id"] == "port.api")
    assert found["level"] == "error" and str(port) in found["what"] and "api.listen" in found["fix"]


def test_a_configuration_that_is_wrong(binary, config, silent_url):
    config.write_text('{"api": {"listen": "nowhere"}}')
    done = run(binary, "doctor", "--json", "--config", str(config), url=silent_url, code=1)
    assert {"harenad", "harenad.config"} == {one["id"] for one in json.loads(done.stdout)}
    assert "nowhere" in done.stderr


def test_another_machines_server_is_not_this_machines_business(binary, config):
    done = run(binary, "doctor", "--config", str(config), url="http://localhost.invalid:7300", code=125)
    assert done.stdout == "" and done.stderr.startswith("error: ")


def test_every_finding_is_in_the_operators_table(binary, config, silent_url):
    """docs/operator.md has a row for each id that the sources can give."""
    import re

    sources = [*(SOURCE / "core/edge").glob("*.cpp"), *(SOURCE / "core/cli").glob("local_doctor.cpp")]
    ids = set(re.findall(r'(?:finding|found\.push_back\(finding)\("([a-z_.]+)"', "".join(one.read_text() for one in sources if "_test" not in one.name)))
    for one in (SOURCE / "plugins/container/doctor").glob("*_findings.cpp"):
        text = one.read_text()
        ids |= {"container." + found for found in re.findall(r'\.(?:ok|warning|error)\("([a-z_.]+)"', text)}
        ids |= {"container." + found for found in re.findall(r'^    \{"([a-z_]+)", "[a-z]+/', text, re.M)}
    assert len(ids) > 40
    table = (SOURCE / "docs/operator.md").read_text()
    missing = sorted(one for one in ids if f"`{one.rstrip('.')}" not in table)
    assert not missing
