"""Files through E2B's Python SDK, sync and async."""

import io
import time
import urllib.error
import urllib.request

import pytest

HOME = "/home/user"


@pytest.fixture
def sandbox(sdk):
    return sdk.Sandbox.create(timeout=120)


@pytest.fixture
def files(sandbox):
    return sandbox.files


def shell(sandbox, text, user="root"):
    return sandbox.commands.run(text, user=user).stdout


# write and read


def test_text_there_and_back(files):
    info = files.write("note.txt", "Hello ä 漢字\n")
    assert info.path == f"{HOME}/note.txt" and info.name == "note.txt"
    assert files.read("note.txt") == "Hello ä 漢字\n"
    assert files.read(f"{HOME}/note.txt") == "Hello ä 漢字\n"


def test_an_empty_file(files):
    files.write("empty", "")
    assert files.read("empty") == ""
    assert files.get_info("empty").size == 0


def test_bytes(files):
    data = bytes(range(256)) * 1000
    files.write("data.bin", data)
    assert bytes(files.read("data.bin", format="bytes")) == data


def test_an_open_file_is_streamed(files):
    data = b"0123456789abcdef" * 200_000
    files.write("stream.bin", io.BytesIO(data))
    assert bytes(files.read("stream.bin", format="bytes")) == data


def test_gzip_both_ways(files):
    text = "the same line again and again\n" * 20_000
    files.write("packed.txt", text, gzip=True)
    assert files.get_info("packed.txt").size == len(text)
    assert files.read("packed.txt", gzip=True) == text
    assert files.read("packed.txt") == text


def test_octet_stream(files):
    files.write("octets", b"\0\1\2", use_octet_stream=True)
    assert bytes(files.read("octets", format="bytes")) == b"\0\1\2"


def test_read_as_a_stream(sdk, files):
    data = b"x" * 3_000_000
    files.write("long", data)
    if sdk.is_async:
        async def collect():
            stream = await files._inner.read("long", format="stream")
            return b"".join([chunk async for chunk in stream])
        assert sdk.loop.run_until_complete(collect()) == data
    else:
        assert b"".join(files.read("long", format="stream")) == data


def test_overwriting_keeps_mode(sandbox, files):
    files.write("script.sh", "echo old")
    shell(sandbox, f"chmod 750 {HOME}/script.sh")
    files.write("script.sh", "echo new, and longer")
    assert files.read("script.sh") == "echo new, and longer"
    assert files.get_info("script.sh").mode == 0o750


def test_a_shorter_text_leaves_nothing_of_the_longer(files):
    files.write("a", "x" * 1000)
    files.write("a", "y")
    assert files.read("a") == "y"


def test_folders_above_are_made_and_owned(sandbox, files):
    files.write("a/b/c/file.txt", "deep")
    assert shell(sandbox, f"stat -c '%U:%G %a' {HOME}/a {HOME}/a/b/c {HOME}/a/b/c/file.txt").split("\n")[:3] == [
        "user:user 755", "user:user 755", "user:user 644"]


def test_anywhere_and_still_the_users(sandbox, files):
    files.write("/opt/tool/config", "x")
    assert shell(sandbox, "stat -c %U /opt/tool /opt/tool/config").split() == ["user", "user"]


def test_as_root(sandbox, files):
    files.write("secret", "x", user="root")
    assert shell(sandbox, "stat -c '%U %n' /root/secret") == "root /root/secret\n"
    assert files.read("/root/secret") == "x"


@pytest.mark.parametrize("name", ["with space", "quote\"s", "semi;colon", "per%cent", "plus+sign", "ünï", "hash#tag", "a&b=c", "q?x"])
def test_names(files, name):
    files.write(f"names/{name}", "x")
    assert files.read(f"names/{name}") == "x"
    assert [one.name for one in files.list("names")] == [name]


def test_several_at_once(sdk, files):
    entries = [{"path": f"many/{i}.txt", "data": f"text {i}"} for i in range(12)]
    infos = files.write_files(entries)
    assert [one.path for one in infos] == [f"{HOME}/many/{i}.txt" for i in range(12)]
    assert files.read("many/11.txt") == "text 11"


