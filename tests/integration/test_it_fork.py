"""Forks of containers over the API and both SDKs: what children have, how they are counted, and what a crash leaves."""

import asyncio

import pytest

import harena


def lines(sandbox, text):
    return sandbox.run_shell(text, check=True).stdout


def test_children_have_what_the_source_had(client, sandbox):
    lines(sandbox, "mkdir -p /srv/deep; echo one > /srv/a; chown 12:34 /srv/a; rm -f /etc/motd")
    children = sandbox.fork(count=3)
    try:
        assert len({child.id for child in children}) == 3
        for number, child in enumerate(children):
            assert lines(child, "cat /srv/a; stat -c %u:%g /srv/a") == "one\n12:34\n"
            lines(child, f"echo {number} > /srv/a")
        assert [lines(child, "cat /srv/a") for child in children] == ["0\n", "1\n", "2\n"]
        assert lines(sandbox, "cat /srv/a; cat /proc/1/comm") == "one\ninit\n"
        assert all(child.info.raw["forked_from"] == sandbox.id for child in children)
        assert "fork_count" not in children[0].info.raw
        assert {child.info.params["memory"] for child in children} == {sandbox.info.params["memory"]}
    finally:
        for child in children:
            child.stop()


def test_children_outlive_the_source_and_fork_themselves(client, args):
    source = client.create(args)
    lines(source, "echo one > /a")
    child = source.fork()[0]
    source.stop()
    lines(child, "echo two >> /a")
    grandchild = child.fork()[0]
    child.stop()
    assert lines(grandchild, "cat /a") == "one\ntwo\n"
    grandchild.stop()


def test_a_running_command_goes_on(client, sandbox):
    command = sandbox.start("while :; do echo tick >> /ticks; sleep 0.01; done")
    lines(sandbox, "until test -s /ticks; do sleep 0.01; done")
    child = sandbox.fork()[0]
    assert lines(child, "test -s /ticks && echo there") == "there\n"
    assert child.info.raw["details"]["fork"]["how"] == "copied"
    lines(sandbox, "n=$(wc -l < /ticks); until test $(wc -l < /ticks) -gt $n; do sleep 0.01; done")
    command.kill()
    child.stop()


def test_a_paused_source(client, sandbox):
    lines(sandbox, "echo one > /a")
    sandbox.pause()
    child = sandbox.fork()[0]
    assert lines(child, "cat /a") == "one\n" and sandbox.refresh().state == "paused"
    child.stop()


def test_what_is_asked_for_is_over_the_sources(client, sandbox):
    child = sandbox.fork(params={"memory_bytes": 64 << 20, "env": {"X": "y"}}, labels={"a": "b"}, task="t", idle_ttl_s=7)[0]
    assert child.info.params["memory_bytes"] == 64 << 20 and "memory" not in child.info.params
    assert (child.info.labels, child.info.task, child.info.idle_ttl_s) == ({"a": "b"}, "t", 7)
    assert lines(child, "echo $X") == "y\n"
    child.stop()


def test_one_key_is_one_fork(harenad, api, box):
    body = {"count": 2, "idempotency_key": "fork-once"}
    first = api.call("POST", f"{box.path}/fork", body)
    again = api.call("POST", f"{box.path}/fork", body)
    ids = [one["sandbox"]["id"] for one in first["results"]]
    assert first["kept"] == "filesystem" and [one["sandbox"]["id"] for one in again["results"]] == ids
    with pytest.raises(Exception, match="already_exists|another request"):
        api.call("POST", f"{box.path}/fork", {"count": 3, "idempotency_key": "fork-once"})
    for one in ids:
        api.call("POST", f"/sandboxes/{one}/stop", {})


@pytest.mark.parametrize("body, word", [
    ({"count": 0}, "count"), ({"count": 1001}, "count"), ({"cuont": 1}, "count"), ({"params": {"cpus": 1}}, "cpu"),
    ({"idle_action": "sleep"}, "idle_action"), ({"params": {"memory": "1KiB"}}, "memory"), ({"labels": {"": "x"}}, "label"),
    ({"idempotency_key": "x" * 125}, "124"),
])
def test_bad_requests_are_named(api, box, body, word):
    with pytest.raises(Exception, match=word):
        api.call("POST", f"{box.path}/fork", body)


def test_an_ended_source(client, args):
    source = client.create(args)
    source.stop()
    with pytest.raises(harena.FailedPrecondition, match="stopped"):
        source.fork()


def test_both_styles_of_the_sdk(harenad, sandbox):
    async def main():
        async with harena.AsyncClient(harenad.url, harenad.token) as client:
            source = await client.get(sandbox.id)
            children = await source.fork(count=2)
            for child in children:
                assert (await child.run_shell("echo hi")).stdout == "hi\n"
                await child.stop()

    asyncio.run(main())


def test_children_and_layers_survive_a_restart(harenad, client, args):
    source = client.create(args)
    lines(source, "echo one > /a")
    child = source.fork()[0]
    harenad.kill()
    harenad.start()
    with harenad.client() as again:
        source, child = again.get(source.id), again.get(child.id)
        assert lines(child, "cat /a") == "one\n" and lines(source, "cat /a") == "one\n"
        second = source.fork()[0]
        assert lines(second, "cat /a") == "one\n"
        for one in (source, child, second):
            one.stop()
