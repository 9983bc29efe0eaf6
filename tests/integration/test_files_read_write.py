"""Reading and writing through HTTP: whole, ranged, conditional, atomic, interrupted."""

import base64
import concurrent.futures
import hashlib
import json
import os

import pytest

from files_support import LONG, begin_put, error_of, raw, wait_until
from peak_memory import PeakMemory

ODD_NAMES = ["文件 \"a'b.txt".encode(), b"new\nline", b"n" * 255, b"\xff\xfe not utf-8", b".hidden", b"a%2Fb", b"..%2f", b" ", b"-n",
             b"a+b&c=d?e#f", b"\x01\x7f", b"back\\slash", b"*", b"~"]


@pytest.mark.parametrize("name", ODD_NAMES, ids=repr)
def test_a_name_is_any_bytes(files, name):
    folder = b"/work/odd"
    content = b"content of " + name
    stat = files.ok(folder + b"/" + name, content, parents=True)
    assert raw(stat, "name") == name and raw(stat, "path") == folder + b"/" + name
    assert files.get(folder + b"/" + name).content == content
    assert folder + b"/" + name in files.names(folder)
    moved = files.http.post(f"{files.base}/files/move", json={
        "from_b64": base64.b64encode(folder + b"/" + name).decode(), "to": "/work/odd/moved"})
    assert moved.status_code == 200, moved.text
    assert files.delete("/work/odd/moved").status_code == 200
    assert files.get(folder + b"/" + name).status_code == 404


def test_percent_signs_are_bytes_of_the_name(files):
    files.ok("/work/a%2Fb", b"one name")
    assert files.sh("cat '/work/a%2Fb'") == "one name"
    assert files.get("/work/a/b").status_code == 404
    files.ok("/..%2f", b"at the root")
    assert files.sh("cat '/..%2f'; rm '/..%2f'") == "at the root"
    files.ok("/.hidden", b"h")
    assert files.sh("ls -A / | grep hidden; rm /.hidden") == ".hidden\n"
    assert files.get("/../../work/a%2Fb").content == b"one name", ".. above the root is the root"


@pytest.mark.parametrize("path, status", [
    ("", 400), ("relative", 400), ("/work/\0", 400), ("/" + "n" * 256, 400), ("/" + "n/" * 2100, 400), ("/none/at/all", 404), ("/work", 409),
    ("/work/", 409), ("/etc/passwd/x", 409)])
def test_bad_paths_are_typed_errors(files, path, status):
    answer = files.get(path)
    assert answer.status_code == status, answer.text
    assert error_of(answer)["message"]


def test_options_are_checked(files):
    for query in [{"mode": "999"}, {"mode": "77777"}, {"parents": "maybe"}, {"offset": "-1"}, {"offset": "0", "mode": "0644"}, {"offsett": "1"},
                  {"offset": "0", "exclusive": "true"}]:
        answer = files.put("/work/options", b"x", **query)
        assert answer.status_code == 400, (query, answer.text)
    assert files.put("/work/options", b"x", user="nosuchuser").status_code == 404
    assert files.put("/work/options", b"x", headers={"If-Match": '"x"'}).status_code == 501
    assert files.get("/work/options").status_code == 404


def test_ranges(files):
    data = bytes(range(256)) * 5000
    files.ok("/work/ranged", data)
    size = len(data)
    whole = files.get("/work/ranged")
    assert whole.status_code == 200 and whole.content == data and whole.headers["accept-ranges"] == "bytes"
    assert int(whole.headers["content-length"]) == size
    for text, first, last in [("bytes=0-0", 0, 0), ("bytes=100000-599999", 100000, 599999), (f"bytes={size - 1}-", size - 1, size - 1),
                              ("bytes=-5", size - 5, size - 1), ("bytes=7-99999999", 7, size - 1), ("bytes=-99999999", 0, size - 1)]:
        part = files.get("/work/ranged", headers={"Range": text})
        assert part.status_code == 206, text
        assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert part.content == data[first:last + 1]
    for text in [f"bytes={size}-", "bytes=-0", "bytes=99999999999999999999-"]:
        refused = files.get("/work/ranged", headers={"Range": text})
        assert refused.status_code == 416 and refused.headers["content-range"] == f"bytes */{size}"
        assert error_of(refused)["code"] == "out_of_range"
    for text in ["bytes=0-1,5-6", "lines=1-2", "bytes=9-1", "bytes=x"]:
        assert files.get("/work/ranged", headers={"Range": text}).status_code == 200
    files.ok("/work/empty", b"")
    assert files.get("/work/empty", headers={"Range": "bytes=0-"}).status_code == 416
    assert files.get("/work/empty").content == b""


