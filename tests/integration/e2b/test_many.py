"""Two hundred sandboxes through `Sandbox.create` at once, in both languages: all of them come, and nothing of them stays."""

import json
import os
import subprocess
import sys

import pytest

from e2b_paths import BUILD, NODE_MODULES, PYTHON, why_no_js
from own_daemon import MANY, end_daemon, make_daemon, variables
from tiny_image import make_tiny_image

COUNT = 200
PATIENCE_S = 300
IMAGE = "root/many:v1"
# So small that every machine which runs these tests admits all of them.
TEMPLATE = {"image": IMAGE, "cpu": 0.02, "memory_mb": 24, "user": "root"}

PYTHON_PROGRAM = f"""
import asyncio, json
from e2b import AsyncSandbox
async def main():
    wanted = [AsyncSandbox.create(timeout=3600, request_timeout={PATIENCE_S}) for _ in range({COUNT})]
    made = await asyncio.gather(*wanted, return_exceptions=True)
    print(json.dumps([one.sandbox_id if isinstance(one, AsyncSandbox) else repr(one) for one in made]), flush=True)
    input()
    print(json.dumps(await asyncio.gather(*(one.kill(request_timeout={PATIENCE_S}) for one in made))), flush=True)
asyncio.run(main())
"""
JAVASCRIPT_PROGRAM = f"""
const {{ Sandbox }} = require('e2b')
const options = {{ requestTimeoutMs: {PATIENCE_S}_000 }}
async function main() {{
  const made = await Promise.allSettled(Array.from({{ length: {COUNT} }}, () => Sandbox.create({{ ...options, timeoutMs: 3600_000 }})))
  console.log(JSON.stringify(made.map((one) => one.value ? one.value.sandboxId : String(one.reason))))
  await new Promise((told) => process.stdin.once('data', told))
  console.log(JSON.stringify(await Promise.all(made.map((one) => one.value.kill(options)))))
  process.exit(0)
}}
main()
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    if not (BUILD / "plugins" / "e2b").exists():
        pytest.skip("the plugin e2b isn't built")
    folder = tmp_path_factory.mktemp("image") / "tiny"
    make_tiny_image(folder)
    made = make_daemon({"base": TEMPLATE}, MANY)
    made.start()
    try:
        with made.client() as client:
            client.images.import_image(IMAGE, folder=str(folder))
        yield made
    finally:
        end_daemon(made)  # mounts and groups that are left are an error


def make_and_kill(daemon, command, **more):
    env = {**os.environ, **variables(daemon), **more}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as program, daemon.client() as client:
        line = program.stdout.readline()
        assert line, program.communicate()[1][-3000:]
        made = json.loads(line)
        there = {one.id for one in client.list(states=["running"])}
        assert set(made) == there and len(there) == COUNT, sorted(set(made) - there)[:3]
        killed, problems = program.communicate("go\n", timeout=PATIENCE_S)
        assert program.returncode == 0, problems[-3000:]
        assert json.loads(killed) == [True] * COUNT
        assert list(client.list(states=["creating", "running", "pausing", "paused", "resuming"])) == []


@pytest.mark.skipif(not (PYTHON / "e2b").exists(), reason="E2B's Python SDK isn't installed: setup.sh installs it")
def test_python(daemon):
    make_and_kill(daemon, [sys.executable, "-c", PYTHON_PROGRAM], PYTHONPATH=str(PYTHON))


@pytest.mark.skipif(why_no_js("e2b") != "", reason=why_no_js("e2b"))
def test_javascript(daemon):
    make_and_kill(daemon, ["node", "-e", JAVASCRIPT_PROGRAM], NODE_PATH=str(NODE_MODULES))
