"""Snapshots of containers over the API, the SDK and the command line; and a random walk against a model."""

import json
import random

import pytest

import harena
from http_api import LONG


def lines(sandbox, text):
    return sandbox.run_shell(text, check=True).stdout


@pytest.fixture
def name():
    return f"s{random.getrandbits(40):x}"


def test_a_snapshot_is_made_of_used_and_deleted(client, args, name):
    source = client.create(args)
    lines(source, "echo one > /a")
    taken = source.snapshot(name)
    assert (taken.name, taken.kept, taken.state, taken.sandbox_id) == (name, "filesystem", "ready", source.id)
    lines(source, "echo two > /a")
    source.stop()
    made = client.create(harena.ContainerArgs(snapshot=name, labels={"x": "y"}))
    assert lines(made, "cat /a") == "one\n"
    assert made.info.snapshot == taken.id and made.info.params["memory"] == source.info.params["memory"]
    assert [one.id for one in client.snapshots.list(name=name)] == [taken.id]
    assert client.snapshots.get(taken.id).name == name and client.snapshots.get(name).id == taken.id
    client.snapshots.delete(name)
    assert lines(made, "cat /a") == "one\n"
    with pytest.raises(harena.NotFound, match="no snapshot"):
        client.create(harena.ContainerArgs(snapshot=taken.id))
    with pytest.raises(harena.NotFound):
        client.snapshots.get(taken.id)
    made.stop()


def test_names_are_taken_once(client, sandbox, api, name):
    first = sandbox.snapshot(name)
    with pytest.raises(harena.AlreadyExists, match=name):
        sandbox.snapshot(name)
    other = sandbox.snapshot()
    assert other.name == other.id != first.id
    key = {"name": name + "k", "idempotency_key": "once"}
    path = f"/sandboxes/{sandbox.id}/snapshots"
    once = api.call("POST", path, key)["id"]
    assert api.call("POST", path, key)["id"] == once
    for one in (first.id, other.id, once):
        client.snapshots.delete(one)


@pytest.mark.parametrize("body, word", [({"name": "No Good"}, "snapshot name"), ({"nmae": "x"}, "name"), ({"name": 1}, "name")])
def test_bad_requests_are_named(api, box, body, word):
    with pytest.raises(Exception, match=word):
        api.call("POST", f"{box.path}/snapshots", body)


def test_rollback(client, sandbox, name):
    lines(sandbox, "echo one > /a; mkdir /d; echo 1 > /d/f; chmod 700 /d")
    snapshot = sandbox.snapshot(name)
    lines(sandbox, "echo two > /a; rm -r /d; mkdir /e")
    running = sandbox.start("sleep 1000")
    assert sandbox.rollback(name).state == "running"
    assert running.wait().signal == "KILL"
    assert lines(sandbox, "cat /a /d/f; stat -c %a /d; test -e /e || echo gone; ls /proc/1/stat") == "one\n1\n700\ngone\n/proc/1/stat\n"
    sandbox.rollback(snapshot)
    child = sandbox.fork()[0]
    lines(child, "echo three > /a")
    child.rollback(snapshot)
    assert lines(child, "cat /a") == "one\n"
    child.stop()
    with pytest.raises(harena.NotFound, match="no-such"):
        sandbox.rollback("no-such")
    with pytest.raises(harena.InvalidArgument, match="snapshot"):
        client._transport.json("POST", f"/sandboxes/{sandbox.id}/rollback", {})
    client.snapshots.delete(snapshot)


def test_images_and_snapshots_exclude_each_other(client, image):
    with pytest.raises(harena.InvalidArgument, match="snapshot"):
        client.create(harena.ContainerArgs(image=image, snapshot="x"))


def test_pages(client, sandbox, api):
    ids = sorted(sandbox.snapshot().id for _ in range(3))
    page = api.call("GET", f"/snapshots?sandbox={sandbox.id}&limit=2")
    rest = api.call("GET", f"/snapshots?sandbox={sandbox.id}&limit=2&cursor={page['next_cursor']}")
    assert [one["id"] for one in page["snapshots"] + rest["snapshots"]] == ids and rest["next_cursor"] == ""
    for one in ids:
        client.snapshots.delete(one)


def test_snapshots_survive_a_restart(harenad, client, args, name):
    source = client.create(args)
    lines(source, "echo one > /a")
    source.snapshot(name)
    source.stop()
    harenad.kill()
    harenad.start()
    with harenad.client() as again:
        made = again.create(harena.ContainerArgs(snapshot=name))
        assert lines(made, "cat /a") == "one\n"
        made.stop()
        again.snapshots.delete(name)