def test_files_of_proc_have_their_content(files):
    for path in ("/proc/version", "/proc/filesystems", "/proc/sys/kernel/ostype", "/sys/kernel/mm/transparent_hugepage/enabled"):
        expected = files.run(f"cat {path}")
        if expected["exit"]["code"] != 0:
            continue
        answer = files.get(path)
        assert answer.status_code == 200 and answer.text == expected["stdout"] != "", path
        assert files.get(path, headers={"Range": "bytes=1-3"}).text == expected["stdout"][1:4]


def test_head_tells_what_get_would(files):
    files.ok("/work/head", b"x" * 1000)
    head = files.head("/work/head", headers={"Range": "bytes=0-1"})
    assert head.status_code == 200 and head.headers["content-length"] == "1000" and head.content == b""
    assert files.head("/work/none").status_code == 404
    # The connection goes on in order.
    assert files.get("/work/head").content == b"x" * 1000


def settled_tag(files, path):
    """The tag of a file that hasn't changed just now."""
    tags = set()
    while True:
        tag = files.head(path).headers["etag"]
        if tag in tags:
            return tag
        tags.add(tag)


def test_conditions(files):
    files.ok("/work/tagged", b"first")
    tag = settled_tag(files, "/work/tagged")
    assert tag.startswith('"') and tag.endswith('"')
    date = files.head("/work/tagged").headers["last-modified"]
    get = lambda **headers: files.get("/work/tagged", headers={k.replace("_", "-"): v for k, v in headers.items()})
    assert get(If_None_Match=tag).status_code == 304 and get(If_None_Match=tag).content == b""
    assert get(If_None_Match=f'"x", W/{tag}').status_code == 304
    assert get(If_None_Match='"x"').content == b"first"
    assert get(If_Match=tag).content == b"first"
    assert get(If_Match='"x"').status_code == 412
    assert get(If_Modified_Since=date).status_code == 304
    assert get(If_Unmodified_Since="Thu, 01 Jan 1970 00:00:00 GMT").status_code == 412
    assert get(If_Range=tag, Range="bytes=1-2").content == b"ir"
    assert get(If_Range='"x"', Range="bytes=1-2").content == b"first"
    # Same length, same name; also the times put back: the tag tells.
    files.sh("touch -r /work/tagged /work/stamp; printf FIRST > /work/tagged; touch -r /work/stamp /work/tagged")
    assert get(If_Match=tag).status_code == 412
    assert get(If_None_Match=tag).content == b"FIRST"
    assert get(If_Range=tag, Range="bytes=1-2").content == b"FIRST"


def test_a_tag_never_lies_at_speed(files):
    seen = {}
    for i in range(60):
        content = b"%04d" % i
        files.ok("/work/fast", content)
        answer = files.get("/work/fast")
        assert seen.setdefault(answer.headers["etag"], content) == content


def test_replaced_whole_or_not_at_all(files):
    """Readers beside a writer see one of the contents, never a mix, never none."""
    a, b = b"a" * 300_000, b"b" * 200_000
    files.ok("/work/swapped", a)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        stop = []

        def read():
            count = 0
            while not stop:
                assert files.get("/work/swapped").content in (a, b)
                count += 1
            return count
        readers = [pool.submit(read) for _ in range(2)]
        for i in range(40):
            files.ok("/work/swapped", b if i % 2 == 0 else a)
        stop.append(True)
        assert all(reader.result() > 0 for reader in readers)


def test_visible_when_the_call_returns(files):
    for i in range(1000 if LONG else 100):
        data = os.urandom(100 + i)
        files.ok("/work/summed", data)
        assert files.sh("sha256sum /work/summed").split()[0] == hashlib.sha256(data).hexdigest()


