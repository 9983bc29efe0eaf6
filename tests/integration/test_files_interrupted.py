"""Uploads that something cuts off: a killed worker, a full disk, too little memory. Nothing partial is ever seen."""

import os
import signal

import harena
import pytest

from files_support import Files, begin_put, shim_of, tar_of, wait_until, workers_of


@pytest.mark.parametrize("verb", ["", "/archive"])
def test_a_killed_worker_leaves_nothing(files, verb):
    files.sh("rm -rf /work/cut; mkdir -p /work/cut; printf old > /work/cut/kept")
    content = b"x" * 100_000 if not verb else tar_of(("kept", b"y" * 100_000, {}))[:50_000]
    path = "/work/cut/kept" if not verb else "/work/cut"
    shim = shim_of(files.sandbox.id)
    idle = workers_of(shim)
    for _ in range(5):
        one = begin_put(files, files.url(verb, path=path), content, 10_000_000)
        wait_until(lambda: workers_of(shim, idle), "no worker began")
        for pid in workers_of(shim, idle):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not workers_of(shim, idle), "a worker survived SIGKILL")
        # It is seen when there is more to be written.
        one.settimeout(20)
        one.sendall(b"x" * 100_000)
        answer = one.recv(65536)
        assert b"503" in answer.split(b"\r\n")[0], answer
        one.close()
    assert files.sh("ls -A /work/cut; cat /work/cut/kept") == "kept\nold"


@pytest.fixture
def small(harenad, image):
    """A sandbox with a small file system of its own at /small."""
    with harenad.client() as client:
        one = client.create(harena.ContainerArgs(image=image, cpu=1, memory="512MiB", tmpfs={"/small": "32MiB"}))
        files = Files(harenad, one.id)
        yield files
        files.close()
        one.stop()


def test_the_memory_limit_is_said(harenad, image):
    with harenad.client() as client:
        one = client.create(harena.ContainerArgs(image=image, cpu=1, memory="48MiB", tmpfs={"/big": "1GiB"}))
    files = Files(harenad, one.id)
    answer = files.put("/big/too-much", (b"x" * (1 << 20) for _ in range(300)))
    assert answer.status_code == 429, answer.text
    error = answer.json()["error"]
    assert (error["code"], error["cause"], error["details"]["cause_detail"]) == ("resource_exhausted", "limit", "memory")
    assert files.sh("ls -A /big") == ""
    files.close()
    with harenad.client() as client:
        client.get(one.id).stop()


def test_a_full_disk_is_said_and_leaves_nothing(small):
    small.sh("printf old > /small/kept")
    for path in ("/small/kept", "/small/new"):
        answer = small.put(path, (b"x" * (1 << 20) for _ in range(200)))
        assert answer.status_code == 429, answer.text
        error = answer.json()["error"]
        assert error["code"] == "resource_exhausted" and error["cause"] == "limit" and error["details"]["cause_detail"] == "disk"
    answer = small.extract("/small", tar_of(("before", b"b", {}), ("too-much", b"x" * (100 << 20), {})))
    assert answer.status_code == 429 and answer.json()["error"]["details"]["cause_detail"] == "disk"
    assert small.sh("ls -A /small; cat /small/kept") == "before\nkept\nold"
    assert small.ok("/small/fits", b"x" * 1000)["size"] == 1000
