"""Folders as tar, both ways, through HTTP."""

import hashlib
import io
import os
import subprocess
import tarfile

import pytest

from files_support import error_of, tar_of


def members(content):
    with tarfile.open(fileobj=io.BytesIO(content), encoding="utf-8", errors="surrogateescape") as archive:
        return {member.name: member for member in archive.getmembers()}


def test_everything_is_kept(files):
    files.sh("""
        rm -rf /work/kept; mkdir -p /work/kept/folder/inner; cd /work/kept
        printf content > file; chown 1000:1000 file; chmod 4750 file; touch -d @1234567890 file
        ln file folder/hard; ln -s ../anywhere link; ln -s /etc/passwd folder/absolute; mkfifo folder/fifo
        truncate -s 1G sparse; printf begin | dd of=sparse conv=notrunc 2>/dev/null; printf end | dd of=sparse bs=1M seek=512 conv=notrunc 2>/dev/null
        truncate -s 3M hole; : > empty; touch "$(printf 'new\\nline')" '文件'; touch "$(printf '\\377\\376')"; n=$(printf 'n%.0s' $(seq 255)); touch $n
        mkdir -p $n/$n; printf long > $n$n 2>/dev/null; printf long > $n/$n/f 2>/dev/null; chmod 700 folder; touch -d @1111111111 folder""".replace("touch $n", "true"))
    xattr = files.http.put(files.url("/xattrs", path="/work/kept/file", name="user.origin"), content=b"\0bytes\xff")
    archive = files.archive("/work/kept")
    assert len(archive) < 4 << 20, "the holes are holes in the archive too"
    found = members(archive)
    file = found["file"]
    assert (file.mode, file.uid, file.gid, file.mtime) == (0o4750, 1000, 1000, 1234567890)
    assert found["folder/hard"].islnk() and found["folder/hard"].linkname == "file"
    assert found["link"].linkname == "../anywhere" and found["folder"].isdir()
    assert {"new\nline", "文件", "\udcff\udcfe", "empty"} <= set(found)
    assert found["sparse"].size == 1 << 30
    files.sh("rm -rf /work/back; mkdir /work/back; rm /work/kept/folder/fifo; touch -d @1111111111 /work/kept/folder")
    archive = files.archive("/work/kept")
    answer = files.extract("/work/back", archive)
    assert answer.status_code == 200, answer.text
    assert answer.json()["entries"] == len(members(archive))
    compare = ("cd {} && find . -print0 | sort -z | xargs -0 stat -c '%n %F %a %u %g %s %h %Y' | sed 's/^\\. .*//' && "
               "find . -type f ! -name sparse -print0 | sort -z | xargs -0 sha256sum")
    # busybox's stat has no directory sizes worth comparing: the same file system gives the same.
    assert files.sh(compare.format("/work/back")) == files.sh(compare.format("/work/kept"))
    assert files.sh("cd /work/back && test file -ef folder/hard && head -c 5 sparse && dd if=sparse bs=1M skip=512 count=1 2>/dev/null | head -c 3") == "beginend"
    assert int(files.sh("du -k /work/back/sparse | cut -f1")) < 1024 and int(files.sh("du -k /work/back/hole | cut -f1")) < 64
    if xattr.status_code == 200:
        listed = files.http.get(files.url("/xattrs", path="/work/back/file")).json()["xattrs"]
        assert [(one["name"], one["value_b64"]) for one in listed] == [("user.origin", "AGJ5dGVz/w==")]


def test_times_to_the_nanosecond(files):
    files.sh("mkdir -p /work/ns; printf x > /work/ns/f")
    content = tar_of(("f", b"x", {"pax_headers": {"mtime": "1234567890.123456789"}}))
    assert files.extract("/work/ns", content).status_code == 200
    got = members(files.archive("/work/ns"))["f"]
    assert got.pax_headers["mtime"] == "1234567890.123456789"


FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


