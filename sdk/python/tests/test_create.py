"""Creating: exactly once, whatever happens to the connection."""

import asyncio
import pickle

import pytest
from fake_server import TOKEN, ApiError

import harena

ARGS = harena.ContainerArgs(image="root/base:v1", cpu=2, memory="1GiB", labels={"a": "b"})


def test_arguments_travel_as_documented(client, fake):
    sandbox = client.create(ARGS)
    body = [one for one in fake.requests if one[0] == "POST"][0][2]
    assert body == {"image": "root/base:v1", "labels": {"a": "b"}, "params": {"cpu": 2, "memory": "1GiB"}}
    assert sandbox.state == "running" and sandbox.info.params == {"cpu": 2, "memory": "1GiB"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_reply_never_makes_two(client, fake, when):
    fake.fault("POST", "/sandboxes$", when, times=2)
    client.create(ARGS)
    assert len(fake.sandboxes) == 1
    assert fake.count("POST", "/sandboxes$") == 3


def test_gives_up_in_the_end_and_says_why(client, fake):
    fake.fault("POST", "/sandboxes$", "before", times=99)
    with pytest.raises(harena.ConnectionLost) as caught:
        client.create(ARGS)
    assert isinstance(caught.value, harena.InfrastructureError)
    assert fake.count("POST", "/sandboxes$") == 4


def test_what_the_server_undid_is_asked_again_and_what_it_refused_is_not(client, fake):
    busy = ApiError(503, "unavailable", "no edge has room", "infrastructure", "other_node")
    fake.fault("POST", "/sandboxes$", "answer", times=1, error=busy)
    client.create(ARGS)
    full = ApiError(429, "resource_exhausted", "the quota of root/rl is used up", "limit", "never", cause_detail="quota")
    fake.fault("POST", "/sandboxes$", "answer", times=9, error=full)
    before = fake.count("POST", "/sandboxes$")
    with pytest.raises(harena.LimitError) as caught:
        client.create(ARGS)
    assert fake.count("POST", "/sandboxes$") == before + 1
    assert isinstance(caught.value, harena.ResourceExhausted) and caught.value.cause_detail == "quota"


def test_the_same_key_answers_the_same_sandbox_and_another_body_is_refused(client):
    first = client.create(ARGS, idempotency_key="k")
    assert client.create(ARGS, idempotency_key="k").id == first.id
    with pytest.raises(harena.AlreadyExists):
        client.create(harena.ContainerArgs(image="root/other:v1"), idempotency_key="k")


def test_bad_values_are_typed_errors_with_the_servers_sentence(client):
    with pytest.raises(harena.InvalidArgument, match="params.fuel"):
        client.create(harena.ContainerArgs(params={"fuel": 1}))
    with pytest.raises(harena.NotFound, match="no backend 'acme'"):
        client.create(harena.BackendArgs("acme"))
    with pytest.raises(harena.NotFound, match="root/base:missing"):
        client.create(harena.ContainerArgs(image="root/base:missing"))


def test_errors_survive_pickling():
    error = harena.errors.error_from_body({"code": "not_found", "message": "m", "cause": "agent"}, 404)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, harena.NotFound) and isinstance(again, harena.AgentError) and str(again) == "m"


def test_timeouts_are_told_apart(fake):
    blackhole = harena.Client("http://127.0.0.1:9", TOKEN, retry=harena.RetryPolicy(attempts=1))
    with pytest.raises(harena.ConnectError):
        blackhole.version()
    with harena.Client(fake.url, TOKEN) as patient:
        sandbox = patient.create(ARGS)
    impatient = harena.Client(fake.url, TOKEN, timeouts=harena.Timeouts(read=0.05), retry=harena.RetryPolicy(attempts=1))
    fake.life_sign_s = 60
    with impatient as client, pytest.raises(harena.ReadTimeout):
        client._transport.json("POST", f"/sandboxes/{sandbox.id}/commands", {"shell": "sleep 1", "wait": True})


def test_a_token_is_needed_and_only_goes_to_this_machine_by_itself(tmp_path, fake):
    from harena._config import discover

    file = tmp_path / "admin.token"
    file.write_text("from-file\n")
    assert discover(None, None, {}, str(file)).token == "from-file"
    assert discover(None, None, {"HARENA_TOKEN": "env", "HARENA_URL": "https://far:1/"}, str(file)).base_url == "https://far:1/v1"
    with pytest.raises(harena.Unauthenticated, match="HARENA_TOKEN"):
        discover("http://far.example:7300", None, {}, str(file))
    with pytest.raises(ValueError, match="isn't the URL"):
        discover("far.example", "t", {})
    with harena.Client(fake.url, "wrong") as client, pytest.raises(harena.Unauthenticated):
        client.whoami()


