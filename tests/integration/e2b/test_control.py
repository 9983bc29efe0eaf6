"""The control API through E2B's Python SDK, sync and async: what becomes of a sandbox."""

import asyncio
import datetime
import time
import uuid

import pytest


def until(condition, what, limit_s=30):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def left_s(info):
    return (info.end_at - now()).total_seconds()


def everything(paginator):
    found = []
    while paginator.has_next:
        found += paginator.next_items()
    return found


# create and info


def test_create_gives_an_id_and_a_domain(sdk):
    sandbox = sdk.Sandbox.create()
    assert len(sandbox.sandbox_id) == 20 and sandbox.sandbox_id.isalnum() and sandbox.sandbox_id.islower()
    assert sandbox.sandbox_domain.startswith("localhost:")
    assert sandbox.get_host(3000) == f"3000-{sandbox.sandbox_id}.{sandbox.sandbox_domain}"


def test_info_has_what_was_asked_for(sdk):
    sandbox = sdk.Sandbox.create("base", timeout=120, metadata={"user": "ada", "purpose": "test ü&="})
    info = sandbox.get_info()
    assert info.sandbox_id == sandbox.sandbox_id and info.template_id == "base"
    assert info.metadata == {"user": "ada", "purpose": "test ü&="}
    assert str(info.state.value) == "running"
    assert 100 < left_s(info) <= 120
    assert info.cpu_count == 1 and info.memory_mb == 256
    assert abs((now() - info.started_at).total_seconds()) < 60


def test_the_default_timeout_is_five_minutes(sdk):
    assert 270 < left_s(sdk.Sandbox.create().get_info()) <= 300


def test_info_by_id(sdk):
    sandbox = sdk.Sandbox.create(metadata={"a": "b"})
    assert sdk.Sandbox.get_info(sandbox.sandbox_id).metadata == {"a": "b"}


def test_another_template(sdk):
    info = sdk.Sandbox.create("other").get_info()
    assert info.template_id == "other" and info.memory_mb == 128


@pytest.mark.parametrize("name", ["base-alias", "BASE", "base:default", "team/base"])
def test_names_of_a_template(sdk, name):
    assert sdk.Sandbox.create(name).get_info().template_id == "base"


def test_an_unknown_template_is_named(sdk):
    with pytest.raises(Exception, match="template 'nothing' not found; this installation has: base, late, never, other, small"):
        sdk.Sandbox.create("nothing")


def test_start_and_ready_command(sdk):
    began = time.monotonic()
    sdk.Sandbox.create("late")
    assert time.monotonic() - began >= 0.3, "it answered before the ready command had ended with 0"


def test_a_template_that_never_gets_ready(sdk, raw):
    with pytest.raises(Exception, match="ready command hasn't ended with 0 in 1 s; it said: not yet"):
        sdk.Sandbox.create("never")
    assert raw("GET", "/v2/sandboxes")[2] == [], "what it was made of stays"


def test_metadata_of_some_size(sdk):
    metadata = {f"key-{i}": "v" * 500 for i in range(40)}
    assert sdk.Sandbox.create(metadata=metadata).get_info().metadata == metadata


def test_a_template_without_sizes_has_the_backends(sdk):
    info = sdk.Sandbox.create("small").get_info()
    assert info.cpu_count == 1 and info.memory_mb == 1024


# refusals


@pytest.mark.parametrize("timeout, said", [(0, "at least 1 second"), (-5, "at least 1 second"), (86401, "at most 86400")])
def test_timeouts_that_cannot_be(sdk, timeout, said):
    with pytest.raises(Exception, match=said):
        sdk.Sandbox.create(timeout=timeout)


@pytest.mark.parametrize("network, named", [
    ({"allow_out": ["1.1.1.1"], "deny_out": ["0.0.0.0/0"]}, "network.allowOut"),
    ({"deny_out": ["example.org"]}, "network.denyOut"),
    ({"mask_request_host": "a b"}, "network.maskRequestHost"),
])
def test_network_options_that_are_refused(sdk, network, named):
    with pytest.raises(Exception, match=named):
        sdk.Sandbox.create(network=network)


def test_network_options_that_close_it(sdk):
    info = sdk.Sandbox.create(allow_internet_access=False, network={"deny_out": ["0.0.0.0/0", "10.0.0.0/8"]}).get_info()
    assert info.allow_internet_access is False


def test_ports_that_are_not_public_have_a_token(sdk):
    sandbox = sdk.Sandbox.create(network={"allow_public_traffic": False})
    assert len(sandbox.traffic_access_token) == 64
    assert sdk.Sandbox.create().traffic_access_token is None


