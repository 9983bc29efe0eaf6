"""Row 15: the file API and an agent that lays traps: nothing outside is reached, nothing blocks, no device is opened."""

import io
import os
import tarfile

import pytest

from files_support import Files
from harena import errors

SECRET = "/etc/shadow"


@pytest.fixture
def files(harenad, box):
    raw = Files(harenad, box.id)
    yield raw
    raw.close()


def host_secret():
    with open(SECRET, "rb") as file:
        return file.read()


def read(box, path):
    try:
        return box.sandbox.files.read(path)
    except errors.HarenaError as error:
        return error.code


@pytest.mark.parametrize("target", ["/etc/shadow", "../../../../../../../../etc/shadow", "/proc/1/root/etc/shadow",
                                    "/proc/self/root/etc/shadow", "/proc/self/fd/3", "/proc/self/exe", "/proc/1/exe"])
def test_links_stay_inside(box, target):
    box.shell("echo inside > /etc/shadow")
    box.shell(f"ln -s {target} /tmp/x")
    for path in ("/tmp/x", target if target.startswith("/") else "/tmp/" + target):
        answer = read(box, path)
        assert answer in (b"inside\n", "not_found", "permission_denied", "invalid_argument", "failed_precondition"), (path, answer)


def test_writing_through_a_link_stays_inside(box):
    before = host_secret()
    box.shell("ln -s /etc/shadow /tmp/x; ln -s ../../../../../../etc/shadow /tmp/y")
    for path in ("/tmp/x", "/tmp/y"):
        box.sandbox.files.write(path, b"written")
    assert host_secret() == before
    assert box.shell("cat /etc/shadow").stdout == "written"


@pytest.mark.parametrize("make, kind", [("mkfifo /tmp/x", "fifo"), ("ln -s /dev/zero /tmp/x", "device"), ("ln -s /dev/tty /tmp/x", "device"),
                                        ("mkdir /tmp/x", "folder"), ("ln -s /dev/ptmx /tmp/x", "device"),
                                        ("ln -s /proc/kmsg /tmp/x", "device")])
def test_what_isnt_a_file_is_never_opened(box, make, kind):
    box.shell(make)
    answer = read(box, "/tmp/x")
    assert answer in ("invalid_argument", "failed_precondition", "permission_denied"), answer
    if kind != "folder":
        with pytest.raises(errors.HarenaError) as caught:
            box.sandbox.files.write("/tmp/x", b"into it")
        assert caught.value.code in ("invalid_argument", "failed_precondition", "permission_denied")


def test_loops_and_long_paths(box):
    box.shell("ln -s x /tmp/x; ln -s /tmp/b /tmp/a; ln -s /tmp/a /tmp/b")
    for path in ("/tmp/x", "/tmp/a", "/tmp/" + "n" * 300, "/" + "d/" * 2100 + "f"):
        assert isinstance(read(box, path), str)


@pytest.mark.parametrize("first, second", [("/tmp/d", "/tmp/l"), ("/tmp/f", "/tmp/s")])
def test_a_race_between_a_name_and_a_link(box, first, second):
    """A folder and a link to /etc, or a file and a link to /etc/shadow, exchanged all the time."""
    before = host_secret()
    box.shell("echo inside > /etc/shadow; mkdir -p /tmp/d; echo mine > /tmp/d/shadow; ln -s /etc /tmp/l; echo mine > /tmp/f; ln -s /etc/shadow /tmp/s")
    command = box.sandbox.commands.start(["/tmp/harena-attack", "swap", first, second])
    try:
        path = first + "/shadow" if first == "/tmp/d" else first
        for turn in range(150):
            answer = read(box, path)
            assert answer in (b"mine\n", b"inside\n", b"new\n", "not_found", "failed_precondition", "aborted"), answer
            try:
                box.sandbox.files.write(path, b"new\n")
            except errors.HarenaError as error:
                assert error.code != "internal", error
    finally:
        command.kill()
    assert host_secret() == before
    assert b"new\n" != host_secret()


UPLOAD = 8 << 20


def test_a_folder_swapped_during_an_upload(box):
    """A stream is on its way while the folder that it goes to is exchanged for a link to /etc, again and again."""
    before, etc = host_secret(), set(os.listdir("/etc"))
    box.shell("mkdir -p /tmp/d; ln -s /etc /tmp/l")
    command = box.sandbox.commands.start(["/tmp/harena-attack", "swap", "/tmp/d", "/tmp/l"])
    try:
        for turn in range(20):
            try:
                box.sandbox.files.write("/tmp/d/uploaded", bytes([turn]) * UPLOAD)
            except errors.HarenaError as error:
                assert error.code in ("not_found", "failed_precondition", "aborted"), error
    finally:
        command.kill()
    assert host_secret() == before and set(os.listdir("/etc")) == etc
    # Whole or not at all, in one of the two folders of the sandbox.
    sizes = box.trusted("for f in /tmp/d/uploaded /etc/uploaded; do test -f $f && wc -c < $f; done").stdout.split()
    assert sizes and set(sizes) <= {str(UPLOAD)}, sizes


@pytest.mark.parametrize("name", ["out/shadow", "../../../../../../etc/shadow", "/etc/shadow", "disk"])
def test_an_archive_that_wants_out_stays_inside(box, files, name):
    before = host_secret()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
        info = tarfile.TarInfo(name)
        info.size = 8
        if name == "disk":
            info.type, info.devmajor, info.devminor, info.size = tarfile.BLKTYPE, 8, 0, 0
        archive.addfile(info, io.BytesIO(b"archived"))
    box.shell("mkdir /tmp/a; echo inside > /etc/shadow")
    answer = files.extract("/tmp/a", packed.getvalue())
    assert answer.status_code < 500, answer.text
    assert host_secret() == before
    assert box.trusted("test -b /tmp/a/disk && echo device").stdout == ""


def test_an_archive_into_a_folder_that_is_swapped(box, files):
    before, etc = host_secret(), set(os.listdir("/etc"))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for number in range(200):
            info = tarfile.TarInfo(f"archived-{number}")
            info.size = 8
            archive.addfile(info, io.BytesIO(b"archived"))
    box.shell("mkdir -p /tmp/d; ln -s /etc /tmp/l")
    command = box.sandbox.commands.start(["/tmp/harena-attack", "swap", "/tmp/d", "/tmp/l"])
    try:
        for _ in range(20):
            assert files.extract("/tmp/d", packed.getvalue()).status_code in (200, 404, 409)
    finally:
        command.kill()
    assert host_secret() == before and set(os.listdir("/etc")) == etc


def test_lists_of_traps_neither_block_nor_open(box):
    box.shell("mkfifo /tmp/fifo; ln -s /dev/zero /tmp/zero; ln -s loop /tmp/loop; ln -s /proc/1/root /tmp/init; touch /tmp/file")
    found = {os.path.basename(one.path): one for one in box.sandbox.files.list("/tmp")}
    assert {"fifo", "zero", "loop", "init", "file"} <= set(found)
    assert found["zero"].type == "symlink" and found["fifo"].type == "fifo", found


def test_workers_cant_be_stopped_or_killed(box):
    """File workers are in another pid namespace: a killer loop of root inside never sees one."""
    killer = box.sandbox.commands.start("while true; do for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || [ $p = 1 ] || kill -9 $p; done 2>/dev/null; done")
    try:
        for turn in range(50):
            box.sandbox.files.write("/tmp/w", b"x" * 100_000)
            assert box.sandbox.files.read("/tmp/w") == b"x" * 100_000
    finally:
        killer.kill()
