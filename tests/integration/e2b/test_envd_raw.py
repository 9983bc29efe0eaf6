"""envd with nothing between: binary protobuf, the forms of the protocol, and what each of them is refused with."""

import gzip
import http.client
import json
import struct
import time
import urllib.parse

import pytest

from connect_client import Envd, envelope, envelopes, messages


@pytest.fixture(scope="session")
def pb(tmp_path_factory):
    return messages(tmp_path_factory.mktemp("pb2"))


@pytest.fixture
def made(raw):
    status, _, sandbox = raw("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 120, "envVars": {"A": "b"}})
    assert status == 201, sandbox
    return sandbox


@pytest.fixture
def envd(raw, made):
    return Envd(raw.url, made["sandboxID"], made["envdAccessToken"])


def start(pb, text, **more):
    request = pb[0].StartRequest(stdin=False, **more)
    request.process.cmd = "/bin/bash"
    request.process.args.extend(["-l", "-c", text])
    return request


def ended(events):
    return events[-1].event.end


def call(envd, procedure, body, headers=None):
    """JSON, unary: (status, document)."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    status, _, answer = envd("POST", "/" + procedure, data, {"Content-Type": "application/json", **(headers or {})})
    return status, json.loads(answer)


def stream(envd, procedure, body, headers=None):
    data = body if isinstance(body, bytes) else envelope(json.dumps(body).encode())
    status, found, answer = envd("POST", "/" + procedure, data, {"Content-Type": "application/connect+json", **(headers or {})})
    return status, found, [(flags, json.loads(payload)) for flags, payload in envelopes(answer)]


# binary protobuf


def test_proto_start(envd, pb):
    events, last = envd.stream("process.Process/Start", [start(pb, "echo out; echo err >&2; exit 3")], pb[0].StartResponse)
    assert events[0].event.start.pid > 0
    data = [one.event.data for one in events[1:-1]]
    assert b"".join(one.stdout for one in data) == b"out\n" and b"".join(one.stderr for one in data) == b"err\n"
    assert (ended(events).exit_code, ended(events).exited, ended(events).status) == (3, True, "exit status 3")
    assert json.loads(last) == {}


def test_proto_start_with_gzip(envd, pb):
    events, _ = envd.stream("process.Process/Start", [start(pb, "head -c 100000 /dev/zero")], pb[0].StartResponse, {"Connect-Accept-Encoding": "gzip"})
    assert b"".join(one.event.data.stdout for one in events[1:-1]) == bytes(100_000)


def test_proto_list_signal_connect(envd, pb, raw):
    process = pb[0]
    request = start(pb, "sleep 100", tag="my tag")
    body = envelope(request.SerializeToString())
    import http.client
    connection = http.client.HTTPConnection(envd.at.hostname, envd.at.port, timeout=60)
    connection.request("POST", "/process.Process/Start", body, {**envd.headers, "Content-Type": "application/connect+proto"})
    answer = connection.getresponse()
    flags, length = struct.unpack(">BI", answer.read(5))
    first = process.StartResponse()
    first.ParseFromString(answer.read(length))
    pid = first.event.start.pid
    listed = envd.unary("process.Process/List", process.ListRequest(), process.ListResponse).processes
    assert [(one.pid, one.tag, one.config.cmd) for one in listed if one.pid == pid] == [(pid, "my tag", "/bin/bash")]
    selector = process.ProcessSelector(tag="my tag")
    envd.unary("process.Process/SendSignal", process.SendSignalRequest(process=selector, signal=process.SIGNAL_SIGTERM), process.SendSignalResponse)
    events, _ = envd.stream("process.Process/Connect", [process.ConnectRequest(process=process.ProcessSelector(pid=pid))], process.ConnectResponse)
    assert events[0].event.start.pid == pid
    assert (ended(events).exit_code, ended(events).exited, ended(events).error) == (-1, False, "signal: terminated")
    connection.close()


def test_proto_stream_input(envd, pb):
    process = pb[0]
    request = start(pb, "cat > /tmp/got", tag="reader")
    request.stdin = True
    import threading
    outcome = {}
    reader = threading.Thread(target=lambda: outcome.update(zip(("events", "last"), envd.stream("process.Process/Start", [request], process.StartResponse))))
    reader.start()
    selector = process.ProcessSelector(tag="reader")
    deadline = time.monotonic() + 20
    while not envd.unary("process.Process/List", process.ListRequest(), process.ListResponse).processes:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    said = [process.StreamInputRequest(start={"process": selector})]
    said += [process.StreamInputRequest(data={"input": {"stdin": f"part {i}\n".encode()}}) for i in range(5)]
    said.insert(3, process.StreamInputRequest(keepalive={}))
    answers, last = envd.stream("process.Process/StreamInput", said, process.StreamInputResponse)
    assert len(answers) == 1 and json.loads(last) == {}
    envd.unary("process.Process/CloseStdin", process.CloseStdinRequest(process=selector), process.CloseStdinResponse)
    reader.join(20)
    assert ended(outcome["events"]).exit_code == 0
    assert envd("GET", "/files?path=/tmp/got")[2] == b"part 0\npart 1\npart 2\npart 3\npart 4\n"


def test_proto_files(envd, pb):
    files = pb[1]
    entry = envd.unary("filesystem.Filesystem/MakeDir", files.MakeDirRequest(path="a/b"), files.MakeDirResponse).entry
    assert (entry.path, entry.type, entry.owner) == ("/home/user/a/b", files.FILE_TYPE_DIRECTORY, "user")
    entries = envd.unary("filesystem.Filesystem/ListDir", files.ListDirRequest(path="/", depth=1), files.ListDirResponse).entries
    assert {"home", "tmp"} <= {one.name for one in entries}
    moved = envd.unary("filesystem.Filesystem/Move", files.MoveRequest(source="a/b", destination="c"), files.MoveResponse).entry
    assert moved.path == "/home/user/c"
    envd.unary("filesystem.Filesystem/Remove", files.RemoveRequest(path="c"), files.RemoveResponse)
    status, _, body = envd("POST", "/filesystem.Filesystem/Stat", files.StatRequest(path="c").SerializeToString(), {"Content-Type": "application/proto"})
    assert status == 404 and json.loads(body)["code"] == "not_found"


def test_proto_with_gzip_both_ways(envd, pb):
    files = pb[1]
    request = gzip.compress(files.ListDirRequest(path="/bin", depth=1).SerializeToString())
    status, found, body = envd("POST", "/filesystem.Filesystem/ListDir", request,
                               {"Content-Type": "application/proto", "Content-Encoding": "gzip", "Accept-Encoding": "gzip"})
    assert status == 200 and found["Content-Encoding"] == "gzip"
    response = files.ListDirResponse()
    response.ParseFromString(gzip.decompress(body))
    assert len(response.entries) > 50


def test_proto_watcher(envd, pb):
    files = pb[1]
    envd.unary("filesystem.Filesystem/MakeDir", files.MakeDirRequest(path="w"), files.MakeDirResponse)
    watcher = envd.unary("filesystem.Filesystem/CreateWatcher", files.CreateWatcherRequest(path="w"), files.CreateWatcherResponse).watcher_id
    envd.unary("filesystem.Filesystem/MakeDir", files.MakeDirRequest(path="w/x"), files.MakeDirResponse)
    seen, deadline = [], time.monotonic() + 15
    while ("x", files.EVENT_TYPE_CREATE) not in seen:
        assert time.monotonic() < deadline, seen
        events = envd.unary("filesystem.Filesystem/GetWatcherEvents", files.GetWatcherEventsRequest(watcher_id=watcher), files.GetWatcherEventsResponse).events
        seen += [(one.name, one.type) for one in events]
    envd.unary("filesystem.Filesystem/RemoveWatcher", files.RemoveWatcherRequest(watcher_id=watcher), files.RemoveWatcherResponse)
    assert call(envd, "filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher})[0] == 404


# the protocol's forms


def test_json_start_as_documented(envd):
    status, found, events = stream(envd, "process.Process/Start", {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "echo hi"]}, "stdin": False})
    assert status == 200 and found["Content-Type"] == "application/connect+json"
    assert set(events[0][1]["event"]["start"]) == {"pid"}
    assert events[1] == (0, {"event": {"data": {"stdout": "aGkK"}}})
    assert events[2] == (0, {"event": {"end": {"exited": True, "status": "exit status 0"}}})
    assert events[3] == (2, {})


def test_an_error_of_a_stream_is_its_last_envelope(envd):
    status, _, events = stream(envd, "process.Process/Start", {"process": {"cmd": "/bin/bash", "cwd": "/no"}})
    assert status == 200
    assert events == [(2, {"error": {"code": "invalid_argument", "message": "cwd '/no' does not exist"}})]


def test_a_program_that_is_not_there(envd):
    assert stream(envd, "process.Process/Start", {"process": {"cmd": "/no/program"}})[2][0][1]["error"]["code"] == "invalid_argument"


def test_stdin_that_is_not_said_is_a_pipe(envd):
    status, _, events = stream(envd, "process.Process/Start", {"process": {"cmd": "/bin/cat"}}, {"Connect-Timeout-Ms": "700"})
    assert events[-1][1]["error"]["code"] == "deadline_exceeded"


def test_keepalives(envd):
    _, _, events = stream(envd, "process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["2.5"]}, "stdin": False}, {"Keepalive-Ping-Interval": "1"})
    kinds = [list(one["event"])[0] for _, one in events[:-1]]
    assert kinds == ["start", "keepalive", "keepalive", "end"]


def test_basic_auth_names_the_user(envd):
    _, _, events = stream(envd, "process.Process/Start", {"process": {"cmd": "/bin/bash", "args": ["-c", "whoami"]}, "stdin": False}, {"Authorization": "Basic cm9vdDo="})
    assert events[1][1]["event"]["data"]["stdout"] == "cm9vdAo="


@pytest.mark.parametrize("body, code", [
    (b"{", 400), (b"[]", 400), (b"\xff", 400), ({"process": {"pid": 999999}, "signal": "SIGNAL_SIGKILL"}, 404),
    ({"process": {}, "signal": "SIGNAL_SIGKILL"}, 400), ({"process": {"pid": 1}, "signal": "SIGNAL_OTHER"}, 501)])
def test_bad_signals(envd, body, code):
    status, document = call(envd, "process.Process/SendSignal", body)
    assert status == code and isinstance(document["code"], str) and document["message"]


def test_unknown_fields_are_skipped(envd):
    assert call(envd, "filesystem.Filesystem/Stat", {"path": "/tmp", "later": {"a": [1]}})[0] == 200


def test_int64_is_text_and_zeros_are_left_out(envd):
    envd("POST", "/files?path=five", b"12345", {"Content-Type": "application/octet-stream"})
    entry = call(envd, "filesystem.Filesystem/Stat", {"path": "five"})[1]["entry"]
    assert entry["size"] == "5" and entry["type"] == "FILE_TYPE_FILE" and "symlinkTarget" not in entry
    assert "modifiedTime" in entry and entry["modifiedTime"].endswith("Z")


def test_refused_forms(envd):
    assert envd("GET", "/process.Process/List")[0] == 405
    assert envd("POST", "/process.Process/Nothing", b"{}", {"Content-Type": "application/json"})[0] == 404
    assert envd("POST", "/process.Process/List", b"{}", {"Content-Type": "text/plain"})[0] == 415
    assert envd("POST", "/process.Process/List", b"{}", {"Content-Type": "application/connect+json"})[0] == 415
    assert call(envd, "process.Process/List", {}, {"Connect-Protocol-Version": "2"})[0] == 400
    assert call(envd, "process.Process/List", {}, {"Connect-Timeout-Ms": "soon"})[0] == 400
    assert call(envd, "process.Process/List", {}, {"Content-Encoding": "br"})[0] == 501


def test_a_cut_envelope(envd):
    status, _, events = stream(envd, "process.Process/Start", envelope(b'{"process":{}}')[:-3])
    assert status == 200 and events[-1][1]["error"]["code"] == "invalid_argument"
    assert stream(envd, "process.Process/Start", b"")[2][-1][1]["error"]["code"] == "invalid_argument"
    assert stream(envd, "process.Process/Start", struct.pack(">BI", 0, 1 << 31))[2][-1][1]["error"]["code"] == "resource_exhausted"


def test_a_tag_that_is_too_long(envd):
    _, _, events = stream(envd, "process.Process/Start", {"process": {"cmd": "/bin/true"}, "tag": "x" * 81})
    assert events[-1][1]["error"]["code"] == "invalid_argument"


# tokens and gone sandboxes


def test_health_without_any_credential(envd, raw, made):
    status, _, body = envd("GET", "/health", token=False)
    assert (status, body) == (204, b"")
    raw("POST", f"/sandboxes/{made['sandboxID']}/pause", {})
    assert envd("GET", "/health", token=False)[0] == 502
    raw("POST", f"/v2/sandboxes/{made['sandboxID']}/connect", {})
    assert envd("GET", "/health", token=False)[0] == 204
    raw("DELETE", f"/sandboxes/{made['sandboxID']}")
    status, _, body = envd("GET", "/health", token=False)
    assert status == 502
    assert json.loads(body) == {"sandboxId": made["sandboxID"], "message": "The sandbox was not found", "code": 502}


ECHO = {"process": {"cmd": "/bin/echo", "args": ["on"]}, "stdin": False}


@pytest.mark.parametrize("end", ["pause", "kill"])
def test_a_start_in_a_sandbox_that_has_just_gone(envd, raw, made, end):
    """A sandbox that started a command a moment ago isn't looked up again: that it has gone is told all the same."""
    assert stream(envd, "process.Process/Start", ECHO)[2][-1] == (2, {})
    if end == "pause":
        raw("POST", f"/sandboxes/{made['sandboxID']}/pause", {})
    else:
        raw("DELETE", f"/sandboxes/{made['sandboxID']}")
    for _ in range(2):
        status, _, body = envd("POST", "/process.Process/Start", envelope(json.dumps(ECHO).encode()), {"Content-Type": "application/connect+json"})
        assert status == 502
        assert json.loads(body) == {"sandboxId": made["sandboxID"], "message": "The sandbox was not found", "code": 502}


def test_an_error_of_a_start_stays_one_where_the_sandbox_is_there(envd):
    for _ in range(2):
        status, _, seen = stream(envd, "process.Process/Start", {"process": {"cmd": "/no/such/program"}, "stdin": False})
        assert status == 200 and seen[0][0] == 2 and seen[0][1]["error"]["code"] == "invalid_argument"


def test_the_token_is_asked_of_every_start(envd):
    assert stream(envd, "process.Process/Start", ECHO)[2][-1] == (2, {})
    status, _, _ = envd("POST", "/process.Process/Start", envelope(json.dumps(ECHO).encode()),
                        {"Content-Type": "application/connect+json", "X-Access-Token": "wrong"}, token=False)
    assert status == 401


def test_a_silent_command_tells_its_start(envd, raw, made):
    """Its start waits a moment for what comes, not for its end."""
    to = urllib.parse.urlsplit(raw.url)
    connection = http.client.HTTPConnection(to.hostname, to.port, timeout=20)
    body = envelope(json.dumps({"process": {"cmd": "/bin/sleep", "args": ["100"]}, "stdin": False}).encode())
    connection.request("POST", "/process.Process/Start", body, {"Content-Type": "application/connect+json", "E2b-Sandbox-Id": made["sandboxID"],
                                                                "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"]})
    answer = connection.getresponse()
    header = answer.read(5)
    event = json.loads(answer.read(int.from_bytes(header[1:], "big")))
    assert event["event"]["start"]["pid"] > 0
    connection.close()


