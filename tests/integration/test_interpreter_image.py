"""`harena image build code-interpreter`, and its service in a container, asked through Harena's port proxy."""

import http.client
import json
import subprocess

import pytest

from interpreter_image import BUILD, interpreter, interpreter_image  # noqa: F401


def call(harenad, sandbox, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", harenad.about["api_port"], timeout=120)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, f"/v1/sandboxes/{sandbox.id}/ports/49999{path}", text, {"Authorization": f"Bearer {harenad.token}"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def run(harenad, sandbox, code, **body):
    status, text = call(harenad, sandbox, "POST", "/execute", {"code": code, **body})
    assert status == 200, text
    events = [json.loads(line) for line in text.splitlines()]
    assert events[-1]["type"] == "end_of_execution"
    return events


def stdout(events):
    return "".join(one["text"] for one in events if one["type"] == "stdout")


def test_python_runs_as_the_user_at_home(harenad, interpreter):  # noqa: F811
    events = run(harenad, interpreter, "import getpass, os\nprint(getpass.getuser(), os.getcwd())\n6 * 7")
    assert stdout(events) == "user /home/user\n" and events[-2]["text"] == "42"


def test_bash_and_its_variables(harenad, interpreter):  # noqa: F811
    assert stdout(run(harenad, interpreter, 'echo "$GREETING"', language="bash", env_vars={"GREETING": "a 'b'"})) == "a 'b'\n"


def test_a_language_that_isnt_there_is_named(harenad, interpreter):  # noqa: F811
    status, text = call(harenad, interpreter, "POST", "/execute", {"code": "1", "language": "r"})
    assert status == 400 and text == "language 'r' has no kernel in this sandbox; there are: python, bash"


def test_files_are_the_sandboxs(harenad, interpreter):  # noqa: F811
    run(harenad, interpreter, "open('made.txt', 'w').write('by a kernel')")
    assert interpreter.files.read_text("/home/user/made.txt") == "by a kernel"


def test_pip_is_there_and_nothing_forbids_it(harenad, interpreter):  # noqa: F811
    events = run(harenad, interpreter, "import glob\n!python3 -m pip --version\nglob.glob('/usr/lib/python3*/EXTERNALLY-MANAGED')")
    assert stdout(events).startswith("pip ") and events[-2]["text"] == "[]"


def test_a_client_that_goes_away_interrupts_through_the_proxy(harenad, interpreter):  # noqa: F811
    connection = http.client.HTTPConnection("127.0.0.1", harenad.about["api_port"], timeout=120)
    connection.request("POST", f"/v1/sandboxes/{interpreter.id}/ports/49999/execute",
                       json.dumps({"code": "print('on')\nimport time\ntime.sleep(600)"}), {"Authorization": f"Bearer {harenad.token}"})
    response = connection.getresponse()
    assert b"number_of_executions" in response.readline() and b"on" in response.readline()
    response.close()
    connection.close()
    assert run(harenad, interpreter, "'free'")[-2]["text"] == "free"


def test_memory_that_runs_out_ends_the_kernel_and_not_the_service(harenad, interpreter):  # noqa: F811
    made = json.loads(call(harenad, interpreter, "POST", "/contexts", {})[1])["id"]
    events = run(harenad, interpreter, "hog = bytearray(4 << 30)\nhog[::4096] = b'x' * len(hog[::4096])", context_id=made)
    assert events[-2]["name"] in ("KernelDied", "MemoryError"), events
    assert run(harenad, interpreter, "'back'", context_id=made)[-2]["text"] == "back"
    assert run(harenad, interpreter, "'others too'")[-2]["text"] == "others too"
    call(harenad, interpreter, "DELETE", f"/contexts/{made}")


@pytest.mark.parametrize("words,said", [
    (["build", "nothing"], "there is no builder for 'nothing'; there are: base, code-interpreter"),
    (["build", "base", "--small"], "'base' has one form"),
    (["build", "code-interpreter", "--folder", "here"], "an absolute path is right"),
    (["build", "code-interpreter", "--languages", "cobol", "--folder", "/tmp/harena-no-such-build"], "failed; its lines above say why"),
])
def test_builds_that_cant_be(cli, words, said):
    assert said in cli("image", *words, code=125).stderr.decode()


def test_a_build_for_a_server_elsewhere_says_where(harenad):
    asked = subprocess.run([str(BUILD / "bin" / "harena"), "--url", "http://192.0.2.1:7300", "--token", "x", "image", "build", "base"],
                           capture_output=True, text=True)
    assert asked.returncode == 125 and "run the same command there" in asked.stderr


def test_image_is_a_name_of_images(cli, image):
    assert cli.out("image") == cli.out("images") and image in cli.out("image")
    assert "image build" in cli.out("completion", "bash")
