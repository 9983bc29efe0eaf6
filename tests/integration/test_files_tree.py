"""Names, lists, attributes, users and the ways out of a sandbox, through HTTP."""

import base64
import os

import pytest

from files_support import error_of, raw


def test_a_list_goes_on_behind_its_cursor_at_any_depth(files):
    # 700 folders inside each other, and names that sort around the separator.
    files.sh("mkdir -p /work/deep && cd /work/deep && for i in $(seq 700); do mkdir d 'd-' 2>/dev/null; cd d; done; : > bottom")
    whole = files.names("/work/deep", recursive=True, limit=10000)
    assert len(whole) == 1401 and whole[0] == b"/work/deep/d"
    assert b"/work/deep/" + b"d/" * 700 + b"bottom" in whole
    assert files.names("/work/deep", recursive=True, limit=7) == whole
    assert files.delete("/work/deep", recursive=True).status_code == 200
    assert files.stat("/work/deep").status_code == 404


def test_what_paths_cannot_reach_is_said_and_can_be_removed(files):
    # Longer than a path can be: one tree moved to the bottom of the other, twice.
    files.sh("""
        n=$(printf 'n%.0s' $(seq 200)); mkdir -p /work/pit /work/stage; cd /work/pit
        nested() { (cd $1 && for i in $(seq 15); do mkdir $n && cd $n; done; : > bottom; echo $PWD) | tail -1; }
        for part in 1 2; do mkdir /work/stage/$part; nested /work/stage/$part; done > /dev/null
        end=$(nested /work/stage/2/$(printf "$n/%.0s" $(seq 14))) || true
        mv /work/stage/1 /work/stage/2/$(printf "$n/%.0s" $(seq 15))1; mkdir /work/pit/top; nested /work/pit/top > /dev/null
        cd /work/pit/top/$(printf "$n/%.0s" $(seq 15)); mv /work/stage/2 .""")
    entries = []
    cursor = ""
    while True:
        page = files.list("/work/pit", recursive=True, limit=1000, cursor=cursor).json()
        entries += page["entries"]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert [entry["unlisted"] for entry in entries if "unlisted" in entry] == ["path_too_long"]
    assert max(len(entry["path"]) for entry in entries) <= 4095 + 256 and len(entries) >= 20
    assert files.delete("/work/pit").status_code == 409
    assert files.delete("/work/pit", recursive=True).status_code == 200
    assert files.stat("/work/pit").status_code == 404


def test_a_list_that_changes_meanwhile(files):
    for name in "abcdef":
        files.ok(f"/work/pages/{name}", b"", parents=True)
    first = files.list("/work/pages", limit=2).json()
    assert [entry["name"] for entry in first["entries"]] == ["a", "b"]
    files.delete("/work/pages/b")
    files.ok("/work/pages/bb", b"")
    rest = files.list("/work/pages", limit=100, cursor=first["next_cursor"]).json()
    assert [entry["name"] for entry in rest["entries"]] == ["bb", "c", "d", "e", "f"] and rest["next_cursor"] == ""
    assert files.list("/work/pages", limit=0).status_code == 400
    assert files.list("/work/pages", cursor="not base64!").status_code == 400
    assert files.list("/work/pages/a").status_code == 409


def test_what_a_user_cannot_list_is_said(files):
    files.sh("mkdir -p /work/closed/inner/deep /work/closed/open; chmod 755 /work/closed; chmod 700 /work/closed/inner; : > /work/closed/open/f")
    entries = {entry["name"]: entry for entry in files.list("/work/closed", recursive=True, user="user").json()["entries"]}
    assert set(entries) == {"inner", "open", "f"}
    assert entries["inner"]["unlisted"] == "permission_denied" and "unlisted" not in entries["open"]


