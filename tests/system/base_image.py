"""The test VM's base image: built once by build_image.sh, kept by content, shared by everybody on this machine.

    base = base_image.ensure(packages)      Base(folder, lock); Unavailable where this host can't have one

An entry is `CACHE/KEY/{disk.img,vmlinuz,initrd.img}`. It is made beside its name and renamed, under a lock that whoever asks for the
same key waits on until it is there; a VM holds the lock shared while it runs, so that nobody removes what it reads.
"""

import contextlib
import fcntl
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("HARENA_TEST_VM_CACHE", "/var/tmp/harena-test-vm"))
BUILD_S = 600
UNUSED_S = 7 * 24 * 3600
# What apt says when the archive can't be reached: this host's lack, not the product's fault.
NO_ARCHIVE = re.compile(r"Failed to fetch|Temporary failure|Could not (connect|resolve)|Unable to connect|Network is unreachable")


class Unavailable(Exception):
    """This host can't have a test VM; the text is the sentence to skip with."""


@dataclass
class Base:
    folder: Path
    lock: int  # held shared as long as this is open

    def close(self):
        os.close(self.lock)


def why_not():
    """Empty where a test VM can be made, else the sentence to skip with."""
    if os.geteuid() != 0:
        return "the test VM needs root: its disk's files belong to root"
    for tool, package in [("qemu-system-x86_64", "qemu-system-x86"), ("mmdebstrap", "mmdebstrap"), ("mke2fs", "e2fsprogs")]:
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return f"no test VM: {tool} isn't installed (apt-get install {package})"
    return ""


def library_packages(build):
    """The packages with the shared libraries of the build's programs: the VM's distribution is this host's, so the same names fit."""
    programs = [str(one) for one in (build / "bin").iterdir() if one.is_file()] + [str(one) for one in (build / "plugins").rglob("*.so")]
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout
    paths = sorted(set(re.findall(r"=> (/\S+)", listed)))
    # dpkg may know a file by its place before or after the merge of / and /usr.
    names = sorted({name for path in paths for name in (path, "/usr" + path, path.removeprefix("/usr"))})
    found = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True).stdout
    return sorted({line.split(":")[0] for line in found.splitlines() if ": /" in line})


def ensure(packages):
    if why_not():
        raise Unavailable(why_not())
    key = subprocess.run([HERE / "build_image.sh", "--key", *packages], capture_output=True, text=True, check=True).stdout.strip()
    CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    lock = os.open(CACHE / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        folder = CACHE / key
        while not there(lock, folder):
            if not alone(lock):
                continue
            if not folder.exists():
                build(folder, packages)
                prune(keep=key)
        os.utime(folder)
        return Base(folder, lock)
    except BaseException:
        os.close(lock)
        raise


def there(lock, folder):
    """With the lock shared: waits for whoever builds."""
    fcntl.flock(lock, fcntl.LOCK_SH)
    return folder.exists()


def alone(lock):
    """Never waits while others hold it: one of them may have built it meanwhile, and holds it for as long as its machine runs."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        fcntl.flock(lock, fcntl.LOCK_UN)
        time.sleep(random.uniform(0.01, 0.05))
        return False


def build(folder, packages):
    part = folder.with_name(folder.name + ".part")  # ours alone under the lock; what a killed builder left goes first
    shutil.rmtree(part, ignore_errors=True)
    try:
        done = subprocess.run([HERE / "build_image.sh", str(part), *packages], capture_output=True, text=True, timeout=BUILD_S)
        if done.returncode != 0:
            lines = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
            if NO_ARCHIVE.search(lines):
                raise Unavailable("no test VM: the distribution's archive can't be reached from here")
            raise RuntimeError(f"build_image.sh ended with {done.returncode}:\n{lines}")
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextlib.contextmanager
def working_folder():
    """For one machine's disks and sockets. What a killed process left of its own goes when the next one asks."""
    CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    for folder in CACHE.glob("run-*"):
        remove_if_unused(folder, folder)
    work = Path(tempfile.mkdtemp(prefix="run-", dir=CACHE))
    lock = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def remove_if_unused(folder, lock_path):
    try:
        lock = os.open(lock_path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def prune(keep):
    """Entries that nobody used for a week and nobody uses now."""
    for lock_path in CACHE.glob("*.lock"):
        folder = lock_path.with_suffix("")
        if folder.name == keep or (folder.exists() and time.time() - folder.stat().st_mtime < UNUSED_S):
            continue
        remove_if_unused(folder, lock_path)