@pytest.mark.parametrize("path", ["/metrics", "/envs", "/process.Process/List", "/files/compose"])
def test_routes_need_the_token(envd, path):
    for token in (False, True):
        headers = {"X-Access-Token": "wrong"} if token else {}
        status, _, body = envd("GET" if path in ("/metrics", "/envs") else "POST", path, b"{}", {"Content-Type": "application/json", **headers}, token=token)
        assert status == 401
        assert json.loads(body)["code"] == 401 and json.loads(body)["message"].startswith("unauthorized access")


def test_files_without_token_or_signature(envd):
    status, _, body = envd("GET", "/files?path=x", token=False)
    assert (status, json.loads(body)) == (401, {"code": 401, "message": "missing signature query parameter"})


def test_internal_routes_are_closed(envd):
    for path in ("/init", "/freeze", "/fsthaw", "/upgrade"):
        status, _, body = envd("POST", path, b"{}")
        assert status == 404 and json.loads(body)["code"] == 404


def test_an_unknown_sandbox(raw):
    status, _, body = Envd(raw.url, "0" * 20, "x")("GET", "/health")
    assert status == 502 and json.loads(body)["code"] == 502


def test_half_an_address(envd):
    assert envd("GET", "/health", headers={"E2b-Sandbox-Port": None})[0] == 400
    assert envd("GET", "/health", headers={"E2b-Sandbox-Port": "70000"})[0] == 400