def test_32_uploads_into_a_new_folder(files):
    def put(i):
        return files.ok(f"/work/new/deep/folder/{i}", b"%d" % i, parents=True)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        list(pool.map(put, range(32)))
    assert files.sh("cd /work/new/deep/folder && ls -A | wc -l && cat $(seq 0 31)") == "32\n" + "".join(map(str, range(32)))
    assert files.put("/work/absent/folder/x", b"x").status_code == 404


def test_mode_owner_and_exclusive(files):
    assert files.ok("/work/moded", b"x")["mode"] == "0644"
    assert files.ok("/work/moded", b"x", mode="4751")["mode"] == "4751"
    assert files.ok("/work/moded", b"y")["mode"] == "4751", "a replaced file keeps its mode"
    files.sh("chown 1000:1000 /work/moded")
    kept = files.ok("/work/moded", b"z")
    assert (kept["uid"], kept["gid"]) == (1000, 1000)
    taken = files.put("/work/moded", b"!", exclusive=True)
    assert taken.status_code == 409 and error_of(taken)["code"] == "already_exists"
    assert files.put("/work/moded", b"!", headers={"If-None-Match": "*"}).status_code == 412
    assert files.get("/work/moded").content == b"z"
    assert files.put("/work/fresh", b"!", headers={"If-None-Match": "*"}).status_code == 200


def test_in_place_at_an_offset(files):
    before = files.ok("/work/placed", b"0123456789")
    assert files.put("/work/placed", b"ab", offset=4).json()["size"] == 10
    assert files.put("/work/placed", b"XYZ", offset=10).json()["size"] == 13
    assert files.get("/work/placed").content == b"0123ab6789XYZ"
    gap = files.put("/work/placed", b"!", offset=14)
    assert gap.status_code == 416 and "13 bytes" in error_of(gap)["message"]
    assert files.put("/work/not-there", b"!", offset=0).status_code == 404
    assert files.call("truncate", path="/work/placed", size=4).json()["size"] == 4
    assert files.call("truncate", path="/work/placed", size=8).json()["size"] == 8
    assert files.get("/work/placed").content == b"0123\0\0\0\0"
    assert files.call("truncate", path="/work/placed", size=-1).status_code == 400
    assert files.call("truncate", path="/work/placed").status_code == 400
    assert before["type"] == "file"


def test_a_client_that_goes_leaves_nothing(files):
    files.sh("mkdir -p /work/half; printf old > /work/half/kept")
    for _ in range(10):
        begin_put(files, files.url(path="/work/half/kept"), b"x" * 200_000, 1_000_000).close()
        begin_put(files, files.url(path="/work/half/new"), b"x" * 200_000, 1_000_000).close()
    wait_until(lambda: files.sh("ls -A /work/half") == "kept\n", "an upload that was cut off left something")
    assert files.get("/work/half/kept").content == b"old"


def test_large_files_in_bounded_memory(harenad, files):
    """256 MiB (5 GiB in the long form) both ways; harenad's memory doesn't grow with it."""
    size = (5 << 30) if LONG else (256 << 20)
    block = os.urandom(1 << 20)
    memory = PeakMemory(harenad.process.pid)
    before = memory.before
    files.http.timeout = 1800
    answer = files.put("/work/large", (block for _ in range(size >> 20)))
    if answer.status_code == 429:
        pytest.skip("the sandbox's disk is smaller than the file: " + answer.text)
    assert answer.json()["size"] == size
    digest = hashlib.sha256()
    with files.http.stream("GET", files.url(path="/work/large")) as got:
        count = 0
        for part in got.iter_raw():
            digest.update(part)
            count += len(part)
    expected = hashlib.sha256()
    for _ in range(size >> 20):
        expected.update(block)
    assert count == size and digest.digest() == expected.digest()
    peak = before + memory.growth()
    assert peak < max(100 << 20, before + (16 << 20)), f"{peak} bytes resident at the peak, {before} before"
    files.delete("/work/large")
    print(json.dumps({"peak_mib": peak >> 20, "before_mib": before >> 20}))