def test_batch_yields_each_as_it_is_ready(client, fake):
    assert len({sandbox.id for sandbox in client.create_batch(ARGS, count=5)}) == 5
    assert [item.index for item in client.create_batch_items(ARGS, count=3)] == [2, 1, 0]


def test_batch_goes_on_after_a_cut_and_makes_none_twice(client, fake):
    fake.fault("POST", ":batch", "middle", bytes=3000)
    fake.fault("POST", ":batch", "middle", bytes=10)
    found = {item.index: item.sandbox.id for item in client.create_batch_items(ARGS, count=20)}
    assert sorted(found) == list(range(20)) and len(set(found.values())) == 20
    assert len(fake.sandboxes) == 20
    assert fake.count("POST", ":batch") == 3


def test_batch_reports_failures_beside_the_rest(client):
    mixed = [ARGS, harena.ContainerArgs(image="root/base:missing"), ARGS]
    made = []
    with pytest.raises(harena.BatchFailed, match="1 of 3") as caught:
        for sandbox in client.create_batch(mixed):
            made.append(sandbox)
    assert len(made) == 2 and list(caught.value.errors) == [1]
    assert isinstance(caught.value.errors[1], harena.NotFound)


def test_batch_refuses_what_cant_be_one(client):
    with pytest.raises(ValueError, match="one backend"):
        list(client.create_batch([ARGS, harena.QemuArgs()]))
    with pytest.raises(ValueError, match="at most 10000"):
        list(client.create_batch(ARGS, count=10_001))


def test_async_is_the_same(open_async, fake):
    async def main():
        fake.fault("POST", "/sandboxes$", "after")
        async with open_async() as client:
            async with await client.create(ARGS) as sandbox:
                assert (await sandbox.run(["echo", "hi"])).stdout == "hi\n"
            assert sandbox.state == "stopped"
            made = [one async for one in client.create_batch(ARGS, count=4)]
            assert len(made) == 4 and len([one async for one in client.list()]) == 5

    asyncio.run(main())


def test_listing_pages_and_filters(client, fake):
    fake.page_limit = 2
    ids = sorted(sandbox.id for sandbox in client.create_batch(ARGS, count=5))
    assert [sandbox.id for sandbox in client.list()] == ids
    client.create(harena.ContainerArgs(labels={"run": "7"}, task="t"))
    assert len(list(client.list(labels={"run": "7"}))) == 1 and len(list(client.list(task="t"))) == 1


def test_verbs(client, fake):
    sandbox = client.create(ARGS)
    assert sandbox.pause().state == "paused"
    assert sandbox.run("true").ok and sandbox.refresh().state == "running"
    assert sandbox.update(labels={"x": "y"}).labels == {"x": "y"}
    assert sandbox.resize(memory="2GiB", pids=7).params["memory"] == "2GiB" and sandbox.info.params["pids"] == 7
    assert "pids" not in sandbox.resize(pids=None).params
    with pytest.raises(ValueError, match="nothing to change"):
        sandbox.resize()
    assert sandbox.usage()["pids"] == 1
    with pytest.raises(harena.Unimplemented, match="fork"):
        sandbox.fork(count=2)
    fake.fault("POST", "/stop$", "after")
    assert sandbox.stop().state == "stopped"
    with pytest.raises(harena.FailedPrecondition, match="is stopped"):
        sandbox.run("true")


def test_the_installation(client):
    assert client.version()["version"] == "0.1.0"
    assert client.backends()[0].name == "container"
    assert client.whoami()["project"] == "root"
    assert client.create_token("ci", ["sandbox_use"])["secret"]
    token = client.tokens()[0]
    client.delete_token(token["id"])
    client.create_project("root/rl")
    assert {"path": "root/rl"} in client.projects()
    client.delete_project("root/rl")
    assert client.doctor() and client.plugins() and client.nodes()


def test_images(client, tmp_path):
    steps = []
    image = client.images.import_image("root/base:v1", docker="docker://python:3.12", progress=steps.append)
    assert image.reference == "root/base:v1" and steps[0].what.startswith("copying")
    archive = tmp_path / "a.tar"
    archive.write_bytes(b"x" * 3_000_000)
    assert client.images.import_image("root/up:v1", upload=archive).size == 3_000_000
    client.images.tag("root/base:v1", "root/base:latest")
    assert [one.reference for one in client.images.list("root/base")] == ["root/base:latest", "root/base:v1"]
    assert client.images.manifest("root/base:v1")["reference"] == "root/base:v1"
    client.images.delete("root/base:v1")
    with pytest.raises(harena.DataLoss, match="cut off"):
        client.images.import_image("root/base:broken", folder="/x")
    with pytest.raises(ValueError, match="one of"):
        client.images.import_image("root/a:b")