def test_stat_tells_what_a_path_is(files):
    files.sh("mkdir -p /work/kinds; cd /work/kinds; : > file; ln -s file link; ln file hard; mkfifo fifo; mkdir dir; touch -d @1234567890 file")
    kinds = {entry["name"]: entry for entry in files.list("/work/kinds").json()["entries"]}
    assert {name: entry["type"] for name, entry in kinds.items()} == {
        "file": "file", "hard": "file", "link": "symlink", "fifo": "fifo", "dir": "dir"}
    assert kinds["link"]["target"] == "file" and kinds["file"]["links"] == 2 and kinds["file"]["modified_ms"] == 1234567890_000
    assert files.stat("/work/kinds/link").json()["type"] == "symlink"
    assert files.stat("/work/kinds/link", follow=True).json()["type"] == "file"
    assert files.stat("/dev/null").json()["type"] == "char"


def test_names_and_attributes(files):
    assert files.call("mkdir", path="/work/n/a/b").status_code == 404
    made = files.call("mkdir", path="/work/n/a/b", parents=True, mode="0750")
    assert made.status_code == 200 and made.json()["mode"] == "0750"
    assert files.call("mkdir", path="/work/n/a/b").status_code == 409
    assert files.call("mkdir", path="/work/n/a/b", parents=True).status_code == 200
    files.ok("/work/n/f", b"x")
    assert files.call("symlink", path="/work/n/l", target="../../anything").json()["target"] == "../../anything"
    target = files.call("symlink", path="/work/n/bytes", target_b64=base64.b64encode(b"\xff").decode()).json()
    assert raw(target, "target") == b"\xff"
    assert files.call("chmod", path="/work/n/f", mode="0600").json()["mode"] == "0600"
    assert files.call("chmod", path="/work/n/l", mode="0600").status_code == 409
    assert files.call("chown", path="/work/n/f", uid=1000, gid=1000).json()["uid"] == 1000
    assert files.call("chown", path="/work/n/f", uid=1000).status_code == 400
    assert files.call("move", **{"from": "/work/n/f", "to": "/work/n/l", "replace": False}).status_code == 409
    assert files.call("move", **{"from": "/work/n/f", "to": "/work/n/g"}).json()["name"] == "g"
    assert files.call("move", **{"from": "/work/n/f", "to": "/work/n/g"}).status_code == 404
    assert files.call("move", **{"from": "/work/n/g", "to": "/proc/x"}).status_code in (403, 404, 409)
    assert files.delete("/work/n").status_code == 409
    assert files.delete("/work/n", recursive=True).status_code == 200


def test_xattrs(files):
    files.ok("/work/attributed", b"x")
    url = lambda name, **query: files.url("/xattrs", path="/work/attributed", name=name, **query)
    value = bytes(range(256))
    answer = files.http.put(url("user.origin"), content=value)
    if answer.status_code == 501:
        pytest.skip("the file system of this host's sandboxes has no user attributes: " + answer.text)
    assert answer.status_code == 200, answer.text
    assert files.http.put(url(b"user.\xff\n"), content=b"").status_code == 200
    listed = files.http.get(files.url("/xattrs", path="/work/attributed")).json()["xattrs"]
    assert {raw(one, "name"): base64.b64decode(one["value_b64"]) for one in listed} == {b"user.origin": value, b"user.\xff\n": b""}
    assert files.http.delete(url("user.origin")).status_code == 200
    assert files.http.delete(url("user.origin")).status_code == 404
    assert files.http.put(url("nonsense.origin"), content=b"x").status_code == 501
    assert files.http.put(url("user." + "n" * 255), content=b"x").status_code == 400
    assert files.http.put(url("user.big"), content=b"x" * (65 << 10)).status_code in (400, 413, 429)
    assert files.http.put(files.url("/xattrs", path="/work/attributed"), content=b"x").status_code == 400
    files.sh("ln -sf attributed /work/to-it")
    assert files.http.get(files.url("/xattrs", path="/work/to-it")).json()["xattrs"] == []
    assert len(files.http.get(files.url("/xattrs", path="/work/to-it", follow=True)).json()["xattrs"]) == 1


