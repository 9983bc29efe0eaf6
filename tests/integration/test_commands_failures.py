"""What can't be started, and what is asked wrongly, is a typed error before any stream starts."""

import pytest

from http_api import LONG, ApiError, at_once, descriptors, shim_of


def refused(call, *args, **body):
    with pytest.raises(ApiError) as caught:
        call(*args, **body)
    return caught.value


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("body, status, code, reason", [
    ({"argv": ["/no/such"]}, 404, "not_found", "no_such_program"),
    ({"argv": ["no-such-name"]}, 404, "not_found", "no_such_program"),
    ({"argv": ["true"], "env": {"PATH": "/nowhere"}}, 404, "not_found", "no_such_program"),
    ({"argv": ["/etc/passwd"]}, 403, "permission_denied", "not_executable"),
    ({"argv": ["/etc"]}, 403, "permission_denied", "not_executable"),
    ({"argv": ["/etc/passwd/x"]}, 404, "not_found", "no_such_program"),
    ({"argv": ["true"], "cwd": "/no/such/folder"}, 404, "not_found", "no_such_cwd"),
    ({"argv": ["true"], "cwd": "/etc/passwd"}, 404, "not_found", "no_such_cwd"),
    ({"argv": ["true"], "user": "nosuchuser"}, 404, "not_found", "no_such_user"),
    ({"argv": ["true"], "user": "root:nosuchgroup"}, 404, "not_found", "no_such_group"),
    ({"argv": ["true"], "groups": ["nosuchgroup"]}, 404, "not_found", "no_such_group"),
])
def test_spawn_failures(box, body, status, code, reason, wait):
    error = refused(box.start, wait=wait, **body)
    assert (error.status, error.code, error.details["reason"]) == (status, code, reason), error.message
    named = body.get("cwd") or body.get("user", "").split(":")[-1] or "".join(body.get("groups", [])) or body["argv"][0]
    assert named in error.message and error.error["cause"] == "agent"


def test_folder_that_may_not_be_entered(box):
    error = refused(box.start, argv=["true"], cwd="/root", user="user")
    assert error.code == "permission_denied" and "/root" in error.message


def test_arguments_too_long(box):
    error = refused(box.start, argv=["true", "x" * 200_000])
    assert error.code == "invalid_argument" and "128 KiB" in error.message


def test_environment_of_many_variables(box):
    """What fits arrives, what doesn't is said at once, and neither keeps other commands waiting."""
    fits = {f"V{n}": "x" * 200 for n in range(4_000)}
    assert box.run("env | grep -c ^V", env=fits)["stdout"] == "4000\n"
    error = refused(box.start, argv=["true"], env={f"V{n}": "x" * 200 for n in range(20_000)})
    assert error.code == "invalid_argument" and "too long for execve" in error.message


@pytest.mark.parametrize("body, said", [
    ({"user": "99999"}, "user 99999"), ({"user": "root:99999"}, "99999"), ({"groups": ["5", "99999"]}, "0, 5, 99999"),
    ({"groups": [str(n) for n in range(70_000)]}, "at most 65536")])
def test_ids_that_the_sandbox_has_not(box, body, said):
    error = refused(box.start, argv=["true"], **body)
    assert error.code == "invalid_argument" and said in error.message, error.message


def test_a_body_over_its_limit_says_where_the_rest_belongs(box):
    error = refused(box.start, argv=["cat"], stdin_data="x" * (17 << 20))
    assert error.code == "resource_exhausted" and "16777216" in error.message and "stdin" in error.message


def test_process_limit(make_box):
    """The sandbox's own limit, named; and what runs already goes on."""
    box = make_box(pids=8)
    sleepers = []
    with pytest.raises(ApiError) as caught:
        for _ in range(64):
            sleepers.append(box.start(argv=["sleep", "1000"])["id"])
    error = caught.value
    assert (error.status, error.code, error.error["cause"]) == (429, "resource_exhausted", "limit")
    assert error.details["cause_detail"] == "pids" and 3 <= len(sleepers) <= 8
    assert all(box.command(command)["state"] == "running" for command in sleepers)
    box.forget(sleepers.pop())
    assert box.run(argv=["true"])["exit"]["code"] == 0


