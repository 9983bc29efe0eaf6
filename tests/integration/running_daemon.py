"""What the fixtures of every folder with a harenad of its own are made of (a plain module: each folder has a conftest)."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harenad_process import BUILD, IMAGE, INSTANCE, Harenad
from tiny_image import make_tiny_image


def remove_cgroups_of(instance):
    """The instance's own, which a daemon keeps for its next start. One that isn't empty is a leak: rmdir fails."""
    for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if f"/harena/{instance}/" in folder + "/":  # another instance may begin with the same name
            os.rmdir(folder)


def remove_profile_of(instance):
    """The AppArmor profile, which the kernel would keep until the next boot."""
    folder = Path("/sys/kernel/security/apparmor")
    if (folder / "profiles").exists() and f"harena-{instance} (" in (folder / "profiles").read_text():
        (folder / ".remove").write_text(f"harena-{instance}")


def stop_everything(daemon):
    with daemon.client() as client:
        for sandbox in client.list(states=["creating", "running", "pausing", "paused", "resuming"]):
            sandbox.stop()


def clear_away(daemon):
    """Ends it, and removes its folder and what the kernel keeps of its instance. Mounts that are left are a leak."""
    try:
        daemon.stop()
    finally:
        left = [line.split()[1] for line in open("/proc/self/mounts") if str(daemon.folder) in line]
        for mount in reversed(left):
            subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(daemon.folder, ignore_errors=True)
        remove_cgroups_of(daemon.instance)
        remove_profile_of(daemon.instance)
    assert not left, f"mounts were left behind: {left}"


@contextlib.contextmanager
def running_daemon(instance=INSTANCE, first_range=None, configure=None):
    """A harenad with its folders, and in the end neither of them nor anything that it made. `configure` may change its configuration first."""
    pytest.importorskip("httpx", reason="the Python package httpx isn't installed, and the SDK stands on it")
    folder = tempfile.mkdtemp(prefix="harena-it-")
    daemon = Harenad(folder, instance, first_range)
    if configure:
        daemon.edit_config(configure)
    try:
        daemon.start()
        yield daemon
        if daemon.process is None:
            daemon.start()
        stop_everything(daemon)
    finally:
        clear_away(daemon)


def import_tiny(daemon, folder):
    """root/tiny:v1, imported from a folder with busybox."""
    make_tiny_image(folder / "tiny")
    with daemon.client() as client:
        client.images.import_image(IMAGE, folder=str(folder / "tiny"))
    return IMAGE


class Cli:
    def __init__(self, daemon):
        self.binary = str(BUILD / "bin" / "harena")
        self.env = dict(os.environ, HARENA_URL=daemon.url, HARENA_TOKEN=daemon.token, TERM="xterm")

    def __call__(self, *args, input=b"", code=0):
        done = subprocess.run([self.binary, *args], input=input, capture_output=True, timeout=120, env=self.env)
        assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    def out(self, *args, **options):
        return self(*args, **options).stdout.decode()
