"""The control API without an SDK: statuses, headers and error bodies to the letter, and what SDKs don't send."""

import json
import re
import urllib.error
import urllib.request
from datetime import datetime

import pytest

from e2b_raw import Raw
from http_api import Api

SANDBOX = {"templateID": "base"}


def make(raw, **fields):
    status, headers, body = raw("POST", "/v2/sandboxes", {**SANDBOX, **fields})
    assert status == 201, body
    return body


def expect_error(answer, status, said=""):
    assert answer[0] == status, answer
    body = answer[2]
    assert isinstance(body, dict) and body["code"] == status and re.search(said, body["message"]), body
    assert answer[1]["Content-Type"].startswith("application/json")


def test_health_needs_no_key(raw):
    status, _, body = raw("GET", "/health", key=False)
    assert status == 200 and body


@pytest.mark.parametrize("method, path", [("GET", "/nothing"), ("POST", "/v9/sandboxes"), ("GET", "/"), ("GET", "/sandboxes/a/b/c")])
def test_an_unknown_route_is_a_json_404(raw, method, path):
    expect_error(raw(method, path), 404)


@pytest.mark.parametrize("method, path", [("PUT", "/sandboxes"), ("PATCH", "/v2/sandboxes"), ("DELETE", "/health")])
def test_an_unknown_method_is_a_json_405(raw, method, path):
    expect_error(raw(method, path), 405, method)


def test_a_call_without_a_key(raw):
    expect_error(raw("GET", "/v2/sandboxes", key=False), 401, "X-API-KEY")
    expect_error(raw("GET", "/templates", key="e2b_" + "1" * 64), 401, "unknown or was revoked")


def test_a_key_as_bearer(raw):
    status, _, body = raw("GET", "/v2/sandboxes", key=False, headers={"Authorization": "Bearer " + raw.key})
    assert status == 200 and body == []


@pytest.mark.parametrize("path, seconds", [("/v2/sandboxes", 300), ("/sandboxes", 15)])
def test_both_forms_of_create(raw, path, seconds):
    status, headers, body = raw("POST", path, SANDBOX)
    assert status == 201
    assert set(body) >= {"sandboxID", "templateID", "clientID", "envdVersion", "envdAccessToken", "domain"}
    assert body["trafficAccessToken"] is None
    detail = raw("GET", "/sandboxes/" + body["sandboxID"])[2]
    assert detail["envdAccessToken"] == body["envdAccessToken"]
    assert headers["X-Harena-Network"].startswith("closed")
    started, end = (datetime.fromisoformat(detail[key].replace("Z", "+00:00")) for key in ("startedAt", "endAt"))
    assert abs((end - started).total_seconds() - seconds) < 2


def test_a_network_that_is_asked_to_be_closed_needs_no_notice(raw):
    headers = raw("POST", "/v2/sandboxes", {**SANDBOX, "allow_internet_access": False})[1]
    assert "X-Harena-Network" not in headers


def test_what_the_python_sdk_of_old_sends(raw):
    body = {"templateID": "base", "metadata": {}, "timeout": 300, "envVars": {}, "secure": True, "allow_internet_access": True, "autoPause": False}
    assert raw("POST", "/sandboxes", body)[0] == 201


@pytest.mark.parametrize("fields, said", [
    ({"templateID": ""}, "templateID is missing"),
    ({"templateID": 7}, "templateID is 7; it must be a string"),
    ({"timeout": "5"}, 'timeout is "5"; it must be a whole number'),
    ({"timeout": 1.5}, "timeout is 1.5; it must be a whole number"),
    ({"metadata": {"a": 1}}, "metadata.a is 1; it must be a string"),
    ({"metadata": []}, "metadata is \\[\\]; it must be an object"),
    ({"envVars": {"A": None}}, "envVars.A is null; it must be a string"),
    ({"autoPause": "yes"}, "autoPause"),
    ({"autoPause": True, "autoPauseMemory": False}, "autoPauseMemory: false can't be honoured"),
    ({"autoResume": {"enabled": True}}, "without autoPause"),
    ({"autoResume": {}}, "autoResume.enabled is missing"),
    ({"volumeMounts": [{"name": "v", "path": "/v"}]}, "volumeMounts can't be honoured"),
    ({"iam": {"tokens": {"t": {}}}}, "iam can't be honoured"),
    ({"network": {"egressProxy": {"address": "a:1"}}}, "network.egressProxy can't be honoured"),
    ({"network": {"rules": {"example.org": []}}}, "network.rules can't be honoured"),
    ({"network": {"httpsPorts": [443]}}, "network.httpsPorts can't be honoured"),
    ({"network": {"allowOut": "1.1.1.1"}}, "allowOut is"),
    ({"network": {"denyOut": ["10.0.0.0/33"]}}, "denyOut has '10.0.0.0/33'"),
])
def test_what_create_refuses(raw, fields, said):
    expect_error(raw("POST", "/v2/sandboxes", {**SANDBOX, **fields}), 400, said)
    assert raw("GET", "/v2/sandboxes")[2] == []


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff"])
def test_a_body_that_is_no_object(raw, body):
    expect_error(raw("POST", "/v2/sandboxes", body), 400, "the body must be a JSON object")


