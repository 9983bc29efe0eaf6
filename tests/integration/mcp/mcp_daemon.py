"""The end of a harenad of its own: nothing is left behind."""

import os
import shutil
import subprocess

LIVING = ["creating", "running", "pausing", "paused", "resuming"]


def end_daemon(daemon, instance):
    if daemon.process is None:
        daemon.start()
    with daemon.client() as client:
        for one in client.list(states=LIVING):
            one.stop()
    daemon.stop()
    left = [line.split()[1] for line in open("/proc/self/mounts") if str(daemon.folder) in line]
    for mount in reversed(left):
        subprocess.run(["umount", "-l", mount], check=False)
    shutil.rmtree(daemon.folder, ignore_errors=True)
    for base, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if base.endswith(f"/harena/{instance}") or f"/harena/{instance}/" in base:
            os.rmdir(base)
    assert not left, f"mounts were left behind: {left}"