def test_a_list_with_xattrs(files):
    files.ok("/work/listed/plain", b"x", parents=True)
    files.ok("/work/listed/deep/attributed", b"x", parents=True)
    values = {"user.a.one": b"1", "user.a.two": b"\0\xff", "user.b": b"not asked for"}
    for name, value in values.items():
        answer = files.http.put(files.url("/xattrs", path="/work/listed/deep/attributed", name=name), content=value)
        if answer.status_code == 501:
            pytest.skip("the file system of this host's sandboxes has no user attributes: " + answer.text)
    files.sh("ln -s deep/attributed /work/listed/to-it")
    query = {"path": "/work/listed", "recursive": True, "xattrs": "user.a."}
    entries = {one["name"]: one for one in files.http.get(files.url("/list", **query)).json()["entries"]}
    found = {one["name"]: base64.b64decode(one["value_b64"]) for one in entries["attributed"]["xattrs"]}
    assert found == {"user.a.one": b"1", "user.a.two": b"\0\xff"}
    assert "xattrs" not in entries["plain"] and "xattrs" not in entries["to-it"]
    assert all("xattrs" not in one for one in files.http.get(files.url("/list", path="/work/listed", recursive=True)).json()["entries"])


def test_a_user_has_its_own_rights(files):
    files.sh("""
        grep -q '^shared:' /etc/group || echo 'shared:x:2000:user' >> /etc/group
        mkdir -p /work/users && cd /work/users && chmod 755 .
        printf secret > secret; chmod 600 secret
        printf grouped > grouped; chgrp 2000 grouped; chmod 640 grouped
        mkdir -p shared; chgrp 2000 shared; chmod 2770 shared
        mkdir -p mine; chown 1000:1000 mine""")
    assert files.get("/work/users/secret").content == b"secret"
    refused = files.get("/work/users/secret", user="user")
    assert refused.status_code == 403 and error_of(refused)["code"] == "permission_denied"
    assert files.get("/work/users/grouped", user="user").content == b"grouped", "a supplementary group counts"
    assert files.get("/work/users/grouped", user="nobody").status_code == 403
    assert files.get("/work/users/grouped", user="user:1000").status_code == 403, "a named group is the only one"
    stat = files.ok("/work/users/shared/f", b"x", user="user")
    assert (stat["uid"], stat["gid"]) == (1000, 2000), "of the set-group-id folder"
    assert files.put("/work/users/f", b"x", user="user").status_code == 403
    assert files.ok("/work/users/mine/f", b"x", user="1000")["uid"] == 1000
    assert files.call("chown", path="/work/users/mine/f", uid=0, gid=0, user="user").status_code == 403
    assert files.call("mkdir", path="/work/users/d", user="user").status_code == 403
    assert files.call("move", **{"from": "/work/users/secret", "to": "/work/users/mine/s", "user": "user"}).status_code == 403
    assert files.delete("/work/users/secret", user="user").status_code == 403
    assert files.list("/work/users/shared", user="nobody").status_code == 403
    assert files.get("/work/users/secret", user="who").status_code == 404


@pytest.fixture
def canary(tmp_path):
    """A file of the host that no path of a sandbox may mean."""
    file = tmp_path / "canary"
    file.write_text("of the host")
    return file


def test_symlinks_lead_inside(files, canary):
    files.sh(f"mkdir -p /work/links; cd /work/links; ln -sf /etc/passwd shadow; ln -sfn / root; ln -sf {canary} host; ln -sf ../../../../../../{canary} up;"
             "ln -sf loop loop; ln -sf /proc/self/root/etc/passwd magic; ln -sfn /proc/1/root init")
    assert files.get("/work/links/shadow").content == files.sh("cat /etc/passwd").encode()
    assert b"root:x:0:0" in files.get("/work/links/root/etc/passwd").content
    for name in ("host", "up"):
        assert files.get(f"/work/links/{name}").status_code == 404
        assert files.put(f"/work/links/{name}", b"!").status_code == 404
    for name in ("loop", "magic", "init/etc/passwd"):
        assert files.get(f"/work/links/{name}").status_code in (400, 403, 404), name
    for path in ("/proc/self/root/etc/passwd", "/proc/1/root/etc/passwd", "/proc/self/cwd/x", "/proc/self/exe", "/proc/1/fd/0", "/proc/self/fd/0", "/dev/fd/0",
                 "/dev/stdin"):
        answer = files.get(path)
        assert answer.status_code in (400, 403, 404, 409), (path, answer.text)
    assert canary.read_text() == "of the host"


