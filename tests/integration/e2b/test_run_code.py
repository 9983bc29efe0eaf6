"""`run_code` of E2B's published code-interpreter SDKs, sync and async and in JavaScript, in sandboxes that were ready before.

The image is small (Python and Bash); the long form has all languages and data packages.
"""

import base64
import inspect
import os

import pytest

from e2b_paths import BUILD, PYTHON
from e2b_raw import kill_all
from interpreter_image import LONG, SMALL, build_interpreter_image
from own_daemon import end_daemon, make_daemon, ready_members, until, variables
from test_js import CASE, HERE, run

JS_SDK = "@e2b/code-interpreter"
JS_FILE = "run_code.cjs"
WARM = 2
ALL = pytest.mark.skipif(not LONG, reason="all languages and data packages are in the long form's image: HARENA_LONG_TESTS=1")
TEMPLATE = {"image": "root/code-interpreter:v1", "cpu": 1, "memory_mb": 1024 if LONG else 768, "warm": WARM, "start_command": "harena-interpreter",
            "ready_command": "curl -sf http://127.0.0.1:49999/health", "ready_timeout_s": 120}


@pytest.fixture(scope="module")
def daemon():
    if not (BUILD / "plugins" / "e2b").exists():
        pytest.skip("the plugin e2b isn't built")
    made = make_daemon({"code-interpreter-v1": TEMPLATE})
    made.start()
    try:
        build_interpreter_image(made, *(() if LONG else SMALL))
        yield made
    finally:
        end_daemon(made)


@pytest.fixture(scope="module")
def code_env(daemon):
    return variables(daemon)


@pytest.fixture(scope="module")
def code_sdk(python_sdk, code_env):
    """In place of the session's variables, which are another daemon's."""
    if not (PYTHON / "e2b_code_interpreter").exists():
        pytest.skip("E2B's Python code-interpreter SDK isn't installed: tests/integration/e2b/setup.sh installs it")
    import e2b_code_interpreter

    kept = {name: os.environ.get(name) for name in code_env}
    os.environ.update(code_env)
    yield e2b_code_interpreter
    os.environ.update({name: value for name, value in kept.items() if value is not None})


@pytest.fixture(params=["sync", "async"])
def make(request, code_sdk, code_env, event_loop_of_sdk):
    loop = event_loop_of_sdk if request.param == "async" else None
    yield lambda **options: Box(code_sdk, loop, **options)
    kill_all(code_env)


@pytest.fixture
def box(make):
    return make()


class Box:
    """A sandbox of either SDK, whose calls are run to their ends."""

    def __init__(self, module, loop, **options):
        self.module, self.loop = module, loop
        kind = module.AsyncSandbox if loop else module.Sandbox
        self.sandbox = self.done(kind.create(**options))

    def done(self, value):
        return self.loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def __getattr__(self, name):
        return lambda *args, **options: self.done(getattr(self.sandbox, name)(*args, **options))

    def command(self, text):
        return self.done(self.sandbox.commands.run(text)).stdout


def test_the_value_of_the_last_line(box):
    got = box.run_code("x = 20\nx + 1")
    assert got.text == "21" and got.error is None and got.execution_count == 1
    assert box.run_code("x * 2").text == "40"


def test_output_is_logged_and_told(box):
    told = []
    got = box.run_code("import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('again')", on_stdout=lambda one: told.append(one.line),
                       on_stderr=lambda one: told.append("!" + one.line))
    assert "".join(got.logs.stdout) == "out\nagain\n" and "".join(got.logs.stderr) == "err\n"
    assert "".join(told) == "out\n!err\nagain\n"


def test_errors_have_their_traceback(box):
    told = []
    got = box.run_code("def f(): return {}['k']\nf()", on_error=told.append)
    assert got.error.name == "KeyError" and got.error.value == "'k'" and "line" in got.error.traceback and len(told) == 1


def test_every_format_arrives(box):
    code = ("display({'text/html': '<b>', 'text/markdown': '*m*', 'image/svg+xml': '<svg/>', 'image/png': 'aGk=', 'image/jpeg': 'aGk=', 'application/pdf': 'aGk=',"
            " 'text/latex': '$x$', 'application/json': {'a': 1}, 'application/javascript': '1', 'e2b/data': {'c': [1]}, 'text/plain': 't', 'application/x-own': 'o'}, raw=True)")
    told = []
    got = box.run_code(code, on_result=told.append).results[0]
    assert (got.html, got.markdown, got.svg, got.png, got.jpeg, got.pdf) == ("<b>", "*m*", "<svg/>", "aGk=", "aGk=", "aGk=")
    assert (got.latex, got.json, got.javascript, got.data, got.text, got.extra) == ("$x$", {"a": 1}, "1", {"c": [1]}, "t", {"application/x-own": "o"})
    assert not got.is_main_result and len(told) == 1


def test_a_chart_is_a_chart(box):
    code = "display({'e2b/chart': {'type': 'pie', 'title': 'T', 'elements': [{'label': 'p', 'angle': 90.0, 'radius': 1.0}]}}, raw=True)"
    chart = box.run_code(code).results[0].chart
    assert type(chart).__name__ == "PieChart" and chart.elements[0].label == "p"


