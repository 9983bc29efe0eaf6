"""Other limits for a living sandbox: through the API, both SDK classes and the command line, and deaths in the middle."""

import asyncio
import json
from pathlib import Path

import harena
import pytest

from http_api import Api
from test_it_leaks import faulty, revive  # noqa: F401 (a fixture)

IMAGE = "root/tiny:v1"


def group_file(daemon, sandbox_id, v1, v2):
    """What the kernel says of the sandbox's group, from outside."""
    instance = json.loads(daemon.config.read_text())["plugins"]["container"]["config"]["instance"]
    top = Path("/sys/fs/cgroup")
    for root in [top / "harena", *top.glob("*/harena")]:
        folder = root / instance / sandbox_id
        for name in (v1, v2):
            if (folder / name).exists():
                return (folder / name).read_text().strip()
    raise AssertionError(f"no group of {sandbox_id} has {v1} or {v2}")


def memory(daemon, sandbox_id):
    return int(group_file(daemon, sandbox_id, "memory.limit_in_bytes", "memory.max"))


def pids(daemon, sandbox_id):
    return int(group_file(daemon, sandbox_id, "pids.max", "pids.max")) - 1


def test_sdk(harenad, sandbox):
    info = sandbox.resize(memory="192MiB", pids=77, cpuset="0")
    assert (info.params["memory"], info.params["pids"], info.state) == ("192MiB", 77, "running")
    assert memory(harenad, sandbox.id) == 192 << 20 and pids(harenad, sandbox.id) == 77
    assert sandbox.run("nproc").stdout == "1\n"
    assert sandbox.refresh().params["cpuset"] == "0"
    sandbox.resize(pids=None)
    assert pids(harenad, sandbox.id) == 1024 and sandbox.info.params["pids"] == 1024


def test_async_sdk(harenad, args):
    async def play():
        async with harenad.async_client() as client:
            sandbox = await client.create(args)
            info = await sandbox.resize(memory=96 << 20)
            await sandbox.stop()
            return info

    assert asyncio.run(play()).params["memory"] == 96 << 20


def test_command_line(harenad, cli, image):
    box = cli.out("create", image, "-p", "memory=128MiB").strip()
    assert cli.out("resize", box, "--memory", "256MiB", "--cpu", "2", "-p", "pids=50").strip() == box
    assert memory(harenad, box) == 256 << 20 and pids(harenad, box) == 50
    assert json.loads(cli.out("--json", "resize", box, "--unset", "pids"))["params"]["pids"] == 1024
    for words, said in ((["--memory", "lots"], b"memory"), ([], b"nothing to change"), (["-p", "hostname=x"], b"'hostname'"),
                        (["-p", "memmory=1GiB"], b"memory"), (["--pids", "9", "--unset", "pids"], b"both set and unset")):
        assert said in cli("resize", box, *words, code=125).stderr, words
    assert memory(harenad, box) == 256 << 20 and pids(harenad, box) == 1024
    cli("stop", box)
    assert b"stopped" in cli("resize", box, "--cpu", "2", code=125).stderr


def test_paused_and_after_a_restart(harenad, sandbox):
    sandbox.pause()
    assert sandbox.resize(memory="160MiB").state == "paused"
    harenad.kill()
    harenad.restart()
    assert sandbox.refresh().params["memory"] == "160MiB" and memory(harenad, sandbox.id) == 160 << 20
    assert sandbox.resize(memory="170MiB").state == "paused"
    assert sandbox.run("echo on").stdout == "on\n"


def test_a_refusal_changes_nothing(harenad, sandbox):
    sandbox.resize(memory="128MiB")
    sandbox.run_shell("dd if=/dev/zero of=/dev/shm/held bs=1M count=40 2>/dev/null")
    with pytest.raises(harena.HarenaError, match="in use") as refused:
        sandbox.resize(memory="16MiB", pids=9)
    assert (refused.value.code, refused.value.cause) == ("failed_precondition", "limit")
    with pytest.raises(harena.HarenaError, match="can't change while"):
        sandbox.resize(pids=9, shm="1MiB")
    with pytest.raises(harena.HarenaError):
        sandbox.resize(pids=9, cpu="lots")
    assert sandbox.refresh().params["pids"] == 1024
    assert memory(harenad, sandbox.id) == 128 << 20 and pids(harenad, sandbox.id) == 1024


def test_quota_of_the_difference(harenad, args):
    api = Api(harenad)
    api.call("POST", "/projects", {"path": "root/resized", "limits": {"memory_bytes": 300 << 20}})
    with harenad.client() as client:
        sandbox = client.create(harena.ContainerArgs(image=args.image, project="root/resized", memory="200MiB"))
        sandbox.resize(memory="300MiB")
        with pytest.raises(harena.HarenaError, match="root/resized") as refused:
            sandbox.resize(memory="301MiB")
        assert refused.value.code == "resource_exhausted" and memory(harenad, sandbox.id) == 300 << 20
        sandbox.resize(memory="100MiB")
        sandbox.stop()


def test_openapi_and_verbs(harenad):
    api = Api(harenad)
    container = next(one for one in api.call("GET", "/backends")["backends"] if one["name"] == "container")
    assert "resize" in container["verbs"]
    schema = api.call("GET", "/openapi.json")["components"]["schemas"]["UpdateSandbox"]
    assert "params" in schema["properties"]


@pytest.mark.parametrize("point", ["resize.memory", "resize.pids", "resize.cgroups"])
def test_a_death_in_the_middle_is_gone_through_with(faulty, point):  # noqa: F811
    with faulty.client() as client:
        sandbox = client.create(harena.ContainerArgs(image=IMAGE, memory="64MiB", pids=40))
    faulty.fault.write_text(point)
    with faulty.client() as client:
        with pytest.raises(harena.HarenaError):
            client.get(sandbox.id).resize(memory="128MiB", pids=50)
    if faulty.fault.exists():
        pytest.skip("the build has no fault points")
    assert revive(faulty)
    with faulty.client() as client:
        sandbox = client.get(sandbox.id)
        assert sandbox.info.state == "running"
        assert (sandbox.info.params["memory"], sandbox.info.params["pids"]) == ("128MiB", 50)
        assert memory(faulty, sandbox.id) == 128 << 20 and pids(faulty, sandbox.id) == 50
        assert sandbox.run("echo alive").stdout == "alive\n"
        sandbox.stop()
