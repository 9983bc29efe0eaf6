"""Options that weaken a sandbox: refused or allowed by name, and each use in the trail; writable folders of the host; users that aren't there."""

import json
import os
import subprocess
from pathlib import Path

import harena
import pytest

from http_api import Api, ApiError


@pytest.fixture
def roots(harenad, image, tmp_path):
    """The daemon with folders that sandboxes may have: `in`, and `out`, which they may write to."""
    out = tmp_path / "out"
    (tmp_path / "in").mkdir()
    out.mkdir()
    (tmp_path / "in" / "file").write_text("content")
    subprocess.run(["mount", "--bind", out, out], check=True)
    subprocess.run(["mount", "-o", "remount,bind,nosuid,nodev", out], check=True)

    def change(config):
        config["plugins"]["container"]["config"].update(
            allow=["host_mounts", "capability:net_raw"],
            host_mount_roots=[str(tmp_path / "in"), {"path": str(out), "writable": True}])

    harenad.kill()
    harenad.restart(change)
    yield tmp_path
    harenad.kill()
    harenad.restart()
    subprocess.run(["umount", out], check=True)


def events(api, **query):
    target = "&".join(f"{key}={value}" for key, value in query.items())
    found, cursor = [], ""
    while True:
        page = api.call("GET", f"/events?{target}&limit=2&cursor={cursor}")
        found, cursor = found + page["events"], page["next_cursor"]
        if not cursor:
            return found


def test_each_use_is_in_the_trail(harenad, roots, args, cli):
    api = Api(harenad)
    mounts = [{"source": str(roots / "in"), "target": "/in"}, {"source": str(roots / "out"), "target": "/out", "writable": True}]
    with harenad.client() as client:
        params = {"mounts": mounts, "capabilities": ["net_raw"]}
        sandbox = client.create(harena.ContainerArgs(image=args.image, memory="64MiB", params=params))
        assert sandbox.run_shell("cat /in/file; echo out > /out/file; echo no > /in/new").stdout == "content"
        assert (roots / "out" / "file").read_text() == "out\n" and (roots / "out" / "file").stat().st_uid == 0
        found = events(api, sandbox=sandbox.id)
        assert [one["detail"] for one in found] == [
            "capability net_raw", f"host folder {roots}/in at /in", f"host folder {roots}/out at /out, writable"]
        assert {(one["type"], one["project"], one["sandbox_id"]) for one in found} == {("sandbox_weakened", "root", sandbox.id)}
        assert found[0]["principal"]
        assert api.call("GET", f"/sandboxes/{sandbox.id}")["details"]["weakened"] == [one["detail"] for one in found]
        sandbox.stop()
    assert json.loads(cli.out("--json", "events", "--sandbox", sandbox.id)) == found
    harenad.kill()
    harenad.restart()
    assert events(api, sandbox=sandbox.id) == found, "it outlives the daemon and the sandbox"


def test_a_refused_one_is_not(harenad, roots, image):
    api = Api(harenad)
    before = events(api)
    for params, words in (({"mounts": [{"source": "/etc", "target": "/in"}]}, "host_mount_roots"),
                          ({"mounts": [{"source": str(roots / "in"), "target": "/in", "writable": True}]}, "writable"),
                          ({"capabilities": ["sys_admin"]}, "capability:sys_admin"),
                          ({"privileged": True}, "privileged")):
        with pytest.raises(ApiError) as refused:
            api.call("POST", "/backends/container/sandboxes", {"image": image, "params": params})
        assert refused.value.code == "permission_denied" and words in str(refused.value.error), refused.value.error
    assert events(api) == before


def test_what_may_be_asked_of_the_trail(harenad, image):
    api = Api(harenad)
    for query, words in (("type=sandbox_weakend", "sandbox_weakened"), ("limit=0", "limit"), ("cursor=x", "cursor"), ("sandbox=x", "id"),
                         ("kind=x", "kind")):
        with pytest.raises(ApiError) as refused:
            api.call("GET", f"/events?{query}")
        assert refused.value.code == "invalid_argument" and words in str(refused.value.error), refused.value.error
    assert "/v1/events" in api.call("GET", "/openapi.json")["paths"]


def test_a_user_that_is_not_there(harenad, image):
    api = Api(harenad)
    folders = set(os.listdir(Path(harenad.state) / "sandboxes"))
    for user in ("nobody2", "root:nogroup2"):
        with pytest.raises(ApiError) as refused:
            api.call("POST", "/backends/container/sandboxes", {"image": image, "params": {"user": user}})
        assert refused.value.code == "invalid_argument" and f"'user' is '{user}'" in refused.value.error["message"], refused.value.error
    assert set(os.listdir(Path(harenad.state) / "sandboxes")) == folders
