"""/execute: events, their order, errors, variables, the queue."""

import json
import threading

import pytest


def test_a_value_and_its_events(service, fresh):
    got = service.run("6 * 7", **fresh)
    assert got.types == ["number_of_executions", "result", "end_of_execution"]
    assert got.text == "42" and got.count == 1 and service.run("0", **fresh).count == 2


def test_names_stay_in_a_context_and_nowhere_else(service, fresh):
    service.run("kept = 'here'", **fresh)
    assert service.run("kept", **fresh).text == "here"
    assert service.run("kept").error["name"] == "NameError"


def test_output_keeps_its_order_between_the_streams(service, fresh):
    got = service.run("import sys\nfor i in range(50):\n  print(i)\n  print(-i, file=sys.stderr)", **fresh)
    order = [(one["type"], line) for one in got.events if "text" in one for line in one["text"].split()]
    assert order == [pair for i in range(50) for pair in (("stdout", str(i)), ("stderr", str(-i)))]
    assert all(one["timestamp"] for one in got.of("stdout") + got.of("stderr"))


def test_output_comes_while_the_code_runs(service, fresh):
    (service.home / "go").unlink(missing_ok=True)
    stream = service.stream("import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('last')", **fresh)
    assert stream.until("stdout")["text"] == "first\n"
    (service.home / "go").touch()
    assert [one.get("text") for one in stream] == ["last\n", None]


def test_output_of_children_and_of_the_shell(service, fresh):
    got = service.run("import os\nos.system('echo child')\n!echo shell", **fresh)
    assert "child" in got.stdout and "shell" in got.stdout


def test_errors_have_name_value_and_traceback(service, fresh):
    got = service.run("def broken():\n  return 1 / 0\nprint('before')\nbroken()", **fresh)
    assert got.types == ["number_of_executions", "stdout", "error", "end_of_execution"]
    assert got.error["name"] == "ZeroDivisionError" and got.error["value"] == "division by zero"
    assert isinstance(got.error["traceback"], str) and "broken" in got.error["traceback"] and "\n" in got.error["traceback"]
    assert service.run("1", **fresh).text == "1"


@pytest.mark.parametrize("code,name", [
    ("def", "SyntaxError"), ("raise SystemExit(3)", "SystemExit"), ("input('?')", "StdinNotImplementedError"), ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("class Odd(Exception): pass\nraise Odd('\\ud800')", "Odd"),
])
def test_errors_of_every_kind_leave_the_context_whole(service, fresh, code, name):
    assert service.run(code, **fresh).error["name"] == name
    assert service.run("'still here'", **fresh).text == "still here"


@pytest.mark.parametrize("code", ["", "   \n", "# a comment", "pass"])
def test_code_without_a_value(service, fresh, code):
    got = service.run(code, **fresh)
    assert got.results == [] and got.error is None and got.types[-1] == "end_of_execution"


def test_top_level_await(service, fresh):
    assert service.run("import asyncio\nawait asyncio.sleep(0, 'awaited')", **fresh).text == "awaited"


def test_variables_last_for_one_execution(service, fresh):
    odd = "a\nb 'c' \"d\" \\ \u00e9 \U0001f600 $HOME `x`"
    code = "import os, json\nprint(json.dumps([os.environ.get('ODD'), os.environ.get('FROM_THE_START')]))"
    got = service.run(code, env_vars={"ODD": odd, "FROM_THE_START": "no"}, **fresh)
    assert json.loads(got.stdout) == [odd, "no"]
    assert json.loads(service.run(code, **fresh).stdout) == [None, "yes"]


def test_variables_go_after_an_error_too(service, fresh):
    assert service.run("1 / 0", env_vars={"GONE": "1"}, **fresh).error
    assert service.run("import os\n'GONE' in os.environ", **fresh).text == "False"


def test_variables_leave_no_trace(service, fresh):
    service.run("1", env_vars={"A": "1"}, **fresh)
    got = service.run("[n for n in dir() if not n.startswith('_') and n not in ('In', 'Out', 'exit', 'quit', 'get_ipython', 'open')]", **fresh)
    assert got.text == "[]" and got.count == 2


def test_one_context_runs_one_after_the_other(service, fresh):
    service.run("import time\nspans = []", **fresh)
    code = "begin = time.monotonic(); time.sleep(0.05); spans.append((begin, time.monotonic()))"
    threads = [threading.Thread(target=service.run, args=(code,), kwargs=fresh) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    got = service.run("len(spans), all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))", **fresh)
    assert got.text == "(6, True)"


def test_contexts_dont_wait_for_each_other(service, fresh):
    other = {"context_id": service.context()}
    (service.home / "other").unlink(missing_ok=True)
    stream = service.stream("import os, time\nwhile not os.path.exists('other'): time.sleep(0.01)\n'met'", **fresh)
    assert service.run("open('other', 'w').close(); 'went on'", **other).text == "went on"
    assert stream.until("result")["text"] == "met"
    service.call("DELETE", f"/contexts/{other['context_id']}")


def test_silence_is_kept_alive(service, fresh):
    (service.home / "alive").unlink(missing_ok=True)
    stream = service.stream("import os, time\nwhile not os.path.exists('alive'): time.sleep(0.01)", **fresh)
    stream.until("keepalive")
    (service.home / "alive").touch()
    assert [one["type"] for one in stream][-1] == "end_of_execution"


def test_code_of_a_megabyte(service, fresh):
    text = "x" * (1 << 20)
    assert service.run(f"len('{text}')", **fresh).text == str(1 << 20)


@pytest.mark.parametrize("body,status,said", [
    ({}, 400, "code is missing"),
    ({"code": 7}, 400, "code is 7; a text is right"),
    ([], 400, "a JSON object is right"),
    (b"{", 400, "isn't JSON"),
    ({"code": "1", "language": "cobol"}, 400, "there are: python"),
    ({"code": "1", "context_id": "nobody"}, 404, "Context nobody not found"),
    ({"code": "1", "context_id": "python", "language": "python"}, 400, "Only one of context_id or language"),
    ({"code": "1", "env_vars": []}, 400, "env_vars is []"),
    ({"code": "1", "env_vars": {"A": 1}}, 400, "env_vars.A is 1; a text is right"),
    ({"code": "1", "env_vars": {"A=B": "x"}}, 400, "'A=B'"),
    ({"code": "1", "env_vars": {"A": "a\0b"}}, 400, "zero"),
])
def test_bad_requests_are_named(service, body, status, said):
    got, text = service.call("POST", "/execute", body)
    assert got == status and said in text


def test_nulls_and_unknown_fields_are_as_good_as_absent(service):
    assert service.run("1", context_id=None, language=None, env_vars=None, tomorrow=True).text == "1"


@pytest.mark.parametrize("method,path,status", [("GET", "/execute", 405), ("GET", "/nothing", 404), ("PUT", "/contexts", 405), ("GET", "/contexts/x/y", 404)])
def test_routes_that_there_arent(service, method, path, status):
    assert service.call(method, path)[0] == status