@pytest.mark.parametrize("format", FORMATS)
def test_formats_in(files, format):
    long = "l" * 60 + "/" + "m" * 60 + "/" + ("n" * 200 if format != "ustar" else "n" * 60)
    content = tar_of(("./", None, {"type": tarfile.DIRTYPE, "mode": 0o700}), ("./dir/", None, {"type": tarfile.DIRTYPE, "mode": 0o555}),
                     ("./dir/in", b"in", {}), ("a//b", b"b", {}), (long, b"long", {}),
                     ("s", None, {"type": tarfile.SYMTYPE, "linkname": "/anywhere/" + "t" * 90}),
                     ("h", None, {"type": tarfile.LNKTYPE, "linkname": "./a/b"}), format=FORMATS[format])
    files.sh(f"rm -rf /work/in-{format}; mkdir -m 755 /work/in-{format}")
    answer = files.extract(f"/work/in-{format}", content)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"entries": 7, "bytes": 7}
    assert files.sh(f"cd /work/in-{format}; cat dir/in a/b h {long}; readlink s; stat -c %a . dir") == f"inbblong/anywhere/{'t' * 90}\n755\n555\n"


@pytest.mark.parametrize("format", ["gnu", "pax", "oldgnu", "ustar", "v7"])
def test_archives_of_gnu_tar_with_holes(files, tmp_path, format):
    made = tmp_path / "made"
    made.mkdir()
    with open(made / "sparse", "wb") as out:
        out.truncate(64 << 20)
        for at in (0, 10 << 20, 63 << 20):
            out.seek(at)
            out.write(b"data at %d" % at)
    os.link(made / "sparse", made / "link")
    command = ["tar", f"--format={format}", "-C", made, "-c", "."]
    if format not in ("ustar", "v7"):
        command.insert(1, "--sparse")
    content = subprocess.run(command, capture_output=True, check=True).stdout
    files.sh(f"rm -rf /work/gnu-{format}; mkdir /work/gnu-{format}")
    answer = files.extract(f"/work/gnu-{format}", content)
    assert answer.status_code == 200, answer.text
    digest = hashlib.sha256((made / "sparse").read_bytes()).hexdigest()
    assert files.sh(f"cd /work/gnu-{format}; sha256sum < sparse | cut -d' ' -f1; test sparse -ef link && echo linked") == digest + "\nlinked\n"
    if "--sparse" in command:
        assert int(files.sh(f"du -k /work/gnu-{format}/sparse | cut -f1")) < 1024


def test_gnu_tar_reads_ours(files, tmp_path):
    files.sh("rm -rf /work/ours; mkdir -p /work/ours; cd /work/ours; truncate -s 10M s; printf x | dd of=s bs=1M seek=5 conv=notrunc 2>/dev/null; printf y > 'ü'; ln s t")
    subprocess.run(["tar", "-C", tmp_path, "-x", "-f", "-", "--no-same-owner"], input=files.archive("/work/ours"), check=True)
    assert sorted(os.listdir(os.fsencode(tmp_path))) == ["s".encode(), b"t", "ü".encode()]
    assert (tmp_path / "s").stat().st_size == 10 << 20 and (tmp_path / "s").samefile(tmp_path / "t")
    assert (tmp_path / "s").read_bytes()[5 << 20:][:1] == b"x"


