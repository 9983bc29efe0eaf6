"""Templates that are warm: sandboxes that are ready before anybody asks for them, and whose they are."""

import json
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from e2b_paths import BUILD
from e2b_raw import Raw
from own_daemon import end_daemon, make_daemon, ready_members, until
from tiny_image import make_tiny_image

IMAGE = "root/warm:v1"
WARM = 3
TEMPLATE = {"image": IMAGE, "cpu": 0.1, "memory_mb": 64, "warm": WARM, "user": "root", "start_command": "touch /tmp/began; exec sleep 100000",
            "ready_command": "test -e /tmp/began"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    if not (BUILD / "plugins" / "e2b").exists():
        pytest.skip("the plugin e2b isn't built")
    folder = tmp_path_factory.mktemp("image") / "tiny"
    make_tiny_image(folder)
    made = make_daemon({"quick": TEMPLATE, "cold": dict(TEMPLATE, warm=0)})
    made.start()
    try:
        with made.client() as client:
            client.images.import_image(IMAGE, folder=str(folder))
        yield made
    finally:
        end_daemon(made)


def api(daemon, method, path, body=None):
    request = urllib.request.Request(daemon.url + "/v1" + path, None if body is None else json.dumps(body).encode(),
                                     {"Authorization": f"Bearer {daemon.token}"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def caller(daemon, project="root", **limits):
    """A key of E2B's form in a project, and its public id."""
    if project != "root":
        api(daemon, "POST", "/projects", {"path": project, "limits": limits})
    made = api(daemon, "POST", "/tokens", {"name": "t", "project": project, "form": "e2b",
                                           "permissions": ["sandbox_create", "sandbox_read", "sandbox_use", "sandbox_stop", "image_read"]})
    raw = Raw({"E2B_API_URL": daemon.about["frontends"]["e2b"][0], "E2B_API_KEY": made["secret"]})
    raw.id = made["id"]
    return raw


def create(raw, template="quick", **body):
    status, _, made = raw("POST", "/v2/sandboxes", {"templateID": template, **body})
    return status, made.get("sandboxID") if status == 201 else made


def counted(daemon, name, **labels):
    text = urllib.request.urlopen(f"{daemon.health_url}/metrics").read().decode()
    for line in text.splitlines():
        if line.startswith(name + "{") and all(f'{key}="{value}"' in line for key, value in labels.items()):
            return float(re.split(r"\s+", line)[-1])
    return 0


@pytest.fixture
def full(daemon):
    """Its pool is filled; the ids. What a test made is ended."""
    with daemon.client() as client:
        before = until(lambda: len(found := ready_members(client)) == WARM and found, "the pool isn't filled")
        yield before
        for one in client.list(states=["running", "paused"]):
            if "e2b-pool" not in one.info.labels:
                one.stop()


def test_it_is_filled_before_anybody_asks(daemon, full):
    assert counted(daemon, "harena_e2b_warm_ready", template="quick") == WARM
    assert counted(daemon, "harena_e2b_warm_total", template="quick", outcome="made") >= WARM
    with daemon.client() as client:
        assert all(one.info.project == "root" for one in client.list(states=["running"]))


def test_the_first_create_of_a_key_gets_one_and_owns_it(daemon, full):
    raw = caller(daemon, "root/first")
    status, box = create(raw, metadata={"a": "b"}, timeout=77)
    assert status == 201 and box in full
    sandbox = api(daemon, "GET", f"/sandboxes/{box}")
    assert sandbox["project"] == "root/first" and sandbox["created_by"] == "token:" + raw.id and sandbox["lifetime_s"] == 77
    assert sandbox["labels"] == {"frontend": "dev.harena.e2b", "e2b-template": "quick"}
    info = raw("GET", f"/sandboxes/{box}")[2]
    assert info["metadata"] == {"a": "b"} and info["startedAt"] > sandbox_born(sandbox)
    assert [one["sandboxID"] for one in raw("GET", "/v2/sandboxes")[2]] == [box], "members aren't listed"
    assert counted(daemon, "harena_e2b_warm_total", template="quick", outcome="claimed") >= 1
    assert raw("DELETE", f"/sandboxes/{box}")[0] == 204


def sandbox_born(sandbox):
    from datetime import datetime, timezone

    return datetime.fromtimestamp(sandbox["created_ms"] / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def test_one_that_was_claimed_is_its_keys_and_ends_with_it(daemon, full):
    raw = caller(daemon, "root/revoked")
    _, box = create(raw)
    ask = {"E2b-Sandbox-Id": box, "E2b-Sandbox-Port": "4000"}
    assert raw("GET", "/", headers=ask)[2]["message"] == "The sandbox is running but port is not open"
    api(daemon, "DELETE", f"/tokens/{raw.id}")
    assert raw("GET", "/", headers=ask)[0] != 200 and raw("GET", "/v2/sandboxes")[0] == 401


def test_it_counts_in_the_callers_quota(daemon, full):
    raw = caller(daemon, "root/small", sandboxes=1)
    assert create(raw)[0] == 201
    with daemon.client() as client:
        before = until(lambda: len(found := ready_members(client)) == WARM and found, "the pool isn't filled up")
        status, problem = create(raw)
        assert status == 429 and "root/small" in problem["message"], problem
        assert ready_members(client) == before, "a member that somebody may not have stays"
    assert counted(daemon, "harena_e2b_warm_total", template="quick", outcome="refused") >= 1


def test_many_at_once_get_one_each(daemon, full):
    raw = caller(daemon)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: create(raw), range(8)))
    assert all(status == 201 for status, _ in made), made
    assert len({box for _, box in made}) == 8
    with daemon.client() as client:
        until(lambda: len(ready_members(client)) == WARM, "the pool isn't filled up")
        assert not {box for _, box in made} & set(ready_members(client))


def test_variables_are_given_to_one_that_runs(daemon, full):
    raw = caller(daemon)
    status, _, made = raw("POST", "/v2/sandboxes", {"templateID": "quick", "envVars": {"A": "b", "E2B_TEMPLATE_ID": "mine"}})
    assert status == 201 and made["sandboxID"] in full
    ask = {"E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"]}
    envs = raw("GET", "/envs", headers=ask)[2]
    assert envs["A"] == "b" and envs["E2B_TEMPLATE_ID"] == "mine" and envs["E2B_SANDBOX_ID"] == made["sandboxID"]
    status, _, bare = raw("POST", "/v2/sandboxes", {"templateID": "quick", "envVars": {}})
    assert status == 201 and bare["sandboxID"] in full
    assert "A" not in raw("GET", "/envs", headers={**ask, "E2b-Sandbox-Id": bare["sandboxID"], "X-Access-Token": bare["envdAccessToken"]})[2]


def test_variables_that_not_everything_takes_make_a_new_one(daemon, full):
    status, box = create(caller(daemon), envVars={"NOT-A-NAME": "b"})
    assert status == 400 or box not in full


def test_an_idempotency_key_makes_a_new_one(daemon, full):
    raw = caller(daemon)
    ask = lambda: raw("POST", "/v2/sandboxes", {"templateID": "quick"}, headers={"Idempotency-Key": "k1"})[2]["sandboxID"]  # noqa: E731
    box = ask()
    assert box not in full and ask() == box


def test_a_template_without_a_pool_makes_its_own(daemon, full):
    assert create(caller(daemon), "cold")[1] not in full


def test_killed_harenad_finds_its_members_again(daemon, full):
    raw = caller(daemon)
    _, mine = create(raw)
    with daemon.client() as client:
        before = until(lambda: len(found := ready_members(client)) == WARM and found, "the pool isn't filled up")
    daemon.kill()
    daemon.restart()
    raw.url = daemon.about["frontends"]["e2b"][0]
    until(lambda: counted(daemon, "harena_e2b_warm_ready", template="quick") == WARM, "members aren't found again")
    with daemon.client() as client:
        assert ready_members(client) == before, "nothing was made that wasn't missing"
    status, box = create(raw)
    assert status == 201 and box in before and box != mine
    assert {one["sandboxID"] for one in raw("GET", "/v2/sandboxes")[2]} == {mine, box}


def test_killed_in_the_middle_of_filling_leaves_what_ends_by_itself(daemon, full):
    """The half-made one isn't handed out, and has an end that nobody prolongs."""
    daemon.stop()
    slow = dict(TEMPLATE, ready_command="test -e /tmp/never", ready_timeout_s=30)
    daemon.restart(lambda config: config["plugins"]["e2b"]["config"]["templates"].update(quick=slow))
    with daemon.client() as client:
        half = until(lambda: [one for one in client.list(states=["running"]) if one.info.labels.get("e2b-pool") == "starting"], "none is being made")
        assert half[0].id not in full, "what was made of another configuration isn't this pool's"
    daemon.kill()
    daemon.restart()
    until(lambda: counted(daemon, "harena_e2b_warm_ready", template="quick") == WARM, "the pool isn't there again")
    sandbox = api(daemon, "GET", f"/sandboxes/{half[0].id}")
    assert sandbox["labels"]["e2b-pool"] == "starting" and 0 < sandbox["expires_ms"] - sandbox["created_ms"] <= 215_000
    raw = caller(daemon)
    assert create(raw)[1] != half[0].id
    api(daemon, "POST", f"/sandboxes/{half[0].id}/stop", {})


def test_give_to_and_if_labels_are_checked(daemon, full):
    def refused(body):
        try:
            api(daemon, "PATCH", f"/sandboxes/{full[0]}", body)
        except urllib.error.HTTPError as problem:
            return problem.code, json.loads(problem.read())["error"]["message"]
        return 200, ""

    assert refused({"give_to": "nobody"}) == (400, "give_to is no valid token; the token of whoever gets the sandbox is right")
    assert refused({"give_to": daemon.token, "params": {"cpu": 1}})[0] == 400
    code, text = refused({"if_labels": {"e2b-pool": "other"}, "labels": {}})
    assert code == 409 and "its label 'e2b-pool' is 'ready', and if_labels wants 'other'" in text
