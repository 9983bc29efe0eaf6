"""/contexts, interrupts, clients that go away, kernels that die."""

import os
import time

import pytest

from interpreter_service import PATIENCE_S, Service


def contexts(service):
    return {one["id"]: one for one in service.call("GET", "/contexts")[1]}


def test_made_listed_removed(service, tmp_path):
    status, made = service.call("POST", "/contexts", {"language": "Python3", "cwd": str(tmp_path)})
    assert status == 200 and made == {"id": made["id"], "language": "python", "cwd": str(tmp_path)}
    assert contexts(service)[made["id"]] == made
    assert service.run("import os; os.getcwd()", context_id=made["id"]).text == str(tmp_path)
    assert service.call("DELETE", f"/contexts/{made['id']}") == (200, None)
    assert made["id"] not in contexts(service)
    assert service.call("POST", "/execute", {"code": "1", "context_id": made["id"]})[0] == 404
    assert service.call("DELETE", f"/contexts/{made['id']}")[0] == 404


def test_the_default_context_is_there_and_at_home(service):
    assert "python" in {one["language"] for one in contexts(service).values()}
    assert service.run("import os; os.getcwd()").text == str(service.home)
    assert service.call("GET", "/health") == (200, "OK")


@pytest.mark.parametrize("body,said", [
    ({"cwd": "/not/there"}, "'/not/there', which isn't a folder"), ({"cwd": "tmp"}, "an absolute path is right"), ({"cwd": 1}, "cwd is 1; a text is right"),
    ({"language": "latin"}, "language 'latin' has no kernel in this sandbox; there are: python"),
])
def test_contexts_that_cant_be(service, body, said):
    before = len(contexts(service))
    status, text = service.call("POST", "/contexts", body)
    assert status == 400 and said in text and len(contexts(service)) == before


def test_restart_forgets(service, fresh):
    service.run("kept = 1", **fresh)
    assert service.call("POST", f"/contexts/{fresh['context_id']}/restart") == (200, None)
    got = service.run("kept", **fresh)
    assert got.error["name"] == "NameError" and got.count == 1


def test_restart_ends_what_runs_and_what_waits(service, fresh):
    running = service.stream("print('on')\nimport time\ntime.sleep(600)", **fresh)
    running.until("stdout")
    waiting = service.stream("1", **fresh)
    assert service.call("POST", f"/contexts/{fresh['context_id']}/restart")[0] == 200
    for stream in (running, waiting):
        events = list(stream)
        assert "restarted" in events[0]["value"] and events[-1]["type"] == "end_of_execution"
    assert service.run("'fresh'", **fresh).text == "fresh"


def test_an_interrupt_is_an_error_of_the_code(service, fresh):
    stream = service.stream("print('on')\nimport time\ntime.sleep(600)", **fresh)
    stream.until("stdout")
    path = f"/contexts/{fresh['context_id']}/interrupt"
    assert service.call("POST", path) == (200, {"interrupted": True})
    assert stream.until("error")["name"] == "KeyboardInterrupt"
    assert [one["type"] for one in stream] == ["end_of_execution"]
    assert service.call("POST", path) == (200, {"interrupted": False})


def test_a_client_that_goes_away_interrupts_its_code(service, fresh):
    service.run("ended = False", **fresh)
    stream = service.stream("print('on')\nimport time\ntry: time.sleep(600)\nfinally: ended = True", **fresh)
    stream.until("stdout")
    stream.close()
    assert service.run("ended", **fresh).text == "True"


def test_a_client_that_goes_away_while_it_waits_never_runs(service, fresh):
    service.run("ran = []", **fresh)
    (service.home / "gate").unlink(missing_ok=True)
    first = service.stream("print('on')\nimport os, time\nwhile not os.path.exists('gate'): time.sleep(0.01)", **fresh)
    first.until("stdout")
    waiting = service.stream("ran.append(1)", **fresh)
    behind = service.stream("ran", **fresh)
    waiting.close()
    service.call("GET", "/health")  # the close arrives before the gate opens
    time.sleep(0.2)
    (service.home / "gate").touch()
    assert behind.until("result")["text"] == "[]"


def test_code_that_swallows_interrupts_loses_its_kernel(service, fresh):
    code = "print('on')\nimport time\nwhile True:\n  try: time.sleep(600)\n  except BaseException: pass"
    stream = service.stream(code, **fresh)
    stream.until("stdout")
    stream.close()
    got = service.run("'free'", **fresh)
    assert got.text == "free" and "didn't end when it was interrupted" in got.stderr and got.count == 1
    assert service.run("1", **fresh).stderr == ""


def test_a_kernel_that_dies_says_so_and_comes_back(service, fresh):
    got = service.run("print('last words', flush=True)\nimport os, time\ntime.sleep(0.5)\nos.kill(os.getpid(), 9)", **fresh)
    assert got.error["name"] == "KernelDied" and "signal 9 (SIGKILL)" in got.error["value"] and got.stdout == "last words\n"
    assert service.run("'back'", **fresh).text == "back"
    got = service.run("import os\nos._exit(7)", **fresh)
    assert "exit status 7" in got.error["value"]
    assert service.run("'back again'", **fresh).text == "back again"


def test_a_kernel_that_dies_between_executions_is_told_of(service, fresh):
    pid = int(service.run("import os; os.getpid()", **fresh).text)
    os.kill(pid, 9)
    deadline = time.monotonic() + PATIENCE_S
    while os.path.exists(f"/proc/{pid}/exe") and time.monotonic() < deadline:
        time.sleep(0.01)
    got = service.run("'on'", **fresh)
    while got.text != "on" and time.monotonic() < deadline:  # a request that met the dying kernel hears that it died
        assert got.error["name"] == "KernelDied"
        got = service.run("'on'", **fresh)
    assert got.text == "on"


def test_children_end_with_their_context(service):
    made = service.context()
    pid = int(service.run("import subprocess; subprocess.Popen(['sleep', '600']).pid", context_id=made).text)
    service.call("DELETE", f"/contexts/{made}")
    deadline = time.monotonic() + PATIENCE_S
    while os.path.exists(f"/proc/{pid}/exe"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_environment_of_all_contexts(tmp_path):
    one = Service(tmp_path)
    try:
        own = {"context_id": one.context()}
        assert one.call("POST", "/environment", {"env_vars": {"LATE": "here"}}) == (200, None)
        for where in ({}, own, {"context_id": one.context()}):
            assert one.run("import os; os.environ['LATE'], os.environ['FROM_THE_START']", **where).text == "('here', 'yes')"
        assert one.call("POST", "/environment", {"env_vars": {"1": ""}})[0] == 400
    finally:
        kernels = [int(one.run("import os; os.getpid()", **where).text) for where in ({}, own)]
        assert one.stop() == 0
    assert not any(os.path.exists(f"/proc/{pid}/exe") for pid in kernels)
