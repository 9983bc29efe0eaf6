"""Folders as tar streams, ranges, extended attributes, watches."""

import asyncio
import os
import tarfile

import pytest

import harena


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "sub" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (folder / "sub" / "run.sh").chmod(0o751)
    (folder / "big").write_bytes(os.urandom(1_500_000))
    os.link(folder / "big", folder / "sub" / "same")
    (folder / "link").symlink_to("sub/nowhere")
    (folder / os.fsdecode(b"odd \xff\n'name")).write_bytes(b"")
    (folder / "closed").mkdir()
    (folder / "closed" / "file").write_text("x")
    (folder / "closed").chmod(0o555)
    return folder


def tree_of(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        status = path.lstat()
        found[name] = (status.st_mode, os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None)
    return found


def test_trees_both_ways(sandbox, source, tmp_path, fake):
    steps = []
    sandbox.files.mkdir("/dest")
    sandbox.files.upload_tree(source, "/dest", progress=steps.append)
    assert steps[-1].done_bytes > 1_500_000 and fake.count("PUT", "/files") == 1
    assert fake.members["sub/same"].islnk() and fake.members["sub/same"].linkname == "big"
    sandbox.files.download_tree("/dest", tmp_path / "back", progress=steps.append)
    assert tree_of(tmp_path / "back") == tree_of(source)
    assert (tmp_path / "back" / "big").stat().st_ino == (tmp_path / "back" / "sub" / "same").stat().st_ino
    assert steps[-1].done_files == len(tree_of(source))
    sandbox.files.download_tree("/dest", tmp_path / "back")  # over what is there
    assert tree_of(tmp_path / "back") == tree_of(source)
    assert not list(tmp_path.rglob("*.part"))


def test_a_cut_transfer_begins_again(sandbox, source, tmp_path, fake):
    sandbox.files.mkdir("/dest")
    fake.fault("PUT", "/archive", "before", times=2)
    sandbox.files.upload_tree(source, "/dest")
    fake.fault("GET", "/archive", "middle", times=2, bytes=700_000)
    sandbox.files.download_tree("/dest", tmp_path / "back")
    assert tree_of(tmp_path / "back") == tree_of(source)


def test_async_trees(open_async, fake, source, tmp_path):
    async def main():
        async with open_async() as client:
            sandbox = await client.create(harena.ContainerArgs())
            await sandbox.files.mkdir("/dest")
            await sandbox.files.upload_tree(source, "/dest")
            await sandbox.files.download_tree("/dest", tmp_path / "back")

    asyncio.run(main())
    assert tree_of(tmp_path / "back") == tree_of(source)


@pytest.mark.parametrize("name, kind, link", [
    ("../evil", tarfile.REGTYPE, ""), ("/etc/evil", tarfile.REGTYPE, ""), ("a/../../evil", tarfile.REGTYPE, ""),
    ("hard", tarfile.LNKTYPE, "../outside/secret"), ("pipe", tarfile.FIFOTYPE, ""), ("dev", tarfile.CHRTYPE, "")])
def test_a_hostile_archive_leads_nowhere(sandbox, fake, tmp_path, name, kind, link):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    fake.evil_members = [member]
    sandbox.files.mkdir("/loot")
    with pytest.raises(harena.DataLoss):
        sandbox.files.download_tree("/loot", tmp_path / "here")
    assert sorted(os.listdir(tmp_path)) == ["here", "outside"] and os.listdir(outside) == ["secret"]


def test_a_link_isnt_followed(sandbox, fake, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    link, below = tarfile.TarInfo("a"), tarfile.TarInfo("a/passwd")
    link.type, link.linkname, below.size = tarfile.SYMTYPE, str(outside), 1
    fake.evil_members = [link, below]
    sandbox.files.mkdir("/loot")
    with pytest.raises(OSError):
        sandbox.files.download_tree("/loot", tmp_path / "here")
    assert os.listdir(outside) == []


def test_what_cant_be_sent_is_named(sandbox, tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(ValueError, match="pipe"):
        sandbox.files.upload_tree(folder, "/")


def test_ranges(sandbox, fake):
    data = os.urandom(100_000)
    sandbox.files.write("/f", data)
    assert sandbox.files.read("/f", start=5, length=10) == data[5:15]
    assert sandbox.files.read("/f", length=7) == data[:7]
    assert sandbox.files.read("/f", start=99_990, length=100) == data[-10:]
    assert sandbox.files.read("/f", start=99_990) == data[-10:]
    assert sandbox.files.read("/f", start=3, length=0) == b""
    with pytest.raises(harena.OutOfRange):
        sandbox.files.read("/f", start=100_001, length=1)
    with pytest.raises(ValueError, match="length=-1"):
        sandbox.files.read("/f", length=-1)
    fake.fault("GET", r"/files\?", "middle", times=2, bytes=10_000)
    assert sandbox.files.read("/f", start=1000, length=50_000) == data[1000:51_000]
    sandbox.files.write("/empty", b"")
    assert sandbox.files.read("/empty", length=10) == b""


def test_xattrs(sandbox):
    sandbox.files.write("/f", b"")
    sandbox.files.set_xattr("/f", "user.origin", b"\0\xff")
    sandbox.files.set_xattr("/f", "user.a", b"")
    assert sandbox.files.xattrs("/f") == {"user.a": b"", "user.origin": b"\0\xff"}
    sandbox.files.remove_xattr("/f", "user.a")
    with pytest.raises(harena.NotFound):
        sandbox.files.remove_xattr("/f", "user.a")


def test_watch_goes_on_and_says_what_it_missed(sandbox, fake):
    fake.watches = [[{"event": "create", "path": "/d/a"}, {"overflow": True}],
                    [{"event": "rename", "path": "/d/a", "to": "/d/b", "is_dir": True}, {"event": "create", "path_b64": "L2QvYf8="}]]
    events = []
    for event in sandbox.files.watch("/d", recursive=True):
        events.append(event)
        if event.path.startswith("/d/a") and event.kind == "create" and len(events) > 3:
            break
    assert [(one.kind, one.path, one.to, one.is_dir) for one in events] == [
        ("ready", "", None, False), ("create", "/d/a", None, False), ("overflow", "", None, False), ("overflow", "", None, False),
        ("rename", "/d/a", "/d/b", True), ("create", os.fsdecode(b"/d/a\xff"), None, False)]


def test_the_end_of_a_watch_is_told(sandbox, fake):
    fake.watches = [[{"error": {"code": "failed_precondition", "message": "the sandbox has ended", "cause": "none", "retry": "never", "details": {}}}], []]
    with pytest.raises(harena.FailedPrecondition, match="has ended"):
        list(sandbox.files.watch("/d"))