def test_unknown_fields_are_ignored_and_counted(raw, harenad):
    made = make(raw, brandNew={"a": 1}, network={"alsoNew": True})
    assert made["sandboxID"]
    metrics = urllib.request.urlopen(harenad.health_url + "/metrics").read().decode()
    assert re.search(r'harena_e2b_unknown_fields_total\{field="brandNew",operation="create"\} [1-9]', metrics), metrics[-2000:]
    assert 'field="network.alsoNew"' in metrics
    assert re.search(r'harena_e2b_requests_total\{operation="create",status="201"\} [1-9]', metrics)


def test_statuses_of_a_life(raw):
    made = make(raw)
    path = "/sandboxes/" + made["sandboxID"]
    assert raw("POST", path + "/timeout", {"timeout": 60})[0] == 204
    assert raw("POST", path + "/refreshes", {"duration": 100})[0] == 204
    assert raw("POST", path + "/connect", {"timeout": 60})[0] == 200
    assert raw("POST", "/v2" + path + "/connect", {})[0] == 200
    assert raw("POST", path + "/pause")[0] == 204
    expect_error(raw("POST", path + "/pause", {}), 409, "paused already")
    expect_error(raw("POST", path + "/timeout", {"timeout": 60}), 404)
    status, _, again = raw("POST", "/v2" + path + "/connect", {"timeout": 60})
    assert status == 201 and again == made
    expect_error(raw("POST", path + "/resume", {}), 409, "running already")
    assert raw("POST", path + "/pause", {})[0] == 204
    assert raw("POST", path + "/resume", {"timeout": 60, "autoPause": True})[0] == 201
    assert raw("GET", path)[2]["lifecycle"]["onTimeout"] == "pause"
    status, headers, body = raw("DELETE", path)
    assert (status, body) == (204, None)
    for method, what in (("GET", path), ("DELETE", path), ("POST", path + "/pause"), ("POST", path + "/timeout"),
                         ("GET", path + "/metrics"), ("GET", path + "/logs")):
        expect_error(raw(method, what, {"timeout": 1} if method == "POST" else None), 404, "not found")


@pytest.mark.parametrize("path, body, said", [
    ("/v2/sandboxes/{}/connect", {"timeout": 0}, "at least 1"),
    ("/sandboxes/{}/connect", {}, "timeout is missing"),
    ("/v2/sandboxes/{}/connect", {"memory": False}, "memory: false can't be honoured"),
    ("/sandboxes/{}/timeout", {}, "timeout is missing"),
    ("/sandboxes/{}/timeout", {"timeout": -1}, "at least 1"),
    ("/sandboxes/{}/refreshes", {"duration": 3601}, "0 to 3600"),
    ("/sandboxes/{}/fork", {"count": 0}, "1 to 100"),
    ("/v2/sandboxes/{}/fork", {"count": 101}, "1 to 100"),
])
def test_what_calls_refuse(raw, path, body, said):
    made = make(raw)
    expect_error(raw("POST", path.format(made["sandboxID"]), body), 400, said)


def test_refreshes_extend(raw):
    made = make(raw, timeout=100)
    path = "/sandboxes/" + made["sandboxID"]
    before = raw("GET", path)[2]["endAt"]
    raw("POST", path + "/refreshes", {"duration": 10})
    assert raw("GET", path)[2]["endAt"] == before
    raw("POST", path + "/refreshes", {"duration": 3600})
    assert raw("GET", path)[2]["endAt"] > before


def test_pages_and_counts(raw):
    for n in range(3):
        make(raw, metadata={"n": str(n)})
    status, headers, first = raw("GET", "/v2/sandboxes?limit=2")
    assert len(first) == 2 and headers["X-Total-Running"] == "3" and headers["X-Next-Token"]
    status, headers, second = raw("GET", "/v2/sandboxes?limit=2&nextToken=" + headers["X-Next-Token"])
    assert len(second) == 1 and not headers["X-Next-Token"]
    assert {one["metadata"]["n"] for one in first + second} == {"0", "1", "2"}


