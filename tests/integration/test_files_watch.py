"""Watching a folder through HTTP."""

import socket
from urllib.parse import urlsplit

import pytest

from files_support import Watch, error_of


@pytest.fixture
def folder(files, request):
    path = f"/work/watch-{abs(hash(request.node.name)) % 10**9}"
    files.sh(f"rm -rf {path}; mkdir -p {path}/known")
    return path


def events(lines, path):
    return [line["event"] for line in lines if line.get("path") == path]


def test_what_happens_is_said(files, folder):
    watch = Watch(files, folder, recursive=True)
    files.sh(f"cd {folder}; printf x > f; chmod 600 f; mv f known/g; rm known/g; mkdir d; rmdir d")
    lines = watch.wait_for("remove", f"{folder}/d")
    assert events(lines, f"{folder}/f") == ["create", "write", "attrib", "rename"]
    rename = next(line for line in lines if line.get("event") == "rename")
    assert rename["to"] == f"{folder}/known/g" and rename["is_dir"] is False
    assert events(lines, f"{folder}/known/g") == ["remove"]
    assert [line["is_dir"] for line in lines if line.get("path") == f"{folder}/d"] == [True, True]


def test_an_upload_is_a_create_and_a_write(files, folder):
    watch = Watch(files, folder)
    files.ok(f"{folder}/put", b"x")
    files.ok(f"{folder}/put", b"y")
    files.put(f"{folder}/put", b"z", offset=0)
    files.delete(f"{folder}/put")
    lines = watch.wait_for("remove", f"{folder}/put")
    assert events(lines, f"{folder}/put")[:2] == ["create", "write"]
    assert not any(".harena" in line.get("path", "") for line in lines)


def test_not_recursive_is_the_folder_alone(files, folder):
    watch = Watch(files, folder)
    files.sh(f": > {folder}/known/inside; : > {folder}/last")
    lines = watch.wait_for("create", f"{folder}/last")
    assert events(lines, f"{folder}/known/inside") == []


def test_new_folders_without_a_race(files, folder):
    """Files made at once in folders that were just made, as fast as a shell can."""
    watch = Watch(files, folder, recursive=True)
    count = 300
    files.sh(f"cd {folder}; for i in $(seq {count}); do mkdir -p a$i/b/c; : > a$i/b/c/f; : > a$i/f; done")
    for name in ("b/c/f", "f"):
        watch.wait_for("create", f"{folder}/a{count}/{name}")
    lines = watch.lines
    for i in range(1, count + 1):
        for name in ("", "/b", "/b/c", "/b/c/f", "/f"):
            assert events(lines, f"{folder}/a{i}{name}").count("create") == 1, f"a{i}{name}"


def test_folders_that_move(files, folder):
    files.sh(f"mkdir -p {folder}-out/tree/deep; : > {folder}-out/tree/deep/old")
    watch = Watch(files, folder, recursive=True)
    files.sh(f"mv {folder}/known {folder}/renamed; : > {folder}/renamed/after")
    watch.wait_for("rename", f"{folder}/known", to=f"{folder}/renamed", is_dir=True)
    watch.wait_for("create", f"{folder}/renamed/after")
    files.sh(f"mv {folder}-out/tree {folder}/tree")
    watch.wait_for("create", f"{folder}/tree/deep/old")
    files.sh(f": > {folder}/tree/deep/new")
    watch.wait_for("create", f"{folder}/tree/deep/new")
    files.sh(f"mv {folder}/tree {folder}-out/tree; : > {folder}-out/tree/deep/unseen; : > {folder}/last")
    watch.wait_for("remove", f"{folder}/tree", is_dir=True)
    lines = watch.wait_for("create", f"{folder}/last")
    assert not any("unseen" in line.get("path", "") for line in lines)


def test_lost_events_are_said(files, folder):
    """More happens than the kernel and the sockets keep while nobody reads."""
    where = urlsplit(files.url("/watch", path=folder, recursive=True))
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    reader.settimeout(60)
    reader.connect((where.hostname, where.port))
    reader.sendall(f"GET {where.path}?{where.query} HTTP/1.0\r\nAuthorization: {files.http.headers['Authorization']}\r\n\r\n".encode())
    lines = reader.makefile("rb")
    until(lines, b'"ready"')
    long = "n" * 200
    files.sh(f"cd {folder}; mkdir sub; i=0; while [ $i -lt 90000 ]; do echo >> {long}$((i % 2)); i=$((i+1)); done; : > sub/last", timeout_ms=120_000)
    until(lines, b'{"overflow":true}')
    # All is watched again, the new folder too.
    files.sh(f": > {folder}/sub/afterwards")
    until(lines, b"/sub/afterwards")
    reader.close()


def until(lines, text):
    for line in lines:
        if text in line:
            return
    raise AssertionError(f"the stream ended without {text}")


def test_ends_with_its_folder(files, folder):
    watch = Watch(files, folder, recursive=True)
    files.sh(f"rm -r {folder}")
    lines = watch.wait_end()
    assert lines[-1] == {"event": "remove", "path": folder, "is_dir": True}
    assert events(lines, f"{folder}/known") == ["remove"]


def test_ends_with_its_sandbox(harenad, client, args):
    from files_support import Files

    with client.create(args) as sandbox:
        files = Files(harenad, sandbox.id)
        watch = Watch(files, "/work", recursive=True)
        sandbox.stop()
        lines = watch.wait_end()
        assert "error" in lines[-1] or lines[-1].get("event") == "ready"
        files.close()


def test_as_a_user_and_what_is_no_folder(files, folder):
    files.sh(f"mkdir -m 700 {folder}/closed")
    watch = Watch(files, folder, recursive=True, user="user")
    watch.wait_for("unwatched", f"{folder}/closed")
    files.sh(f"chmod 755 {folder}/closed; : > {folder}/closed/now")
    watch.wait_for("create", f"{folder}/closed/now")
    for path, status in [("/etc/passwd", 409), ("/none", 404)]:
        answer = files.http.get(files.url("/watch", path=path))
        assert answer.status_code == status, answer.text
    assert error_of(files.http.get(files.url("/watch", path=f"{folder}", user="nobody" * 3)))["code"] == "not_found"


def test_odd_names(files, folder):
    watch = Watch(files, folder, recursive=True)
    files.ok(folder.encode() + b"/\xff\n", b"x")
    watch.wait(lambda lines: any("path_b64" in line for line in lines))
