"""Files: odd names, long transfers, and a sandbox that means harm."""

import os

import pytest

import harena

NAMES = ["plain", "文件 \"a'b.txt", "new\nline", "%2F%", "?a=b&c#d", "x" * 255, os.fsdecode(b"not-utf8-\xff")]


@pytest.mark.parametrize("name", NAMES)
def test_any_name(sandbox, name):
    sandbox.files.mkdir("/work", parents=True)
    path = "/work/" + name
    sandbox.files.write(path, b"body \0\xff")
    assert sandbox.files.read(path) == b"body \0\xff"
    assert [entry.name for entry in sandbox.files.list("/work")] == [name]
    assert sandbox.files.stat(path).path == path
    if len(name) < 250:
        sandbox.files.move(path, path + "2")
        path += "2"
    sandbox.files.remove(path)
    assert not sandbox.files.exists(path)


def test_the_verbs(sandbox):
    files = sandbox.files
    files.write("/a/b/c.txt", "text", mode=0o600, parents=True)
    assert files.stat("/a/b/c.txt").mode == 0o600 and files.read_text("/a/b/c.txt") == "text"
    files.chmod("/a/b/c.txt", 0o755)
    files.symlink("/a/link", "b/c.txt")
    link = files.stat("/a/link")
    assert link.type == "symlink" and link.target == "b/c.txt"
    assert [entry.path for entry in files.list("/a", recursive=True)] == ["/a/b", "/a/b/c.txt", "/a/link"]
    files.remove("/a", recursive=True)
    with pytest.raises(harena.NotFound):
        files.read("/a/b/c.txt")
    with pytest.raises(ValueError, match="absolute"):
        files.read("relative")


def test_a_cut_download_goes_on_where_it_was(sandbox, fake):
    data = os.urandom(500_000)
    sandbox.files.write("/big", data)
    fake.fault("GET", "/files", "middle", bytes=200_000)
    fake.fault("GET", "/files", "middle", bytes=1)
    assert sandbox.files.read("/big") == data
    assert fake.count("GET", r"/files\?") == 3


def test_a_file_that_changes_meanwhile_is_an_error(sandbox, fake):
    sandbox.files.write("/big", b"a" * 400_000)
    fake.fault("GET", "/files", "middle", bytes=300_000)
    stream = sandbox.files.read_stream("/big")
    next(stream)
    sandbox.files.write("/big", b"b" * 400_000)
    with pytest.raises(harena.DataLoss, match="changed"):
        list(stream)


def test_a_lost_upload_is_repeated_whole(sandbox, fake, tmp_path):
    local = tmp_path / "f"
    local.write_bytes(os.urandom(1_000_000))
    fake.fault("PUT", "/files", "after")
    seen = []
    sandbox.files.upload(local, "/f", progress=seen.append)
    assert sandbox.files.read("/f") == local.read_bytes()
    assert seen[-1].done_bytes == seen[-1].total_bytes == 1_000_000 or seen[-1].done_files == 1


def test_folders_both_ways(sandbox, fake, tmp_path):
    source = tmp_path / "source"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (source / "sub" / "run.sh").chmod(0o751)
    (source / "link").symlink_to("sub/run.sh")
    (source / "dangling").symlink_to("/nowhere/at/all")
    for number in range(40):
        (source / f"f{number}").write_bytes(b"%d" % number)
    fake.page_limit = 7
    seen = []
    sandbox.files.upload(source, "/dest", progress=seen.append)
    sandbox.files.upload(source, "/dest")  # again, over itself
    assert seen[-1].done_files == seen[-1].total_files == 41
    back = tmp_path / "back"
    for _ in range(2):
        sandbox.files.download("/dest", back, progress=seen.append)
        assert (back / "f7").read_bytes() == b"7"
        assert (back / "sub" / "run.sh").stat().st_mode & 0o777 == 0o751
        assert os.readlink(back / "link") == "sub/run.sh" and os.readlink(back / "dangling") == "/nowhere/at/all"
        assert (back / "sub" / "empty").is_dir()
    assert not [name for name in os.listdir(back) if ".harena" in name]


def test_nothing_is_written_outside(sandbox, fake, tmp_path):
    sandbox.files.mkdir("/loot")
    outside = tmp_path / "outside"
    outside.mkdir()
    entry = {"type": "file", "size": 1, "mode": "0644", "uid": 0, "gid": 0, "modified_ms": 0, "name": "x"}
    for path in ("/loot/../../evil", "/elsewhere/x", "/loot/a//b", "/loot/"):
        fake.evil_entries = [dict(entry, path=path)]
        with pytest.raises(harena.DataLoss):
            sandbox.files.download("/loot", tmp_path / "here")
    fake.evil_entries = []
    # First a link, and the next time a file behind it: it must not be followed.
    sandbox.files.symlink("/loot/a", str(outside))
    sandbox.files.download("/loot", tmp_path / "here")
    sandbox.files.remove("/loot/a")
    sandbox.files.write("/loot/a/passwd", "mine now", parents=True)
    with pytest.raises(OSError):
        sandbox.files.download("/loot", tmp_path / "here")
    assert not list(outside.iterdir())


def test_set_user_id_stays_in_the_sandbox(sandbox, tmp_path):
    sandbox.files.write("/suid", b"x", mode=0o4755)
    sandbox.files.download("/suid", tmp_path / "suid")
    assert (tmp_path / "suid").stat().st_mode & 0o7777 == 0o755


def test_a_fifo_cant_be_sent(sandbox, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="neither"):
        sandbox.files.upload(tmp_path, "/x")
