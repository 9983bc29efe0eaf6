"""Model Context Protocol, written as the specification writes it: revisions 2025-06-18 and 2025-11-25 (sessions), 2026-07-28 (none)."""

import http.client
import json
import threading
import urllib.parse
import urllib.request

import pytest

BOTH = "application/json, text/event-stream"
MODERN = "2026-07-28"


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode()

    @property
    def messages(self):
        """Of an answer as JSON or as events."""
        if self.headers.get("Content-Type", "").startswith("text/event-stream"):
            return [json.loads(line[6:]) for line in self.text.splitlines() if line.startswith("data: ")]
        return [json.loads(self.text)] if self.text else []

    @property
    def last(self):
        return self.messages[-1]


class Wire:
    def __init__(self, mcp):
        self.mcp = mcp
        self.where = urllib.parse.urlsplit(mcp.url)
        self.ids = 0

    def open(self, method="POST", body=None, headers=None, token=True, path=None):
        connection = http.client.HTTPConnection(self.where.hostname, self.where.port, timeout=60)
        sent = {"Content-Type": "application/json", "Accept": BOTH, **({"Authorization": f"Bearer {self.mcp.token}"} if token is True else {})}
        sent.update(headers or {})
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, path or self.where.path, data, {key: value for key, value in sent.items() if value is not None})
        return connection

    def __call__(self, method="POST", body=None, headers=None, token=True, path=None):
        connection = self.open(method, body, headers, token, path)
        try:
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def message(self, method, params=None, **more):
        self.ids += 1
        return {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params or {}, **more}

    def begin(self, revision="2025-11-25"):
        got = self(body=self.message("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
        assert got.status == 200, got.text
        return got.headers["Mcp-Session-Id"], got.last["result"]

    def modern(self, method, params=None, headers=None, version=MODERN):
        params = {**(params or {}), "_meta": {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}}
        sent = {"MCP-Protocol-Version": version, "Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {}), **(headers or {})}
        return self(body=self.message(method, params), headers=sent)

    def tool(self, name, **arguments):
        got = self.modern("tools/call", {"name": name, "arguments": arguments})
        assert got.status == 200, got.text
        return got.last["result"]


@pytest.fixture
def wire(mcp):
    return Wire(mcp)


@pytest.fixture(scope="module")
def box(mcp):
    made = Wire(mcp).tool("create", memory="64MiB")["structuredContent"]["sandbox_id"]
    yield made
    Wire(mcp).tool("kill", sandbox_id=made)


@pytest.mark.parametrize("asked, answered", [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2024-11-05", "2025-11-25"), ("new", "2025-11-25")])
def test_initialize_negotiates(wire, asked, answered):
    session, result = wire.begin(asked)
    assert result["protocolVersion"] == answered and result["serverInfo"]["name"] == "harena" and result["capabilities"] == {"tools": {"listChanged": False}}
    assert all(0x21 <= ord(one) <= 0x7E for one in session)


def test_initialize_without_a_revision(wire):
    assert wire(body=wire.message("initialize")).last["error"]["code"] == -32602


def test_a_session(wire):
    session, _ = wire.begin()
    with_it = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    assert wire(body={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=with_it).status == 202
    assert wire(body=wire.message("ping"), headers=with_it).last["result"] == {}
    assert len(wire(body=wire.message("tools/list"), headers=with_it).last["result"]["tools"]) == 6
    assert wire(body=wire.message("tools/list"), headers={"Mcp-Session-Id": session}).status == 200, "the version was negotiated"
    assert wire(body=wire.message("tools/list")).status == 400
    assert wire(body=wire.message("tools/list"), headers={"Mcp-Session-Id": session + "0"}).status == 404
    assert wire(body=wire.message("tools/list"), headers={**with_it, "MCP-Protocol-Version": "2024-11-05"}).status == 400
    assert wire("DELETE", headers=with_it).status == 204
    assert wire(body=wire.message("ping"), headers=with_it).status == 404
    assert wire("DELETE", headers=with_it).status == 404


def test_a_session_is_its_tokens(wire, mcp):
    session, _ = wire.begin()
    request = urllib.request.Request(mcp.daemon.url + "/v1/tokens", json.dumps({"name": "o", "project": "root", "permissions": ["sandbox_read"]}).encode(),
                                     {"Authorization": f"Bearer {mcp.token}"}, method="POST")
    other = json.loads(urllib.request.urlopen(request).read())["secret"]
    got = wire(body=wire.message("ping"), headers={"Mcp-Session-Id": session, "Authorization": f"Bearer {other}"}, token=None)
    assert got.status == 404


def test_a_session_outlives_the_daemon(wire, mcp):
    session, _ = wire.begin()
    mcp.daemon.kill()
    port = wire.where.port
    mcp.daemon.restart(lambda config: config["plugins"]["mcp"]["config"].update(listen=f"127.0.0.1:{port}"))
    assert wire(body=wire.message("ping"), headers={"Mcp-Session-Id": session}).last["result"] == {}


@pytest.mark.parametrize("headers, token, status", [
    ({}, None, 401), ({"Authorization": "Bearer nobody"}, None, 401), ({"Authorization": "Basic x"}, None, 401),
    ({"Origin": "https://evil.example"}, True, 403), ({"Origin": "null"}, True, 403),
    ({"Accept": "application/json"}, True, 406), ({"Accept": None}, True, 406), ({"Content-Type": "text/plain"}, True, 415)])
def test_what_http_asks_for(wire, headers, token, status):
    got = wire(body=wire.message("initialize", {"protocolVersion": "2025-11-25"}), headers=headers, token=token)
    assert got.status == status and "error" in json.loads(got.text)
    assert (got.headers.get("WWW-Authenticate") == "Bearer") == (status == 401)


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:80", "https://app.example.org"])
def test_origins_that_may_call(wire, origin):
    assert wire(body=wire.message("initialize", {"protocolVersion": "2025-11-25"}), headers={"Origin": origin}).status == 200


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_nothing_is_sent_unasked(wire, method):
    got = wire(method)
    assert got.status == 405 and got.headers["Allow"] == "POST, DELETE"


def test_other_paths(wire):
    assert wire("POST", {}, path="/").status == 404


@pytest.mark.parametrize("body, code", [("{", -32700), ("[]", -32600), ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
                                        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1,"method":"x","params":[]}', -32600)])
def test_bodies_that_are_no_message(wire, body, code):
    got = wire(body=body)
    assert got.status == 400 and got.last["error"]["code"] == code


def test_discover(wire):
    result = wire.modern("server/discover").last["result"]
    assert result["supportedVersions"] == ["2025-06-18", "2025-11-25", MODERN] and result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "harena" and {"ttlMs", "cacheScope", "capabilities"} <= set(result)


@pytest.mark.parametrize("method, status", [("ping", 404), ("resources/list", 404), ("initialize2", 404)])
def test_methods_that_arent_there(wire, method, status):
    got = wire.modern(method)
    assert got.status == status and got.last["error"]["code"] == -32601
    session, _ = wire.begin()
    if method != "ping":
        got = wire(body=wire.message(method), headers={"Mcp-Session-Id": session})
        assert got.status == 200 and got.last["error"]["code"] == -32601


@pytest.mark.parametrize("headers", [{"Mcp-Method": "tools/list"}, {"Mcp-Method": None}, {"Mcp-Name": "read"}, {"Mcp-Name": None}, {"MCP-Protocol-Version": "2025-11-25"},
                                     {"Mcp-Name": "=?base64?***?="}])
def test_headers_that_disagree(wire, headers):
    got = wire.modern("tools/call", {"name": "list", "arguments": {}}, headers=headers)
    assert got.status == 400 and got.last["error"]["code"] == -32020, got.text


def test_names_in_base64(wire):
    assert wire.modern("tools/call", {"name": "list", "arguments": {}}, headers={"Mcp-Name": "=?base64?bGlzdA==?="}).status == 200


def test_a_revision_that_isnt_there(wire):
    got = wire.modern("tools/list", version="2027-01-01")
    assert got.status == 400 and got.last["error"]["code"] == -32022
    assert got.last["error"]["data"] == {"supported": ["2025-06-18", "2025-11-25", MODERN], "requested": "2027-01-01"}


def test_unknown_tools(wire):
    got = wire.modern("tools/call", {"name": "nope", "arguments": {}})
    assert got.status == 400 and got.last["error"] == {"code": -32602, "message": "there is no tool 'nope'; there are: create, run, read, write, list, kill"}


def test_run_answers(wire, box):
    result = wire.tool("run", sandbox_id=box, command="printf out; printf err >&2; exit 3")
    assert result["structuredContent"] | {"duration_ms": 0} == {
        "exit_code": 3, "signal": None, "cause": "exit", "stdout": "out", "stderr": "err", "stdout_truncated": False, "stderr_truncated": False, "duration_ms": 0}
    assert result["content"] == [{"type": "text", "text": "out\n[stderr]\nerr\n[exit code 3]"}] and result["isError"] is False and result["resultType"] == "complete"


@pytest.mark.parametrize("arguments, key, value", [
    ({"argv": ["/bin/sh", "-c", 'echo "$0" "$1"', "a b", "$c"]}, "stdout", "a b $c\n"), ({"command": "pwd", "cwd": "/tmp"}, "stdout", "/tmp\n"),
    ({"command": "echo $X", "env": {"X": "y"}}, "stdout", "y\n"), ({"command": "cat", "stdin": "in"}, "stdout", "in"), ({"command": "kill -9 $$"}, "signal", "KILL"),
    ({"command": "id -un", "user": "user"}, "stdout", "user\n"), ({"command": "printf '\\377'"}, "stdout", "\ufffd"),
    ({"command": "yes | head -c 100000"}, "stdout_truncated", True), ({"command": "exec sleep 100", "timeout_s": 0.2}, "cause", "timeout")])
def test_run_does_what_it_is_given(wire, box, arguments, key, value):
    result = wire.tool("run", sandbox_id=box, **arguments)
    assert result["structuredContent"][key] == value, result
    assert result["isError"] == (value == "timeout") and len(result["structuredContent"]["stdout"]) <= 4096


@pytest.mark.parametrize("name, arguments, says", [
    ("run", {}, "one of command and argv"), ("run", {"command": "a", "argv": ["b"]}, "one of command and argv"), ("run", {"command": ""}, "command"),
    ("run", {"command": "true", "timeout_s": 0}, "timeout_s"), ("run", {"command": "true", "cwd": "/nowhere"}, "/nowhere"),
    ("run", {"argv": ["/no/such"]}, "/no/such"), ("run", {"command": "true", "user": "nobody-here"}, "nobody-here"),
    ("read", {}, "path"), ("read", {"path": "/nowhere"}, "not_found"), ("read", {"path": "/tmp"}, "failed_precondition"), ("read", {"path": "relative"}, "relative"),
    ("write", {"path": "/w"}, "one of text and data_base64"), ("write", {"path": "/w", "data_base64": "*"}, "base64"), ("write", {"path": "/w", "text": "", "mode": "9999"}, "mode"),
    ("list", {"path": "/nowhere"}, "not_found"), ("list", {"limit": 0}, "limit"), ("kill", {"x": 1}, "x isn't known")])
def test_what_is_wrong_is_told_to_the_model(wire, box, name, arguments, says):
    result = wire.tool(name, sandbox_id=box, **arguments)
    assert result["isError"] is True and says in result["content"][0]["text"] and "structuredContent" not in result, result


def test_create_options(wire):
    made = wire.tool("create", cpu=0.5, memory="64MiB", env={"A": "b"}, labels={"l": "v"}, lifetime_s=100)["structuredContent"]
    try:
        assert made["labels"] == {"frontend": "dev.harena.mcp", "l": "v"} and made["image"] == "root/tiny:v1"
        assert wire.tool("run", sandbox_id=made["sandbox_id"], command="echo $A")["structuredContent"]["stdout"] == "b\n"
    finally:
        wire.tool("kill", sandbox_id=made["sandbox_id"])
    for wrong, says in [({"image": "root/none:v1"}, "root/none:v1"), ({"memory": "much"}, "much"), ({"backend": "none"}, "none"), ({"cpu": -1}, "cpu"), ({"project": "root/none"}, "root/none")]:
        result = wire.tool("create", **wrong)
        assert result["isError"] and says in result["content"][0]["text"], result


def test_files_in_parts(wire, box):
    wire.tool("write", sandbox_id=box, path="/long", text="ä" * 4000)
    first = wire.tool("read", sandbox_id=box, path="/long", offset=0, length=4095)["structuredContent"]
    assert (first["size"], first["length"], first["more"], first["encoding"]) == (8000, 4094, True, "utf-8"), "a character isn't cut"
    rest = wire.tool("read", sandbox_id=box, path="/long", offset=4094)["structuredContent"]
    assert first["data"] + rest["data"] == "ä" * 4000 and rest["more"] is False
    end = wire.tool("read", sandbox_id=box, path="/long", offset=8000)["structuredContent"]
    assert (end["data"], end["length"], end["more"]) == ("", 0, False)
    beyond = wire.tool("read", sandbox_id=box, path="/long", offset=8001)
    assert beyond["isError"] and "8000 bytes" in beyond["content"][0]["text"]
    wire.tool("write", sandbox_id=box, path="/empty", text="")
    assert wire.tool("read", sandbox_id=box, path="/empty")["structuredContent"]["size"] == 0


def test_list_pages(wire, box):
    for name in "abc":
        wire.tool("write", sandbox_id=box, path=f"/pages/{name}", text=name)
    first = wire.tool("list", sandbox_id=box, path="/pages", limit=2)["structuredContent"]
    rest = wire.tool("list", sandbox_id=box, path="/pages", limit=2, cursor=first["next_cursor"])["structuredContent"]
    assert [one["path"] for one in first["entries"] + rest["entries"]] == ["/pages/a", "/pages/b", "/pages/c"] and rest["next_cursor"] == ""


def test_progress_comes_as_events(wire, box):
    session, _ = wire.begin()
    body = wire.message("tools/call", {"name": "run", "arguments": {"sandbox_id": box, "command": "echo 1; sleep 0.2; echo 2"}, "_meta": {"progressToken": "p"}})
    got = wire(body=body, headers={"Mcp-Session-Id": session})
    assert got.headers["Content-Type"] == "text/event-stream"
    told = [one["params"] for one in got.messages if one.get("method") == "notifications/progress"]
    assert [one["progress"] for one in told] == [2, 4] and all(one["progressToken"] == "p" for one in told) and told[0]["message"] == "1\n"
    assert got.last["id"] == body["id"] and got.last["result"]["structuredContent"]["stdout"] == "1\n2\n"


def running(wire, box):
    return "sleep 4242" in wire.tool("run", sandbox_id=box, command="cat /proc/[0-9]*/cmdline | tr '\\0' ' '; true")["structuredContent"]["stdout"].replace("cat /proc", "")


def wait_for(condition):
    for _ in range(400):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it never came to be")


def test_a_cancelled_call_has_no_answer_and_ends_its_command(wire, box):
    session, _ = wire.begin()
    with_it = {"Mcp-Session-Id": session}
    body = wire.message("tools/call", {"name": "run", "arguments": {"sandbox_id": box, "command": "exec sleep 4242"}})
    connection = wire.open(body=body, headers=with_it)
    wait_for(lambda: running(wire, box))
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": body["id"], "reason": "enough"}}
    assert wire(body=cancel, headers={"Mcp-Session-Id": wire.begin()[0]}).status == 202
    assert running(wire, box), "another session's requests are another's"
    assert wire(body=cancel, headers=with_it).status == 202
    got = Answer(connection.getresponse())
    connection.close()
    assert got.messages == [] and not running(wire, box)
    assert wire(body=cancel, headers=with_it).status == 202, "late cancellations are ignored"


def test_a_connection_that_is_closed(wire, box):
    """With 2026-07-28 it is a cancellation; before that it is only a lost connection."""
    params = {"name": "run", "arguments": {"sandbox_id": box, "command": "exec sleep 4242", "timeout_s": 3600},
              "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}
    connection = wire.open(body=wire.message("tools/call", params), headers={"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "run"})
    wait_for(lambda: running(wire, box))
    connection.close()
    wait_for(lambda: not running(wire, box))
    session, _ = wire.begin()
    params.pop("_meta")
    connection = wire.open(body=wire.message("tools/call", params), headers={"Mcp-Session-Id": session})
    wait_for(lambda: running(wire, box))
    connection.close()
    assert running(wire, box)
    wire.tool("run", sandbox_id=box, command="for one in /proc/[0-9]*; do grep -q 4242 $one/cmdline && [ ${one#/proc/} != $$ ] && kill -9 ${one#/proc/}; done")


def test_metrics(wire, mcp):
    text = urllib.request.urlopen(mcp.daemon.health_url + "/metrics").read().decode()
    assert 'harena_mcp_tools_total{' in text and 'tool="run"' in text