def test_several_of_no_kind(files):
    assert files.write_files([]) == []


def test_read_nothing(sdk, files):
    with pytest.raises(sdk.FileNotFoundException):
        files.read("no-such-file")


def test_read_a_folder(sdk, files):
    with pytest.raises(sdk.InvalidArgumentException):
        files.read("/home")


def test_write_onto_a_folder(sdk, files):
    with pytest.raises(sdk.InvalidArgumentException):
        files.write(HOME, "x")


def test_as_nobody(sdk, files):
    with pytest.raises(sdk.AuthenticationException):
        files.write("x", "x", user="nobody-there")


def test_metadata(files):
    files.write("tagged", "x", metadata={"Author": "ada", "purpose": "test"})
    assert dict(files.get_info("tagged").metadata) == {"author": "ada", "purpose": "test"}
    files.write("tagged", "y", metadata={"other": "1"})
    assert dict(files.get_info("tagged").metadata) == {"other": "1"}
    files.write("tagged", "z")
    assert not files.get_info("tagged").metadata


def test_a_full_disk_says_so(sdk):
    """The template's disk has 64 MiB: what doesn't fit is an exception of its own, leaves nothing, and the sandbox goes on."""
    files = sdk.Sandbox.create("other", timeout=120).files
    files.write("kept", "before")
    with pytest.raises(sdk.NotEnoughSpaceException):
        files.write("large", b"x" * (80 << 20))
    assert not files.exists("large") and files.read("kept") == "before"
    files.write("kept", "after")
    assert files.read("kept") == "after"


def test_the_disk_shows_what_was_written(sandbox, files):
    files.write("seen", "by the shell")
    assert shell(sandbox, f"cat {HOME}/seen") == "by the shell"
    shell(sandbox, f"echo by the API > {HOME}/other")
    assert files.read("other") == "by the API\n"


def test_ten_megabytes(files):
    data = b"ab" * 5_000_000
    files.write("ten", data)
    assert bytes(files.read("ten", format="bytes")) == data


# info, exists, list


def test_info_of_a_file(files):
    files.write("a.txt", "12345")
    info = files.get_info("a.txt")
    assert (info.name, info.path, info.size, info.mode, info.permissions) == ("a.txt", f"{HOME}/a.txt", 5, 0o644, "-rw-r--r--")
    assert (info.owner, info.group, info.type.value) == ("user", "user", "file")
    assert abs(info.modified_time.timestamp() - time.time()) < 120
    assert info.symlink_target is None


def test_info_of_a_folder(files):
    info = files.get_info("/tmp")
    assert info.type.value == "dir" and info.permissions.endswith("rwxrwxrwx")


def test_info_of_a_symlink(sandbox, files):
    files.write("target.txt", "x")
    shell(sandbox, f"ln -s target.txt {HOME}/link", user="user")
    info = files.get_info("link")
    assert info.name == "link" and info.symlink_target == f"{HOME}/target.txt" and info.type.value == "file"
    assert info.permissions.startswith("L")


def test_info_of_a_link_to_nowhere(sandbox, files):
    shell(sandbox, f"ln -s /no/where {HOME}/dangling", user="user")
    assert files.get_info("dangling").symlink_target is not None
    assert files.exists("dangling") is True


def test_info_of_nothing(sdk, files):
    with pytest.raises(sdk.FileNotFoundException):
        files.get_info("nothing")


def test_exists(files):
    files.write("here", "x")
    assert files.exists("here") is True
    assert files.exists("/tmp") is True
    assert files.exists("not-here") is False


def test_list(files):
    files.write("d/b", "1")
    files.write("d/a", "22")
    files.make_dir("d/sub")
    found = files.list("d")
    assert [(one.name, one.type.value) for one in found] == [("a", "file"), ("b", "file"), ("sub", "dir")]
    assert found[0].path == f"{HOME}/d/a" and found[0].size == 2


