"""How base images are kept: by content, built once, found again, swept; with a builder that takes no time."""

import fcntl
import os
import stat
import threading
import time

import pytest

import base_image

BUILDER = """#!/bin/bash
if [[ $1 == --key ]]; then shift; echo "key-$*" | tr ' ' -; exit; fi
echo built >> {log}
{body}
mkdir -p "$1" && touch "$1/disk.img"
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(base_image, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(base_image, "HERE", tmp_path)

    def builder(body=""):
        script = tmp_path / "build_image.sh"
        script.write_text(BUILDER.format(log=tmp_path / "log", body=body))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "cache"

    return builder


def built(tmp_path):
    return (tmp_path / "log").read_text().count("built")


def test_built_once_and_found_again(cache, tmp_path):
    folder = cache()
    for _ in range(2):
        base = base_image.ensure(["a", "b"])
        assert base.folder == folder / "key-a-b" and (base.folder / "disk.img").exists()
        base.close()
    assert built(tmp_path) == 1
    base_image.ensure(["other"]).close()
    assert built(tmp_path) == 2


def test_two_at_once_wait_for_one(cache, tmp_path):
    cache("sleep 0.3")
    bases = []
    threads = [threading.Thread(target=lambda: bases.append(base_image.ensure(["a"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bases) == 4 and built(tmp_path) == 1
    for base in bases:
        base.close()


def test_half_a_base_is_none(cache, tmp_path):
    folder = cache("mkdir -p \"$1\"; touch \"$1/disk.img\"; exit 3")
    with pytest.raises(RuntimeError, match="ended with 3"):
        base_image.ensure(["a"])
    assert not (folder / "key-a").exists() and not (folder / "key-a.part").exists()
    cache()
    (folder / "key-a.part").mkdir()  # as a builder that was killed leaves it
    base_image.ensure(["a"]).close()
    assert (folder / "key-a" / "disk.img").exists() and not (folder / "key-a.part").exists()


def test_an_archive_out_of_reach_is_a_lack_of_the_host(cache):
    cache("echo 'E: Failed to fetch http://archive.invalid/x  Could not resolve host' >&2; exit 100")
    with pytest.raises(base_image.Unavailable, match="archive"):
        base_image.ensure(["a"])


def test_what_nobody_uses_goes_and_what_runs_stays(cache):
    folder = cache()
    old, held = base_image.ensure(["old"]), base_image.ensure(["held"])
    old.close()
    week_ago = time.time() - 2 * base_image.UNUSED_S
    for name in ("key-old", "key-held"):
        os.utime(folder / name, (week_ago, week_ago))
    base_image.ensure(["new"]).close()
    assert not (folder / "key-old").exists() and (folder / "key-held").exists() and (folder / "key-new").exists()
    held.close()


def test_working_folders_of_killed_runs_are_swept(cache):
    folder = cache()
    folder.mkdir()
    (folder / "run-dead").mkdir()
    alive = folder / "run-alive"
    alive.mkdir()
    lock = os.open(alive, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    with base_image.working_folder() as work:
        assert work.exists() and alive.exists() and not (folder / "run-dead").exists()
    assert not work.exists()
    os.close(lock)