OUTSIDE = {
    "absolute": [("/work/escaped", b"!", {})],
    "dots": [("a/../../escaped", b"!", {})],
    "dots at the end": [("a/..", None, {"type": tarfile.DIRTYPE})],
    "through a symlink of its own": [("l", None, {"type": tarfile.SYMTYPE, "linkname": "/work"}), ("l/escaped", b"!", {})],
    "a folder over a symlink": [("l", None, {"type": tarfile.SYMTYPE, "linkname": "/work"}), ("l", None, {"type": tarfile.DIRTYPE, "mode": 0o777})],
    "hard link to the outside": [("h", None, {"type": tarfile.LNKTYPE, "linkname": "../outside"})],
    "absolute hard link": [("h", None, {"type": tarfile.LNKTYPE, "linkname": "/work/outside"})],
    "hard link through a symlink": [("l", None, {"type": tarfile.SYMTYPE, "linkname": "/work"}), ("h", None, {"type": tarfile.LNKTYPE, "linkname": "l/outside"})],
    "through a symlink that is there": [("there/escaped", b"!", {})],
    "fifo": [("f", None, {"type": tarfile.FIFOTYPE})],
    "device": [("d", None, {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3})],
    "block device": [("d", None, {"type": tarfile.BLKTYPE, "devmajor": 7, "devminor": 0})],
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_leads_outside_is_refused(files, case):
    files.sh("rm -rf /work/jail /work/escaped; mkdir -p /work/jail; printf safe > /work/outside; ln -s /work /work/jail/there")
    bad = OUTSIDE[case]
    content = tar_of(("before", b"kept", {}), *bad, ("after", b"never", {}))
    answer = files.extract("/work/jail", content)
    assert answer.status_code == 400, answer.text
    error = error_of(answer)
    assert error["code"] == "invalid_argument"
    assert f"'{bad[-1][0].rstrip('/')}" in error["message"] and f"{len(bad)} entries were extracted" in error["message"], error
    assert files.sh("cat /work/outside /work/jail/before; ls /work/escaped /work/jail/after 2>/dev/null; stat -c %h /work/outside") == "safekept1\n"
    assert ".harena-upload" not in files.sh("ls -A /work/jail /work")


def test_a_symlink_is_replaced_and_not_followed(files):
    files.sh("rm -rf /work/over; mkdir -p /work/over; printf safe > /work/outside; ln -s /work/outside /work/over/f; mkdir /work/over/d")
    assert files.extract("/work/over", tar_of(("f", b"mine", {}))).status_code == 200
    assert files.sh("cat /work/outside /work/over/f; test -L /work/over/f || echo plain") == "safemineplain\n"
    answer = files.extract("/work/over", tar_of(("d", b"a file over a folder", {})))
    assert answer.status_code == 409 and "'d'" in error_of(answer)["message"]


@pytest.mark.parametrize("content", [b"", b"not a tar" * 200, b"\x1f\x8b" + b"z" * 2000, tar_of(("f", b"x" * 5000, {}))[:3000],
                                     tar_of(("f", b"x" * 512, {}))[:1024], tar_of(("f", b"x", {}))[:700]],
                         ids=["empty", "text", "gzip", "in a file", "before the end marker", "in the padding"])
def test_what_is_no_whole_archive_is_said(files, content):
    files.sh("rm -rf /work/broken; mkdir /work/broken")
    answer = files.extract("/work/broken", content)
    assert answer.status_code == 400 and error_of(answer)["code"] == "invalid_argument", answer.text
    assert "archive" in error_of(answer)["message"]
    assert ".harena" not in files.sh("ls -A /work/broken")


def test_empty_archives_and_folders(files):
    files.sh("rm -rf /work/void; mkdir /work/void")
    content = files.archive("/work/void")
    assert members(content) == {}
    assert files.extract("/work/void", content).json() == {"entries": 0, "bytes": 0}
    assert files.http.get(files.url("/archive", path="/etc/passwd")).status_code == 409
    assert files.http.get(files.url("/archive", path="/none")).status_code == 404
    assert files.extract("/none", content).status_code == 404


def test_as_a_user(files):
    files.sh("rm -rf /work/theirs; mkdir -p /work/theirs; chown 1000:1000 /work/theirs; printf s > /work/theirs/secret; chmod 600 /work/theirs/secret")
    answer = files.extract("/work/theirs", tar_of(("f", b"x", {"uid": 0, "gid": 0, "mode": 0o640})), user="user")
    assert answer.status_code == 200, answer.text
    assert files.sh("stat -c '%u %g %a' /work/theirs/f") == "1000 1000 640\n"
    assert files.extract("/work", tar_of(("f", b"x", {})), user="user").status_code == 403
    # What can't be read breaks the stream off: never an archive that looks whole.
    with pytest.raises(Exception) as broken:
        files.archive("/work/theirs", user="user")
    assert "httpx" in type(broken.value).__module__
    assert files.http.get(files.url("/archive", path="/root", user="user")).status_code == 403


def test_many_small_files(files):
    content = tar_of(*[(f"d{i % 50}/f{i}", b"%d" % i, {"mode": 0o600}) for i in range(3000)])
    files.sh("rm -rf /work/many; mkdir /work/many")
    assert files.extract("/work/many", content).json()["entries"] == 3000
    back = files.archive("/work/many")
    with tarfile.open(fileobj=io.BytesIO(back)) as archive:
        for member in archive:
            if member.isfile():
                assert archive.extractfile(member).read() == member.name.split("f")[1].encode()
    assert len(members(back)) == 3050