def test_list_depth(files):
    files.write("d/one/two/three/file", "x")
    names = lambda depth: [one.path.removeprefix(f"{HOME}/d/") for one in files.list("d", depth=depth)]
    assert names(1) == ["one"]
    assert names(2) == ["one", "one/two"]
    assert names(10) == ["one", "one/two", "one/two/three", "one/two/three/file"]


def test_list_depth_below_one(sdk, files):
    with pytest.raises(sdk.InvalidArgumentException):
        files.list("/", depth=0)


def test_list_of_nothing(sdk, files):
    with pytest.raises(sdk.FileNotFoundException):
        files.list("nothing-here")


def test_list_of_a_file(sdk, files):
    files.write("plain", "x")
    with pytest.raises(sdk.InvalidArgumentException):
        files.list("plain")


def test_list_of_an_empty_folder(files):
    files.make_dir("empty")
    assert files.list("empty") == []


def test_list_through_a_symlink(sandbox, files):
    files.write("real/x", "1")
    shell(sandbox, f"ln -s real {HOME}/way", user="user")
    assert [one.path for one in files.list("way")] == [f"{HOME}/way/x"]


def test_hundreds_of_entries(sandbox, files):
    shell(sandbox, f"mkdir {HOME}/lots; cd {HOME}/lots; for i in $(seq 1 600); do : > f$i; done")
    assert len(files.list("lots")) == 600


# make_dir, rename, remove


def test_make_dir(sandbox, files):
    assert files.make_dir("new/deep/folder") is True
    assert files.make_dir("new/deep/folder") is False
    assert shell(sandbox, f"stat -c %U {HOME}/new/deep").strip() == "user"


def test_make_dir_where_a_file_is(sdk, files):
    files.write("file", "x")
    with pytest.raises(sdk.InvalidArgumentException):
        files.make_dir("file")


def test_rename(files):
    files.write("old", "content")
    info = files.rename("old", "new")
    assert info.path == f"{HOME}/new"
    assert files.exists("old") is False and files.read("new") == "content"


def test_rename_into_a_folder_that_is_not_there(files):
    files.write("old", "content")
    files.rename("old", "far/away/new")
    assert files.read("far/away/new") == "content"


def test_rename_replaces(files):
    files.write("a", "1")
    files.write("b", "2")
    files.rename("a", "b")
    assert files.read("b") == "1"


def test_rename_a_folder(files):
    files.write("d/x", "1")
    files.rename("d", "e")
    assert files.read("e/x") == "1"


def test_rename_nothing(sdk, files):
    with pytest.raises(sdk.FileNotFoundException):
        files.rename("nothing", "x")


def test_remove(files):
    files.write("gone", "x")
    files.remove("gone")
    assert files.exists("gone") is False


def test_remove_a_tree(files):
    files.write("t/a/b/c", "x")
    files.remove("t")
    assert files.exists("t") is False


def test_remove_nothing_is_no_error(files):
    files.remove("never-was")


# watching


def collect_events(sdk, files, path, change, want, **options):
    """(name, type) of what the watcher saw, until `want` is among it."""
    seen = []
    if sdk.is_async:
        handle = files.watch_dir(path, on_event=lambda event: seen.append(event), **options)
    else:
        handle = files.watch_dir(path, **options)
    change()
    deadline = time.monotonic() + 15
    names = lambda: [(one.name, one.type.value) for one in seen]
    while want not in names() and time.monotonic() < deadline:
        if sdk.is_async:
            files._loop.run_until_complete(__import__("asyncio").sleep(0.05))
        else:
            seen += handle.get_new_events()
            time.sleep(0.02)
    handle.stop()
    assert want in names(), names()
    return seen


def test_watch_create_and_write(sdk, files):
    files.make_dir("w")
    seen = collect_events(sdk, files, "w", lambda: files.write("w/new.txt", "x"), ("new.txt", "write"))
    assert ("new.txt", "create") in [(one.name, one.type.value) for one in seen]