@pytest.mark.parametrize("path", ["/work/fifo", "/dev/null", "/dev/zero", "/dev/random", "/dev/tty", "/dev/ptmx", "/dev/log"])
def test_never_a_fifo_socket_or_device(files, path):
    files.sh("[ -e /work/fifo ] || mkfifo /work/fifo; [ -e /dev/log ] || syslogd -O /work/log; true")
    if files.stat(path).status_code == 404:
        pytest.skip(f"there is no {path} in the sandbox")
    for answer in (files.get(path), files.put(path, b"x"), files.put(path, b"x", offset=0), files.call("truncate", path=path, size=0)):
        assert answer.status_code == 409 and error_of(answer)["code"] == "failed_precondition", answer.text


def test_owners_that_the_sandbox_has_not(files):
    files.ok("/tmp/owned", b"x")
    for uid, gid in ((99_999, 0), (0, 99_999)):
        answer = files.call("chown", path="/tmp/owned", uid=uid, gid=gid)
        assert error_of(answer)["code"] == "invalid_argument" and f"user {uid} or group {gid}" in error_of(answer)["message"], answer.text
    answer = files.put("/tmp/owned", b"y", user="99999")
    assert error_of(answer)["code"] == "invalid_argument" and "user 99999" in error_of(answer)["message"], answer.text


def test_questions_that_are_no_lists(files):
    assert "cursor" in error_of(files.list("/work", cursor="zzz"))["message"]
    answer = files.http.get(files.url(path="/etc/passwd") + "&path=/etc/group")
    assert answer.status_code == 400 and "'path' comes more than once" in error_of(answer)["message"]


def test_swaps_never_lead_out(files, canary):
    """A folder and a link to the host's path take turns under one name, while files go in and lists come out."""
    files.sh(f"""
        mkdir -p /work/race/real /work/race/stage; ln -sfn {canary.parent} /work/race/away; cd /work/race; mv real name
        (while [ ! -e stop ]; do mv name stage/real; mv away name; mv name away; mv stage/real name; done) >/dev/null 2>&1 &""")
    outcomes = set()
    for i in range(150):
        put = files.put("/work/race/name/canary", b"from the sandbox")
        got = files.get("/work/race/name/canary")
        listed = files.list("/work/race/name")
        assert got.status_code != 200 or got.content == b"from the sandbox"
        assert listed.status_code != 200 or all(entry["name"] == "canary" for entry in listed.json()["entries"])
        outcomes |= {put.status_code, got.status_code, listed.status_code}
    files.sh(": > /work/race/stop")
    assert canary.read_text() == "of the host" and os.listdir(canary.parent) == ["canary"]
    assert outcomes <= {200, 404, 409, 400}, outcomes


def test_a_file_that_becomes_a_fifo_never_blocks(files):
    files.sh("""
        mkdir -p /work/turn; cd /work/turn; printf x > file; mkfifo pipe; ln -sf /dev/zero zero; cp file name
        (while [ ! -e stop ]; do ln -f pipe name; ln -f file name; ln -sfn zero name 2>/dev/null; rm -f name; cp file name; done) >/dev/null 2>&1 &""")
    for i in range(150):
        assert files.get("/work/turn/name").status_code in (200, 404, 409)
        assert files.put("/work/turn/name", b"x").status_code in (200, 404, 409)
    files.sh(": > /work/turn/stop")