@pytest.mark.parametrize("query, said", [
    ("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("state=asleep", "running and paused are right"),
    ("order=up", "asc and desc are right"), ("nextToken=x", "X-Next-Token"), ("startedAfter=yesterday", "startedAfter"),
    ("metadata=nothing", "key=value"),
])
def test_queries_that_are_refused(raw, query, said):
    expect_error(raw("GET", "/v2/sandboxes?" + query), 400, said)


@pytest.mark.parametrize("query", ["metadata=k%3Dv%2526w", "metadata=k%253Dv%252526w", "metadata=k=v%2526w"])
def test_a_metadata_filter_that_is_encoded_as_the_clients_do(raw, query):
    make(raw, metadata={"k": "v&w"})
    make(raw, metadata={"k": "v"})
    found = raw("GET", "/v2/sandboxes?" + query)[2]
    assert [one["metadata"] for one in found] == [{"k": "v&w"}]


def test_the_old_list_has_running_ones(raw):
    running, paused = make(raw), make(raw)
    raw("POST", f"/sandboxes/{paused['sandboxID']}/pause")
    assert [one["sandboxID"] for one in raw("GET", "/sandboxes")[2]] == [running["sandboxID"]]
    states = {one["sandboxID"]: one["state"] for one in raw("GET", "/v2/sandboxes")[2]}
    assert states == {running["sandboxID"]: "running", paused["sandboxID"]: "paused"}


def test_metrics_of_several(raw):
    one, other = make(raw), make(raw)
    ids = ",".join([one["sandboxID"], other["sandboxID"], "0" * 20])
    body = raw("GET", "/sandboxes/metrics?sandbox_ids=" + ids)[2]
    assert set(body["sandboxes"]) == {one["sandboxID"], other["sandboxID"]}
    assert body["sandboxes"][one["sandboxID"]]["memTotal"] == 256 << 20
    expect_error(raw("GET", "/sandboxes/metrics"), 400, "1 to 100")


def test_logs_tell_of_commands(raw, client):
    made = make(raw)
    client.get(made["sandboxID"]).run(["sh", "-c", "exit 3"])
    logs = raw("GET", f"/v2/sandboxes/{made['sandboxID']}/logs")[2]["logs"]
    texts = [one["message"] for one in logs]
    assert texts[0] == "sandbox created from template base"
    assert any("ended with 3" in text for text in texts), texts
    assert all(set(one) == {"timestamp", "message", "level", "fields"} for one in logs)
    warnings = raw("GET", f"/v2/sandboxes/{made['sandboxID']}/logs?level=warn")[2]["logs"]
    assert [one["level"] for one in warnings] == ["warn"]
    old = raw("GET", f"/sandboxes/{made['sandboxID']}/logs")[2]
    assert [one["line"] for one in old["logs"]] == texts and len(old["logEntries"]) == len(texts)
    backward = raw("GET", f"/v2/sandboxes/{made['sandboxID']}/logs?direction=backward&limit=1")[2]["logs"]
    assert len(backward) == 1


def test_templates(raw):
    listed = raw("GET", "/templates")[2]
    assert [one["templateID"] for one in listed] == ["base", "late", "never", "other", "small"]
    needed = {"templateID", "buildID", "cpuCount", "memoryMB", "diskSizeMB", "public", "aliases", "names", "createdAt", "updatedAt",
              "createdBy", "lastSpawnedAt", "spawnCount", "buildCount", "envdVersion", "buildStatus"}
    assert all(needed <= set(one) for one in listed)
    assert raw("GET", "/v2/templates")[2] == listed
    assert raw("GET", "/templates/base-alias")[2]["templateID"] == "base"
    assert raw("GET", "/templates/team%2Fbase%3Adefault")[2]["templateID"] == "base"
    assert raw("GET", "/templates/aliases/base")[2] == {"templateID": "base", "public": False}
    assert raw("GET", "/templates/base/tags")[2][0]["tag"] == "default"
    for path in ("/templates/nothing", "/templates/aliases/nothing", "/templates/nothing/tags"):
        expect_error(raw("GET", path), 404, "not found")
    expect_error(raw("DELETE", "/templates/team%2Fs%3Adefault"), 404, "not found")
    expect_error(raw("DELETE", "/templates/base"), 403, "part of the configuration")


@pytest.mark.parametrize("method, path", [
    ("POST", "/v3/templates"), ("POST", "/v2/templates"), ("POST", "/templates"), ("POST", "/templates/base"),
    ("PATCH", "/templates/base"), ("PATCH", "/v2/templates/base"), ("POST", "/templates/tags"), ("DELETE", "/templates/tags"),
    ("GET", "/templates/base/files/" + "0" * 64), ("POST", "/v2/templates/base/builds/x"),
    ("GET", "/templates/base/builds/x/status"), ("GET", "/templates/base/builds/x/logs"),
])
def test_builds_are_refused(raw, method, path):
    expect_error(raw(method, path, {} if method != "GET" else None), 400, "can't be built or changed here")


def test_volumes_and_secrets(raw):
    for what in ("volumes", "secrets"):
        assert raw("GET", "/" + what)[::2] == (200, [])
        expect_error(raw("POST", "/" + what, {"name": "x"}), 400, f"{what} can't be")
        expect_error(raw("GET", f"/{what}/x"), 404, "not found")
        expect_error(raw("DELETE", f"/{what}/x"), 404, "not found")


def test_teams(raw):
    team = raw("GET", "/teams")[2][0]
    assert team["name"] == "root" and team["isDefault"] is True and team["apiKey"] == raw.key


def test_sandboxes_that_others_made_are_not_seen(raw, client, args):
    own = client.create(args)
    try:
        assert raw("GET", "/v2/sandboxes")[2] == []
        expect_error(raw("GET", "/sandboxes/" + own.id), 404, "not found")
        expect_error(raw("DELETE", "/sandboxes/" + own.id), 404, "not found")
    finally:
        own.stop()


def test_a_key_sees_its_project_alone(raw, harenad, e2b_env):
    api = Api(harenad)
    api.raw("POST", "/projects", {"path": "root/e2b-team"})
    permissions = ["sandbox_create", "sandbox_read", "sandbox_use", "sandbox_stop", "image_read"]
    status, text = api.raw("POST", "/tokens", {"name": "t", "project": "root/e2b-team", "permissions": permissions, "form": "e2b"})
    secret = json.loads(text)["secret"]
    other = Raw({**e2b_env, "E2B_API_KEY": secret})
    above = make(raw)
    mine = make(other)
    assert [one["sandboxID"] for one in other("GET", "/v2/sandboxes")[2]] == [mine["sandboxID"]]
    expect_error(other("DELETE", "/sandboxes/" + above["sandboxID"]), 404, "not found")
    assert {one["sandboxID"] for one in raw("GET", "/v2/sandboxes")[2]} == {above["sandboxID"], mine["sandboxID"]}
    assert json.loads(api.raw("GET", "/sandboxes/" + mine["sandboxID"])[1])["project"] == "root/e2b-team"


def test_a_frontends_credential_is_refused_from_outside(raw, harenad):
    """It can't be forged, and one that leaked would be of no use: the API's port takes none."""
    for text in ("hrf_", "hrf_.dev.harena.e2b." + "0" * 64):
        request = urllib.request.Request(harenad.url + "/v1/sandboxes", headers={"Authorization": "Bearer " + text})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 401


def test_a_crash_loses_nothing(raw, harenad, e2b_env):
    """The plugin keeps nothing: after kill -9 the sandboxes, their metadata and their tokens are as they were."""
    made = make(raw, metadata={"a": "b"}, network={"allowPublicTraffic": False}, autoPause=True)
    before = raw("GET", "/sandboxes/" + made["sandboxID"])[2]
    address = e2b_env["E2B_API_URL"].removeprefix("http://")
    harenad.kill()
    harenad.restart(lambda config: config["plugins"]["e2b"]["config"].update(listen=address))
    assert raw("GET", "/sandboxes/" + made["sandboxID"])[2] == before
    status, _, again = raw("POST", f"/v2/sandboxes/{made['sandboxID']}/connect", {"timeout": 1})
    assert status == 200 and again == made


def test_what_a_fork_keeps_is_in_a_header(raw):
    made = make(raw)
    status, headers, body = raw("POST", f"/v2/sandboxes/{made['sandboxID']}/fork", {"count": 2, "timeout": 50})
    assert status == 201 and headers["X-Harena-Kept"] == "filesystem"
    assert all(one["sandbox"]["envdAccessToken"] for one in body) and len(body) == 2
    status, headers, body = raw("POST", f"/sandboxes/{made['sandboxID']}/snapshots", {})
    assert status == 201 and headers["X-Harena-Kept"] == "filesystem" and body["names"] == []
    listed = raw("GET", "/snapshots?sandboxID=" + made["sandboxID"])[2]
    assert listed == [body]
    assert raw("DELETE", "/templates/" + body["snapshotID"])[0] == 204
    assert raw("GET", "/snapshots")[2] == []