@pytest.mark.parametrize("text, want", [
    ("touch new", ("new", "create")),
    ("echo x >> old", ("old", "write")),
    ("rm old", ("old", "remove")),
    ("mv old other", ("old", "rename")),
    ("mv old other", ("other", "create")),
    ("chmod 600 old", ("old", "chmod")),
    ("mkdir sub", ("sub", "create")),
])
def test_watch_what_the_shell_does(sdk, sandbox, text, want):
    sandbox.files.write("w/old", "x")
    collect_events(sdk, sandbox.files, "w", lambda: shell(sandbox, f"cd {HOME}/w; {text}", user="user"), want)


def test_watch_below(sdk, sandbox):
    sandbox.files.make_dir("w")
    change = lambda: shell(sandbox, f"cd {HOME}/w; mkdir -p a/b; sleep 0.3; echo x > a/b/file", user="user")
    collect_events(sdk, sandbox.files, "w", change, ("a/b/file", "write"), recursive=True)


def test_watch_not_below(sdk, sandbox):
    sandbox.files.make_dir("w/sub")
    change = lambda: shell(sandbox, f"cd {HOME}/w; echo x > sub/inner; echo x > outer", user="user")
    seen = collect_events(sdk, sandbox.files, "w", change, ("outer", "write"))
    assert not [one for one in seen if "inner" in one.name]


def test_watch_with_entries(sdk, files):
    files.make_dir("w")
    seen = collect_events(sdk, files, "w", lambda: files.write("w/new.txt", "12345"), ("new.txt", "write"), include_entry=True)
    entries = [one.entry for one in seen if one.entry is not None]
    assert entries and entries[-1].path == f"{HOME}/w/new.txt"


def test_watch_nothing(sdk, files):
    with pytest.raises(sdk.FileNotFoundException):
        files.watch_dir("nothing", **({"on_event": print} if sdk.is_async else {}))


def test_watch_a_file(sdk, files):
    files.write("plain", "x")
    with pytest.raises(sdk.InvalidArgumentException):
        files.watch_dir("plain", **({"on_event": print} if sdk.is_async else {}))


# signed URLs


def fetch(url, data=None, headers=None):
    request = urllib.request.Request(url, data, headers or {}, method="GET" if data is None else "POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.read()


FORM = {"Content-Type": "multipart/form-data; boundary=B"}


def form(data):
    return b'--B\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + data + b"\r\n--B--\r\n"


def test_download_url(files, sandbox):
    files.write("signed file.txt", "by URL")
    assert fetch(sandbox.download_url("signed file.txt"))[1] == b"by URL"
    assert fetch(sandbox.download_url("signed file.txt", use_signature_expiration=100))[1] == b"by URL"


def test_upload_url(files, sandbox):
    status, body = fetch(sandbox.upload_url("hello.txt"), form(b"sent"), FORM)
    assert status == 200
    assert body.replace(b" ", b"") == b'[{"name":"hello.txt","path":"/home/user/hello.txt","type":"file"}]'
    assert files.read("hello.txt") == "sent"


def test_url_of_another_user(files, sandbox):
    files.write("x", "root's", user="root")
    assert fetch(sandbox.download_url("x", user="root"))[1] == b"root's"


def test_a_url_with_the_id_in_its_host(files, sandbox):
    """As it is without E2B_SANDBOX_URL: the name says whose file it is, and another's signature is none."""
    files.write("x", "by name")
    url = sandbox.download_url("x")
    by_name = {"Host": sandbox.get_host(49983)}
    assert fetch(url, headers=by_name)[1] == b"by name"
    with pytest.raises(urllib.error.HTTPError) as raised:
        fetch(url.replace("path=x", "path=y"), headers=by_name)
    assert raised.value.code == 401


def test_an_expired_url(files, sandbox):
    files.write("x", "y")
    url = sandbox.download_url("x", use_signature_expiration=-10)
    with pytest.raises(urllib.error.HTTPError) as raised:
        fetch(url)
    assert raised.value.code == 401
    assert __import__("json").loads(raised.value.read()) == {"code": 401, "message": "signature is already expired"}


def test_a_changed_url(files, sandbox):
    files.write("x", "y")
    files.write("z", "y")
    with pytest.raises(urllib.error.HTTPError) as raised:
        fetch(sandbox.download_url("x").replace("path=x", "path=z"))
    assert raised.value.code == 401