def test_a_network_update_is_refused(sdk):
    sandbox = sdk.Sandbox.create()
    with pytest.raises(Exception, match="network update can't be honoured"):
        sandbox.update_network({"deny_out": ["8.8.8.8"]})


def test_a_pause_without_memory_is_refused(sdk):
    sandbox = sdk.Sandbox.create()
    with pytest.raises(Exception, match="memory: false can't be honoured"):
        sandbox.pause(keep_memory=False)
    assert str(sandbox.get_info().state.value) == "running"


def test_a_wrong_key(sdk):
    with pytest.raises(sdk.module.AuthenticationException):
        sdk.Sandbox.create(api_key="e2b_" + "0" * 64)


def test_a_key_that_is_none(sdk):
    with pytest.raises(sdk.module.AuthenticationException):
        sdk.Sandbox.create(api_key="e2b_00")


# ends


def test_kill(sdk):
    sandbox = sdk.Sandbox.create()
    assert sandbox.kill() is True
    assert sandbox.kill() is False
    assert sdk.Sandbox.kill(sandbox.sandbox_id) is False
    with pytest.raises(sdk.module.SandboxNotFoundException):
        sandbox.get_info()


@pytest.mark.parametrize("unknown", ["a" * 20, "x", "i3v0q1y2z3"])
def test_kill_of_what_is_not_there(sdk, unknown):
    assert sdk.Sandbox.kill(unknown) is False


def test_a_timeout_kills(sdk):
    sandbox = sdk.Sandbox.create(timeout=2)
    until(lambda: not any(one.sandbox_id == sandbox.sandbox_id for one in everything(sdk.Sandbox.list())), "it lives on")


def test_set_timeout_may_shorten(sdk):
    sandbox = sdk.Sandbox.create(timeout=300)
    sandbox.set_timeout(30)
    assert 20 < left_s(sandbox.get_info()) <= 30
    sandbox.set_timeout(600)
    assert 580 < left_s(sandbox.get_info()) <= 600


def test_set_timeout_of_what_is_not_there(sdk):
    sandbox = sdk.Sandbox.create()
    sandbox.kill()
    with pytest.raises(sdk.module.SandboxNotFoundException):
        sandbox.set_timeout(10)


def test_a_timeout_of_zero_is_now(sdk):
    sandbox = sdk.Sandbox.create()
    sandbox.set_timeout(0)
    until(lambda: not everything(sdk.Sandbox.list()), "it lives on")


# pause, connect


def test_connect_only_ever_extends(sdk):
    sandbox = sdk.Sandbox.create(timeout=300)
    sdk.Sandbox.connect(sandbox.sandbox_id, timeout=10)
    assert left_s(sandbox.get_info()) > 250
    sdk.Sandbox.connect(sandbox.sandbox_id, timeout=900)
    assert left_s(sandbox.get_info()) > 850


def test_connect_gives_the_same_tokens(sdk):
    sandbox = sdk.Sandbox.create(network={"allow_public_traffic": False})
    again = sdk.Sandbox.connect(sandbox.sandbox_id)
    assert again.sandbox_id == sandbox.sandbox_id
    assert again.traffic_access_token == sandbox.traffic_access_token
    assert again.sandbox_domain == sandbox.sandbox_domain


def test_pause_and_connect(sdk):
    sandbox = sdk.Sandbox.create(timeout=100, metadata={"kept": "yes"})
    assert sandbox.pause()
    info = sandbox.get_info()
    assert str(info.state.value) == "paused" and info.metadata == {"kept": "yes"}
    again = sdk.Sandbox.connect(sandbox.sandbox_id, timeout=50)
    info = again.get_info()
    assert str(info.state.value) == "running"
    assert 30 < left_s(info) <= 50, "a resume has a fresh end"


def test_the_older_name_of_pause(sdk):
    sandbox = sdk.Sandbox.create()
    assert sandbox.beta_pause() is True
    assert str(sandbox.get_info().state.value) == "paused"


def test_get_host(sdk):
    sandbox = sdk.Sandbox.create()
    assert sandbox.get_host(8080) == f"8080-{sandbox.sandbox_id}.{sandbox.sandbox_domain}"


def test_the_mcp_url(sdk):
    sandbox = sdk.Sandbox.create()
    assert sandbox.get_mcp_url() == f"https://{sandbox.get_host(50005)}/mcp"


def test_no_mcp_token_without_a_gateway(sdk):
    with pytest.raises(sdk.module.NotFoundException):
        sdk.Sandbox.create().get_mcp_token()


def test_a_second_pause_is_false(sdk):
    sandbox = sdk.Sandbox.create()
    assert sandbox.pause() is True
    assert sandbox.pause() is False


