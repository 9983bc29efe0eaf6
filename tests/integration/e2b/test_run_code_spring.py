"""`run_code` of the SDKs of half a year ago, which ask `https://49999-ID.domain` whatever E2B_SANDBOX_URL says: with a certificate of `*.domain`, as
docs/e2b.md has it. Names under it are resolved by the programs themselves, in place of wildcard DNS."""

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from e2b_paths import BUILD, NODE_MODULES, SPRING, why_no_js
from interpreter_image import LONG, SMALL, build_interpreter_image
from own_daemon import end_daemon, make_daemon
from test_js import HERE
from test_run_code import TEMPLATE
from test_tls import DOMAIN, certificates

PYTHON_PROGRAM = f"""
import socket
real = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: real("127.0.0.1" if str(host).endswith("{DOMAIN}") else host, *rest, **more)
from e2b_code_interpreter import Sandbox
with Sandbox.create() as sandbox:
    assert sandbox.run_code("x = 20; x + 1").text == "21"
    got = sandbox.run_code("print('out'); 1 / 0")
    assert got.logs.stdout == ["out\\n"] and got.error.name == "ZeroDivisionError"
    context = sandbox.create_code_context(cwd="/tmp")
    assert sandbox.run_code("import os; os.getcwd()", context=context).text == "/tmp"
    assert sandbox.commands.run("echo hi").stdout == "hi\\n"
print("done")
"""
JS_PROGRAM = """
const { Sandbox } = require('code-interpreter-spring')
async function main() {
  const sandbox = await Sandbox.create()
  const got = await sandbox.runCode("print('out'); 6 * 7")
  if (got.text !== '42' || got.logs.stdout.join('') !== 'out\\n') throw new Error(JSON.stringify(got))
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  if ((await sandbox.runCode('import os; os.getcwd()', { context })).text !== '/tmp') throw new Error('cwd')
  await sandbox.kill()
  console.log('done')
}
main()
"""


@pytest.fixture(scope="module")
def spring_env(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl isn't installed")
    folder = tmp_path_factory.mktemp("tls")
    certificates(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = make_daemon({"code-interpreter-v1": dict(TEMPLATE, warm=0)})
    daemon.edit_config(lambda config: config["plugins"]["e2b"]["config"].update(
        listen=f"127.0.0.1:{port}", domain=f"{DOMAIN}:{port}", public_url=f"https://{DOMAIN}:{port}",
        tls={"cert": str(folder / "e2b.pem"), "key": str(folder / "e2b.key")}))
    daemon.start()
    try:
        build_interpreter_image(daemon, *(() if LONG else SMALL))
        env = dict(os.environ, HARENA_URL=daemon.url, HARENA_TOKEN=daemon.token)
        words = [str(BUILD / "bin" / "harena"), "--json", "e2b", "env", "--create-key", "spring"]
        key = json.loads(subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout)["E2B_API_KEY"]
        url = f"https://{DOMAIN}:{port}"
        yield {"E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": key, "E2B_TEST_DOMAIN": DOMAIN,
               "SSL_CERT_FILE": str(folder / "ca.pem"), "NODE_EXTRA_CA_CERTS": str(folder / "ca.pem")}
    finally:
        end_daemon(daemon)


def run(words, env):
    done = subprocess.run(words, capture_output=True, text=True, timeout=180, env={**os.environ, **env})
    assert done.returncode == 0 and done.stdout == "done\n", done.stdout + done.stderr[-3000:]


@pytest.mark.skipif(not (SPRING / "e2b_code_interpreter").exists(), reason="E2B's Python SDKs of last spring aren't installed: setup.sh installs them")
def test_python(spring_env):
    run([sys.executable, "-c", PYTHON_PROGRAM], {**spring_env, "PYTHONPATH": str(SPRING)})


@pytest.mark.skipif(why_no_js("code-interpreter-spring") != "", reason=why_no_js("code-interpreter-spring"))
def test_javascript(spring_env):
    run(["node", "--require", str(HERE / "resolve.cjs"), "-e", JS_PROGRAM], {**spring_env, "NODE_PATH": str(NODE_MODULES)})