def test_envs_and_metrics(envd):
    assert json.loads(envd("GET", "/envs")[2])["A"] == "b"
    metrics = json.loads(envd("GET", "/metrics")[2])
    assert metrics["cpu_count"] >= 1 and metrics["mem_total"] > 0 and metrics["mem_used"] > 0 and abs(metrics["ts"] - time.time()) < 120


def test_an_unknown_route_is_json(envd):
    status, _, body = envd("GET", "/nothing")
    assert status == 404 and json.loads(body)["code"] == 404


def test_cors(envd):
    preflight = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-access-token"}
    status, found, _ = envd("OPTIONS", "/process.Process/List", headers=preflight, token=False)
    assert status == 204 and found["Access-Control-Allow-Origin"] == "*" and found["Access-Control-Allow-Headers"] == "x-access-token"
    _, found, _ = envd("GET", "/envs", headers={"Origin": "https://page.example"})
    assert found["Access-Control-Allow-Origin"] == "*"


# /files


def test_ranges_and_conditions(envd):
    envd("POST", "/files?path=r.txt", b"0123456789", {"Content-Type": "application/octet-stream"})
    status, found, body = envd("GET", "/files?path=r.txt")
    assert (status, body) == (200, b"0123456789")
    assert found["Accept-Ranges"] == "bytes" and found["Content-Disposition"] == "inline; filename=r.txt"
    assert found["Content-Type"].startswith("text/plain") and found["Last-Modified"]
    status, found, body = envd("GET", "/files?path=r.txt", headers={"Range": "bytes=2-4"})
    assert (status, body, found["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    assert envd("GET", "/files?path=r.txt", headers={"Range": "bytes=50-"})[0] == 416
    since = envd("GET", "/files?path=r.txt")[1]["Last-Modified"]
    assert envd("GET", "/files?path=r.txt", headers={"If-Modified-Since": since})[0] == 304


def test_gzip_of_a_file(envd):
    envd("POST", "/files?path=g", b"x" * 10_000, {"Content-Type": "application/octet-stream"})
    status, found, body = envd("GET", "/files?path=g", headers={"Accept-Encoding": "gzip"})
    assert (status, found["Content-Encoding"], gzip.decompress(body)) == (200, "gzip", b"x" * 10_000)
    assert envd("GET", "/files?path=g", headers={"Accept-Encoding": "gzip, deflate"})[2] == b"x" * 10_000
    assert envd("GET", "/files?path=g", headers={"Accept-Encoding": "identity;q=0"})[0] == 406


def test_an_empty_file_has_a_length(envd):
    assert envd("POST", "/files?path=e", b"", {"Content-Type": "application/octet-stream"})[0] == 200
    status, found, body = envd("GET", "/files?path=e")
    assert (status, found["Content-Length"], body) == (200, "0", b"")


def multipart(*parts):
    body = b"".join(b'--B\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\n' + data + b"\r\n" for name, data in parts)
    return body + b"--B--\r\n", {"Content-Type": "multipart/form-data; boundary=B"}


def test_multipart_paths_in_filenames(envd):
    body, headers = multipart((b"/home/user/deep/a.txt", b"1"), (b"b.txt", b"2"))
    status, _, answer = envd("POST", "/files", body, headers)
    assert status == 200
    assert [one["path"] for one in json.loads(answer)] == ["/home/user/deep/a.txt", "/home/user/b.txt"]
    assert envd("GET", "/files?path=deep/a.txt")[2] == b"1"


def test_multipart_twice_the_same(envd):
    body, headers = multipart((b"a", b"1"), (b"/home/user/a", b"2"))
    assert envd("POST", "/files", body, headers)[0] == 400


@pytest.mark.parametrize("body, headers", [
    (b"x", {"Content-Type": "text/plain"}), (b"x", {"Content-Type": "multipart/form-data"}),
    (b"--B\r\n", {"Content-Type": "multipart/form-data; boundary=B"}), (b"no gzip", {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}),
    (b"x", {"Content-Type": "application/octet-stream", "Content-Encoding": "br"}), (b"x", {"Content-Type": "application/octet-stream", "X-Metadata-A": "x" * 5000})])
def test_bad_uploads(envd, body, headers):
    status, _, answer = envd("POST", "/files?path=bad", body, headers)
    assert status == 400 and json.loads(answer)["code"] == 400
    assert envd("GET", "/files?path=bad")[0] == 404


def test_an_octet_stream_to_nowhere(envd):
    assert envd("POST", "/files", b"x", {"Content-Type": "application/octet-stream"})[0] == 400


def test_compose(envd):
    for i in range(3):
        envd("POST", f"/files?path=part{i}", f"part {i}\n".encode(), {"Content-Type": "application/octet-stream"})
    body = json.dumps({"source_paths": ["part0", "part1", "part2"], "destination": "whole"}).encode()
    status, _, answer = envd("POST", "/files/compose", body, {"Content-Type": "application/json"})
    assert (status, json.loads(answer)) == (200, {"path": "/home/user/whole", "name": "whole", "type": "file"})
    assert envd("GET", "/files?path=whole")[2] == b"part 0\npart 1\npart 2\n"
    assert envd("GET", "/files?path=part1")[0] == 404
    assert envd("POST", "/files/compose", b"{}", {"Content-Type": "application/json"})[0] == 400


def test_a_chunked_upload(envd):
    status, _, answer = envd("POST", "/files?path=c", (piece for piece in [b"one ", b"two"]), {"Content-Type": "application/octet-stream"})
    assert status == 200, answer
    assert envd("GET", "/files?path=c")[2] == b"one two"