def test_pause_of_what_is_not_there(sdk):
    sandbox = sdk.Sandbox.create()
    sandbox.kill()
    with pytest.raises(sdk.module.NotFoundException):
        sandbox.pause()


def test_a_paused_sandbox_can_be_killed(sdk):
    sandbox = sdk.Sandbox.create()
    sandbox.pause()
    assert sandbox.kill() is True
    assert everything(sdk.Sandbox.list()) == []


def test_a_pause_has_no_end(sdk):
    sandbox = sdk.Sandbox.create(timeout=2)
    sandbox.pause()
    time.sleep(3.5)
    assert str(sandbox.get_info().state.value) == "paused"


def test_connect_to_what_is_not_there(sdk):
    with pytest.raises(sdk.module.SandboxNotFoundException):
        sdk.Sandbox.connect("0" * 20)


def test_a_timeout_pauses(sdk):
    sandbox = sdk.Sandbox.create(timeout=2, lifecycle={"on_timeout": "pause"})
    until(lambda: str(sandbox.get_info().state.value) == "paused", "it isn't paused")
    sdk.Sandbox.connect(sandbox.sandbox_id, timeout=60)
    assert str(sandbox.get_info().state.value) == "running"


def test_the_lifecycle_is_told(sdk):
    sandbox = sdk.Sandbox.create(lifecycle={"on_timeout": "pause", "auto_resume": True})
    lifecycle = sandbox.get_info().lifecycle
    assert lifecycle["on_timeout"] == "pause" and lifecycle["auto_resume"] is True
    lifecycle = sdk.Sandbox.create().get_info().lifecycle
    assert lifecycle["on_timeout"] == "kill" and lifecycle["auto_resume"] is False


# lists


def test_list_filters_by_metadata(sdk):
    mark = uuid.uuid4().hex
    wanted = sdk.Sandbox.create(metadata={"mark": mark, "n": "a b&c=d/é"})
    sdk.Sandbox.create(metadata={"mark": mark, "n": "other"})
    query = sdk.module.SandboxQuery(metadata={"mark": mark, "n": "a b&c=d/é"})
    assert [one.sandbox_id for one in everything(sdk.Sandbox.list(query=query))] == [wanted.sandbox_id]
    nothing = sdk.module.SandboxQuery(metadata={"mark": "nobody's"})
    assert everything(sdk.Sandbox.list(query=nothing)) == []


def test_list_by_pages_in_both_orders(sdk):
    made = [sdk.Sandbox.create(metadata={"n": str(n)}).sandbox_id for n in range(5)]
    newest_first = []
    pages = sdk.Sandbox.list(limit=2)
    while pages.has_next:
        page = pages.next_items()
        assert len(page) <= 2
        newest_first += [one.sandbox_id for one in page]
    assert newest_first == made[::-1]
    assert [one.sandbox_id for one in everything(sdk.Sandbox.list(limit=3, order="asc"))] == made


def test_list_by_state(sdk):
    running, paused = sdk.Sandbox.create(), sdk.Sandbox.create()
    paused.pause()
    states = sdk.module.SandboxState

    def ids(*wanted):
        return {one.sandbox_id for one in everything(sdk.Sandbox.list(query=sdk.module.SandboxQuery(state=list(wanted))))}

    assert ids(states.RUNNING) == {running.sandbox_id}
    assert ids(states.PAUSED) == {paused.sandbox_id}
    assert ids(states.RUNNING, states.PAUSED) == {running.sandbox_id, paused.sandbox_id}
    assert len(everything(sdk.Sandbox.list())) == 2


# metrics and what isn't there


def test_metrics(sdk):
    sandbox = sdk.Sandbox.create()
    found = sandbox.get_metrics()
    assert len(found) == 1
    assert found[0].cpu_count == 1 and found[0].mem_total == 256 * 1024 * 1024 and found[0].mem_used > 0
    assert 0 <= found[0].cpu_used_pct < 500


def test_metrics_of_the_past_are_none(sdk):
    sandbox = sdk.Sandbox.create()
    hour = datetime.timedelta(hours=1)
    assert sandbox.get_metrics(start=now() - 2 * hour, end=now() - hour) == []


def test_metrics_of_what_is_not_there(sdk):
    sandbox = sdk.Sandbox.create()
    sandbox.kill()
    with pytest.raises(sdk.module.SandboxNotFoundException):
        sandbox.get_metrics()


def test_an_idempotency_key_makes_one(sdk):
    key = uuid.uuid4().hex
    first = sdk.Sandbox.create(idempotency_key=key)
    assert sdk.Sandbox.create(idempotency_key=key).sandbox_id == first.sandbox_id
    assert len(everything(sdk.Sandbox.list())) == 1