def test_what_the_limits_did_is_told_beside_any_cause(make_box):
    box = make_box(pids=8)
    refused_some = box.run(shell="sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done' 2>/dev/null; exit 0")["exit"]
    assert (refused_some["code"], refused_some["cause"]) == (0, "exit") and refused_some["forks_refused"] >= 1
    box = make_box(memory="32MiB")
    eater = """awk 'BEGIN { s = "x"; while (1) s = s s }'"""
    killed_one = box.run(shell=eater + "; exit 0")["exit"]
    assert (killed_one["code"], killed_one["cause"]) == (0, "exit") and killed_one["oom_kills"] >= 1
    named = box.run(shell="exec " + eater)["exit"]
    assert (named["cause"], named["cause_detail"]) == ("oom", "memory"), named
    assert not {"oom_kills", "forks_refused", "cause_detail"} & set(box.run(argv=["true"])["exit"])


def test_failed_starts_leave_no_record(box):
    before = {command["id"] for command in box.commands()}
    refused(box.start, argv=["/no/such"], op="failed-op")
    assert {command["id"] for command in box.commands()} == before
    assert box.start(argv=["true"], op="failed-op")["argv"] == ["true"]


def test_failing_spawns_leave_descriptors_flat(make_box, harenad):
    count = 10_000 if LONG else 600
    box = make_box(pids=512)
    pids = [harenad.process.pid, shim_of(box.id)]

    def fail(n):
        body = [{"argv": ["/no/such"]}, {"argv": ["true"], "cwd": "/no"}, {"argv": ["true"], "user": "nobodyhere"},
                {"argv": ["/etc/passwd"]}, {"argv": ["sh"], "pty": {}, "cwd": "/no"}][n % 5]
        return refused(box.start, wait=n % 2 == 0, **body).status

    at_once(100, fail, workers=8)
    before = [descriptors(pid) for pid in pids]
    assert set(at_once(count, fail, workers=8)) == {403, 404}
    after = [descriptors(pid) for pid in pids]
    # Kept connections of eight clients and between the two may come and go; nothing grows with the count.
    assert all(now <= then + 24 for then, now in zip(before, after)), (before, after)
    assert box.commands() == [] and box.run("echo fine")["stdout"] == "fine\n"


@pytest.mark.parametrize("body, said", [
    ({}, "argv or a shell"),
    ({"argv": ["a"], "shell": "b"}, "argv or a shell"),
    ({"argv": [""]}, "argv[0]"),
    ({"argv": "ls"}, "'argv'"),
    ({"argv": ["true", 5]}, "argv"),
    ({"shel": "true"}, "'shell'"),
    ({"shell": "true", "timeout": 5}, "'timeout_ms'"),
    ({"shell": "true", "timeout_ms": -1}, "'timeout_ms'"),
    ({"shell": "true", "timeout_ms": "5"}, "'timeout_ms'"),
    ({"shell": "true", "stdin": "file"}, "'pipe'"),
    ({"shell": "true", "on_output_limit": "stop"}, "'continue' or 'kill'"),
    ({"shell": "true", "on_disconnect": "die"}, "'keep' or 'kill'"),
    ({"shell": "true", "output_limit_bytes": -5}, "'output_limit_bytes'"),
    ({"shell": "true", "env": {"A=B": "c"}}, "A=B"),
    ({"shell": "true", "env": {"": "c"}}, "env name"),
    ({"shell": "true", "env": {"A": "b\0c"}}, "NUL"),
    ({"shell": "tr\0ue"}, "NUL"),
    ({"shell": "true", "cwd": "relative"}, "relative"),
    ({"shell": "true", "env": ["A=b"]}, "'env'"),
    ({"shell": "true", "pty": True}, "'pty'"),
    ({"shell": "true", "pty": {"rows": 0}}, "rows"),
    ({"shell": "true", "pty": {"row": 1}}, "'rows'"),
    ({"shell": "true", "op": "x" * 129}, "128"),
    ({"shell": "true", "wait": "yes"}, "'wait'"),
    ({"shell": "true", "attach": 1}, "'attach'"),
    ({"shell": "true", "attach": True, "wait": True}, "'wait' and 'attach'"),
    ({"shell": "true", "stdin_data": "a", "stdin_data_b64": "YQ=="}, "not both"),
    ({"shell": "true", "stdin_data_b64": "%%"}, "stdin_data_b64"),
    ([1], "object"),
])
def test_bad_start_bodies(box, body, said):
    error = refused(box.api.call, "POST", box.path + "/commands", body)
    assert (error.status, error.code) == (400, "invalid_argument") and said in error.message, error.message


def test_body_that_is_no_json(box):
    error = refused(box.api.call, "POST", box.path + "/commands", b'{"shell": "tru')
    assert error.code == "invalid_argument" and "JSON" in error.message