def test_variables_of_one_call(box):
    assert box.run_code("import os; os.environ.get('ONE')", envs={"ONE": "call"}).text == "call"
    assert box.run_code("os.environ.get('ONE', 'gone')").text == "gone"


def test_contexts(box, code_sdk):
    made = box.create_code_context(cwd="/tmp", language="python")
    assert made.cwd == "/tmp" and made.language == "python"
    assert box.run_code("import os; y = 1; os.getcwd()", context=made).text == "/tmp"
    assert box.run_code("y").error.name == "NameError"
    assert made.id in [one.id for one in box.list_code_contexts()]
    box.restart_code_context(made)
    assert box.run_code("y", context=made).error.name == "NameError"
    box.remove_code_context(made)
    assert made.id not in [one.id for one in box.list_code_contexts()]
    with pytest.raises(Exception, match="not found"):
        box.run_code("1", context=made)


def test_languages(box):
    assert "".join(box.run_code("echo $((6 * 7))", language="bash").logs.stdout) == "42\n"
    with pytest.raises(Exception, match="language 'java' has no kernel in this sandbox; there are: python"):
        box.run_code("1", language="java")


def test_a_call_that_takes_too_long_is_interrupted(box):
    with pytest.raises(Exception, match="(?i)time"):
        box.run_code("import time\nwhile True: time.sleep(0.1)", timeout=2)
    assert box.run_code("'free'").text == "free"


def test_files_of_commands_and_of_code_are_the_same(box):
    box.run_code("open('/home/user/of-code', 'w').write('c')")
    assert box.command("cat /home/user/of-code && whoami") == "cuser\n"
    box.command("echo -n d > /home/user/of-command")
    assert box.run_code("open('/home/user/of-command').read()").text == "d"


def test_variables_of_create_reach_the_kernel(daemon, make):
    """From the pool too: its kernel runs, and is told; and whatever commands start has them."""
    with daemon.client() as client:
        ready = set(until(lambda: len(found := ready_members(client)) == WARM and found, "the pool isn't filled"))
    box = make(envs={"BORN": "with 'two'\nlines"})
    assert box.sandbox.sandbox_id in ready
    assert "".join(box.run_code("import os; print(os.environ['BORN'], end='')").logs.stdout) == "with 'two'\nlines"
    assert box.command("echo -n \"$BORN\"") == "with 'two'\nlines"
    assert "".join(box.run_code("echo \"$BORN\"", language="bash").logs.stdout) == "with 'two'\nlines\n"


def test_a_ready_one_answers_at_once(daemon, make):
    """Nothing is waited for between create and the first answer; bench_run_code.py has how long it takes (within 1 s)."""
    with daemon.client() as client:
        ready = set(until(lambda: len(found := ready_members(client)) == WARM and found, "the pool isn't filled"))
    box = make()
    assert box.sandbox.sandbox_id in ready and box.run_code("6 * 7").text == "42"


@ALL
@pytest.mark.parametrize("language, code, stdout, text", [
    ("javascript", "const a = [1, 2]; console.log(a.length); a[1] * 21", "2\n", "42"),
    ("typescript", "const n: number = 6; n * 7", "", "42"),
    ("r", "cat('out\\n'); x <- c(1, 2); sum(x) * 14", "out\n", "[1] 42"),
    ("bash", "echo $((6 * 7))", "42\n", None),
    ("python", "print('out'); 6 * 7", "out\n", "42")])
def test_every_kernel(make, language, code, stdout, text):
    got = make().run_code(code, language=language)
    assert got.error is None, got.error
    # What R's kernel shows is no main result: it says so of nothing.
    shown = got.results[-1].text if got.results else None
    assert "".join(got.logs.stdout) == stdout and (shown and shown.strip()) == text


@ALL
@pytest.mark.parametrize("language, code, name", [
    ("javascript", "null.x", "TypeError"), ("r", "stop('bad')", "ERROR"), ("python", "1 / 0", "ZeroDivisionError")])
def test_errors_of_every_kernel(make, language, code, name):
    error = make().run_code(code, language=language).error
    assert error is not None and name in error.name + error.value + error.traceback


@ALL
def test_figures_and_tables(make):
    box = make()
    got = box.run_code("import matplotlib.pyplot as plt\nplt.plot([0, 1], [2, 3], label='l')\nplt.title('T')\nplt.show()").results[0]
    assert base64.b64decode(got.png).startswith(b"\x89PNG") and type(got.chart).__name__ == "LineChart" and got.chart.title == "T"
    got = box.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    assert got.results[0].data == {"a": [1, 2]} and "<table" in got.results[0].html
    got = box.run_code("import numpy, scipy, seaborn, requests, openpyxl, bs4, lxml, PIL, yaml; 'all'")
    assert got.text == "all", got.error


@pytest.fixture(scope="module")
def js_cases(code_env):
    return run(JS_SDK, JS_FILE, code_env)


@pytest.mark.parametrize("name", CASE.findall((HERE / JS_FILE).read_text()))
def test_js_run_code(js_cases, name):
    results, stderr = js_cases
    assert name in results, f"node ended before this case: {stderr}"
    assert results[name]["ok"], results[name]["error"]