def test_template_exists(sdk):
    assert sdk.Template.alias_exists("base") is True
    assert sdk.Template.alias_exists("nothing") is False


def test_a_template_build_is_refused_in_a_sentence(sdk):
    template = sdk.module.Template().from_base_image().run_cmd("true")
    with pytest.raises(Exception, match="templates can't be built or changed here"):
        sdk.Template.build(template, alias="mine")


def test_twenty_four_at_once(python_sdk, raw):
    async def create_all():
        return await asyncio.gather(*[python_sdk.AsyncSandbox.create("small") for _ in range(24)])

    made = asyncio.run(create_all())
    assert len({one.sandbox_id for one in made}) == 24
    assert len(raw("GET", "/v2/sandboxes")[2]) == 24


# snapshots and forks


def test_a_snapshot_is_a_template(sdk):
    sandbox = sdk.Sandbox.create(metadata={"of": "source"}, envs={"KEPT": "yes"})
    sandbox.files.write("/home/user/kept.txt", "kept")
    snapshot = sandbox.create_snapshot()
    sandbox.files.write("/home/user/kept.txt", "changed since")
    again = sdk.Sandbox.create(snapshot.snapshot_id, metadata={"of": "copy"}, timeout=100)
    assert again.files.read("/home/user/kept.txt") == "kept"
    assert sandbox.files.read("/home/user/kept.txt") == "changed since", "the source goes on"
    info = again.get_info()
    assert info.template_id == snapshot.snapshot_id and info.metadata == {"of": "copy"} and 60 < left_s(info) <= 100
    assert again.commands.run("whoami; echo $KEPT").stdout == "user\nyes\n"
    assert [one.snapshot_id for one in everything(sandbox.list_snapshots())] == [snapshot.snapshot_id]
    assert sdk.Sandbox.delete_snapshot(snapshot.snapshot_id) is True
    assert sdk.Sandbox.delete_snapshot(snapshot.snapshot_id) is False
    with pytest.raises(Exception, match="not found"):
        sdk.Sandbox.create(snapshot.snapshot_id)
    assert again.files.read("/home/user/kept.txt") == "kept", "what was made of it goes on"


def test_a_snapshot_with_a_name(sdk):
    sandbox = sdk.Sandbox.create()
    name = "n" + uuid.uuid4().hex
    snapshot = sandbox.create_snapshot(name=name)
    try:
        assert snapshot.names == [name]
        assert sdk.Sandbox.create(name).get_info().template_id == snapshot.snapshot_id
    finally:
        sdk.Sandbox.delete_snapshot(name)


def test_fork(sdk):
    sandbox = sdk.Sandbox.create(metadata={"a": "b"})
    sandbox.files.write("/home/user/x", "before")
    children = sandbox.fork(count=2)
    assert len(children) == 2
    for child in children:
        assert child.sandbox_id != sandbox.sandbox_id
        assert child.files.read("/home/user/x") == "before"
        assert child.get_info().metadata == {"a": "b"}
    children[0].files.write("/home/user/x", "mine")
    assert children[1].files.read("/home/user/x") == "before" and sandbox.files.read("/home/user/x") == "before"


def runs_what_the_template_starts(sandbox):
    started = [one for one in sandbox.commands.list() if "exec sleep 1000" in " ".join(one.args)]
    return len(started) == 1 and sandbox.files.exists("/tmp/ready")


def test_forks_run_what_the_template_starts(sdk):
    """A container's fork keeps files alone: what its template starts is started in it again."""
    sandbox = sdk.Sandbox.create("late")
    sandbox.commands.run("rm /tmp/ready")
    assert all(runs_what_the_template_starts(child) for child in sandbox.fork(count=2))


def test_a_sandbox_of_a_snapshot_runs_what_the_template_starts(sdk):
    """Of a snapshot of a sandbox of a snapshot too."""
    first = sdk.Sandbox.create("late").create_snapshot()
    second = None
    try:
        middle = sdk.Sandbox.create(first.snapshot_id)
        assert runs_what_the_template_starts(middle)
        middle.commands.run("rm /tmp/ready")
        second = middle.create_snapshot()
        assert runs_what_the_template_starts(sdk.Sandbox.create(second.snapshot_id))
    finally:
        for one in (first, second):
            if one is not None:
                sdk.Sandbox.delete_snapshot(one.snapshot_id)


def test_fork_and_snapshot_of_what_is_not_there(sdk):
    sandbox = sdk.Sandbox.create()
    sandbox.kill()
    with pytest.raises(sdk.module.NotFoundException):
        sandbox.fork()
    with pytest.raises(sdk.module.NotFoundException):
        sandbox.create_snapshot()