@pytest.mark.parametrize("body, said", [
    ({"signal": "TREMM"}, "TREMM"), ({"signal": "SIGKIL"}, "'KILL'"), ({"signal": "0"}, "'0'"), ({"signal": "65"}, "'65'"),
    ({"signal": "-9"}, "'-9'"), ({"signal": 9}, "'signal'"), ({"signal": "kill"}, "'KILL'"), ({"target": "all"}, "'process', 'group' or 'tree'"),
    ({"signa": "KILL"}, "'signal'"), ({"signal": ""}, "signal")])
def test_bad_signals(box, body, said):
    command = box.start("sleep 1000")["id"]
    error = refused(box.signal, command, **body)
    assert (error.status, error.code) == (400, "invalid_argument") and said in error.message, error.message
    assert box.command(command)["state"] == "running"
    box.forget(command)


@pytest.mark.parametrize("body, said", [
    ({}, "required"), ({"rows": 1}, "required"), ({"rows": 0, "cols": 5}, "rows"), ({"rows": 65536, "cols": 5}, "rows"),
    ({"rows": "1", "cols": 5}, "rows"), ({"row": 1, "cols": 5}, "'rows'")])
def test_bad_sizes(box, body, said):
    command = box.start("sleep 1000", pty={})["id"]
    error = refused(box.resize, command, **body)
    assert error.code == "invalid_argument" and said in error.message, error.message
    box.forget(command)


@pytest.mark.parametrize("query, code, said", [
    ("stdout_offset=-1", "invalid_argument", "stdout_offset"), ("stderr_offset=x", "invalid_argument", "stderr_offset"),
    ("stdout_ofset=1", "invalid_argument", "stdout_offset"), ("stdout_offset=0&stdout_offset=1", "invalid_argument", "more than once"), ("follow=maybe", "invalid_argument", "true or false"),
    ("stdout_offset=99", "out_of_range", "99"), ("stderr_offset=99999999999999999999", "invalid_argument", "stderr_offset")])
def test_bad_output_queries(box, query, code, said):
    command = box.run("echo hi")["id"]
    error = refused(box.api.call, "GET", f"{box.path}/commands/{command}/output?{query}")
    assert error.code == code and said in error.message, error.message


@pytest.mark.parametrize("query, said", [
    ("offset=-1", "offset"), ("offse=1", "'offset'"), ("eof=perhaps", "true or false")])
def test_bad_stdin_queries(box, query, said):
    command = box.start("sleep 1000", stdin="pipe")["id"]
    error = refused(box.api.call, "POST", f"{box.path}/commands/{command}/stdin?{query}", b"x")
    assert error.code == "invalid_argument" and said in error.message, error.message
    assert box.command(command)["stdin_bytes"] == 0
    box.forget(command)


@pytest.mark.parametrize("method, rest", [
    ("GET", ""), ("DELETE", ""), ("GET", "/output"), ("POST", "/stdin"), ("POST", "/signal"), ("POST", "/resize?")])
@pytest.mark.parametrize("command", ["c999999", "nonsense", "c01", "c1%2Fx"])
def test_unknown_commands(box, method, rest, command):
    body = {"rows": 1, "cols": 1} if rest == "/resize?" else {} if rest == "/signal" else None
    error = refused(box.api.call, method, f"{box.path}/commands/{command}{rest.rstrip('?')}", body)
    assert (error.status, error.code) == (404, "not_found") and "no such command" in error.message


@pytest.mark.parametrize("method, rest", [("GET", ""), ("GET", "/c1"), ("DELETE", "/c1"), ("POST", ""), ("POST", "/c1/signal"), ("POST", "/c1/resize")])
def test_unknown_query_keys(box, method, rest):
    error = refused(box.api.call, method, f"{box.path}/commands{rest}?wiat=1", None if method in ("GET", "DELETE") else {})
    assert error.code == "invalid_argument" and "wiat" in error.message, error.message


def test_op_with_other_arguments(box):
    first = box.start("echo one", op="same")
    assert box.start("echo one", op="same")["id"] == first["id"]
    assert box.start("echo one", op="same", wait=True)["stdout"] == "one\n"
    error = refused(box.start, "echo two", op="same")
    assert (error.status, error.code) == (409, "already_exists") and first["id"] in error.message
    box.forget(first["id"])
    assert refused(box.start, "echo one", op="same").code == "failed_precondition"