def test_the_command_line(cli, client, sandbox, name):
    lines(sandbox, "echo one > /a")
    child, = cli.out("fork", sandbox.id).split()
    assert client.get(child).info.forked_from == sandbox.id
    snapshot = cli.out("snapshot", sandbox.id, name).strip()
    assert snapshot in cli.out("snapshots", "ls", "--sandbox", sandbox.id) and cli.out("snapshots", "ls", "-q", "--sandbox", sandbox.id) == snapshot + "\n"
    assert json.loads(cli.out("snapshots", "inspect", name))[0]["id"] == snapshot
    lines(sandbox, "rm /a")
    assert cli.out("rollback", sandbox.id, name) == sandbox.id + "\n"
    assert lines(sandbox, "cat /a") == "one\n"
    made = cli.out("create", "--snapshot", name).strip()
    assert lines(client.get(made), "cat /a") == "one\n"
    cli.out("stop", made, child)
    cli.out("snapshots", "rm", name)
    assert b"no snapshot" in cli("snapshots", "rm", name, code=125).stderr


class Model:
    """Files of one sandbox: path to content, hard links sharing a list."""

    def __init__(self, files=None, folders=()):
        self.files = files or {}
        self.folders = set(folders)

    def frozen(self):
        """What is in a layer is copied up by name: a write through one hard link leaves the other as it was (overlayfs)."""
        self.files = {path: list(cell) for path, cell in self.files.items()}
        return Model({path: list(cell) for path, cell in self.files.items()}, self.folders)

    def change(self, rng):
        folder = rng.choice(["/m"] + sorted(self.folders))
        path = f"{folder}/f{rng.randrange(6)}"
        kind = rng.randrange(7)
        if kind == 0:
            new = f"/m/d{rng.randrange(4)}"
            self.folders.add(new)
            return f"mkdir -p {new}"
        if kind == 1 and self.folders:
            gone = rng.choice(sorted(self.folders))
            self.folders.discard(gone)
            self.files = {one: cell for one, cell in self.files.items() if not one.startswith(gone + "/")}
            return f"rm -r {gone}"
        if kind == 2 and path in self.files:
            del self.files[path]
            return f"rm {path}"
        if kind == 3 and path in self.files:
            target = f"{folder}/l{rng.randrange(3)}"
            self.files[target] = self.files[path]
            return f"ln -f {path} {target}"
        text = f"t{rng.randrange(1000)}"
        if kind == 4 and path in self.files:
            self.files[path][0] += text
            return f"printf {text} >> {path}"
        if path in self.files:
            self.files[path][0] = text
        else:
            self.files[path] = [text]
        return f"printf {text} > {path}"

    def seen(self):
        rows = [f"{path} {cell[0]}" for path, cell in self.files.items()]
        return sorted(rows + sorted(self.folders))


LOOK = 'find /m -type f | while read f; do echo "$f $(cat $f)"; done; find /m -mindepth 1 -type d'


def test_random_walk(client, args):
    """N random changes, snapshots, rollbacks and forks: every sandbox has what the model has."""
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    first = client.create(args)
    lines(first, "mkdir /m")
    living, snapshots = [(first, Model())], []
    for step in range(400 if LONG else 40):
        place = rng.randrange(len(living))
        box, model = living[place]
        lines(box, "; ".join(model.change(rng) for _ in range(rng.randrange(1, 6))))
        what = rng.randrange(6)
        if what == 0:
            snapshots.append((box.snapshot(), model.frozen()))
        elif what == 1 and snapshots:
            snapshot, then = rng.choice(snapshots)
            box.rollback(snapshot)
            living[place] = box, then.frozen()
        elif what == 2:
            living.append((box.fork()[0], model.frozen()))
        elif what == 3 and snapshots:
            snapshot, then = rng.choice(snapshots)
            living.append((client.create(harena.ContainerArgs(snapshot=snapshot.id)), then.frozen()))
        if len(living) > 4:
            living.pop(rng.randrange(len(living)))[0].stop()
        if len(snapshots) > 4:
            client.snapshots.delete(snapshots.pop(rng.randrange(len(snapshots)))[0])
        box, model = living[rng.randrange(len(living))]
        assert sorted(lines(box, LOOK).split("\n")[:-1]) == model.seen(), (seed, step)
    for box, model in living:
        assert sorted(lines(box, LOOK).split("\n")[:-1]) == model.seen(), seed
        box.stop()
    for snapshot, _ in snapshots:
        client.snapshots.delete(snapshot)
