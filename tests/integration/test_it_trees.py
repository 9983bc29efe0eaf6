"""Folders as tar streams, watches, ranges and extended attributes: SDK and command line against a real harenad."""

import asyncio
import json
import os
import subprocess

import pytest

import harena
from raw_api import beside


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "sub" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (folder / "sub" / "run.sh").chmod(0o751)
    (folder / "big").write_bytes(os.urandom(3_000_000))
    os.link(folder / "big", folder / "sub" / "same")
    (folder / "link").symlink_to("sub/nowhere")
    (folder / os.fsdecode(b"odd \xff\n'\xe6\x96\x87 name")).write_bytes(b"odd")
    (folder / ("n" * 255)).write_bytes(b"long")
    deep = folder.joinpath(*["d" * 100] * 5)
    deep.mkdir(parents=True)
    (deep / "f").write_bytes(b"deep")
    return folder


def tree_of(folder):
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (status.st_mode, content)
    return found


def check_inside(sandbox):
    """What arrived in /dest."""
    assert sandbox.run(["/dest/sub/run.sh"]).stdout == "ran\n"
    big, same = (sandbox.run(["stat", "-c", "%i %h %u", f"/dest/{name}"]).stdout.split() for name in ("big", "sub/same"))
    assert big == same and big[1:] == ["2", "0"]
    assert sandbox.run(["readlink", "/dest/link"]).stdout.strip() == "sub/nowhere"


@pytest.mark.parametrize("by", ["sdk", "async sdk", "cli"])
def test_trees_both_ways(harenad, sandbox, cli, source, tmp_path, by):
    back = tmp_path / "back"
    if by == "sdk":
        sandbox.files.mkdir("/dest")
        sandbox.files.upload_tree(source, "/dest")
        check_inside(sandbox)
        sandbox.files.download_tree("/dest", back)
    elif by == "async sdk":
        async def main():
            async with harenad.async_client() as client:
                files = (await client.get(sandbox.id)).files
                await files.mkdir("/dest")
                await files.upload_tree(source, "/dest")
                await files.download_tree("/dest", back)
        asyncio.run(main())
        check_inside(sandbox)
    else:
        report = json.loads(cli.out("cp", "--json", str(source), f"{sandbox.id}:/dest"))
        assert report["files"] == 6
        check_inside(sandbox)
        assert json.loads(cli.out("cp", "--json", f"{sandbox.id}:/dest", str(back)))["files"] == 6
    assert tree_of(back) == tree_of(source)
    assert os.path.samefile(back / "big", back / "sub" / "same")


def test_a_tree_across_a_kill(harenad, args, tmp_path):
    """The daemon dies in the middle of a tree each way: both arrive whole, and nothing half is left."""
    source = tmp_path / "source"
    source.mkdir()
    for number in range(40):
        (source / f"f{number}").write_bytes(os.urandom(1_000_000))
    patient = harena.RetryPolicy(attempts=40, stream_attempts=40, first_delay=0.02, max_delay=0.3)
    with harenad.client(retry=patient) as client:
        sandbox = client.create(args)
        sandbox.files.mkdir("/dest")
        for transfer in (lambda progress: sandbox.files.upload_tree(source, "/dest", progress=progress),
                         lambda progress: sandbox.files.download_tree("/dest", tmp_path / "back", progress=progress)):
            seen = []
            work = beside(transfer, seen.append)
            while not seen or seen[-1].done_bytes < 3_000_000:
                assert work.thread.is_alive() or seen
            harenad.kill()
            harenad.restart()
            work.result()
        assert tree_of(tmp_path / "back") == tree_of(source)
        assert sorted(sandbox.run(["ls", "-a", "/dest"]).stdout.split()) == sorted([".", "..", *(f"f{number}" for number in range(40))])
        sandbox.stop()


def test_attributes_and_ranges(sandbox):
    sandbox.files.write("/f", bytes(range(256)) * 1000)
    assert sandbox.files.read("/f", start=255, length=3) == b"\xff\x00\x01"
    assert sandbox.files.read("/f", start=255_999) == b"\xff"
    with pytest.raises(harena.OutOfRange):
        sandbox.files.read("/f", start=256_000)
    try:
        sandbox.files.set_xattr("/f", "user.origin", b"\0\xff")
    except harena.HarenaError as error:
        pytest.skip(f"the sandbox's file system has no user attributes: {error}")
    assert sandbox.files.xattrs("/f") == {"user.origin": b"\0\xff"}
    sandbox.files.remove_xattr("/f", "user.origin")
    assert sandbox.files.xattrs("/f") == {}


def test_a_watch_goes_on_across_a_restart(harenad, args):
    patient = harena.RetryPolicy(attempts=40, stream_attempts=40, first_delay=0.02, max_delay=0.3)
    with harenad.client(retry=patient) as client:
        sandbox = client.create(args)
        sandbox.files.mkdir("/watched")
        events = sandbox.files.watch("/watched", recursive=True)
        assert next(events).kind == "ready"
        sandbox.run("mkdir /watched/d; echo x > /watched/d/f")
        seen = set()
        while ("create", "/watched/d/f") not in seen:
            event = next(events)
            seen.add((event.kind, event.path))
        assert ("create", "/watched/d") in seen
        for number, end in enumerate((harenad.kill, harenad.stop)):
            end()
            harenad.restart()
            while (event := next(events)).kind != "overflow":
                pass  # what was on its way
            sandbox.run(f"echo x > /watched/a{number}; mv /watched/a{number} /watched/b{number}")
            while (event := next(events)).kind != "rename":
                pass
            assert (event.path, event.to) == (f"/watched/a{number}", f"/watched/b{number}")
        events.close()
        sandbox.stop()


def test_the_older_way_is_still_there(sandbox, cli, source, tmp_path):
    cli("cp", "--parallel", "4", str(source), f"{sandbox.id}:/dest")
    cli("cp", "--parallel", "4", f"{sandbox.id}:/dest", str(tmp_path / "back"))
    assert subprocess.run(["diff", "-r", "--no-dereference", source, tmp_path / "back"]).returncode == 0
