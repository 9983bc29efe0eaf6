"""A harenad of its own for tests whose templates are warm: its pool would be in the way of those that count sandboxes.

    daemon = make_daemon(templates)    then start(); end_daemon(daemon) leaves nothing behind
"""

import json
import os
import shutil
import subprocess
import tempfile
import time

from harenad_process import INSTANCE, Harenad

LIVING = ["creating", "running", "pausing", "paused", "resuming"]
PATIENCE_S = 120


def make_daemon(templates):
    folder = tempfile.mkdtemp(prefix="harena-warm-")
    daemon = Harenad(folder)
    config = json.loads(daemon.config.read_text())
    config["plugins"]["container"]["config"].update(instance=INSTANCE + "w", id_base=(100 + os.getpid() % 800 * 32) * 65536, id_ranges=32)
    config["plugins"]["e2b"] = {"config": {"listen": "127.0.0.1:0", "warm_token_file": str(daemon.state / "admin.token"), "templates": templates}}
    daemon.config.write_text(json.dumps(config))
    return daemon


def end_daemon(daemon):
    """With what lives: pools first lose their keeper, by a start without the plugin."""
    if daemon.process is not None:
        daemon.stop()
    daemon.restart(lambda config: config["plugins"].pop("e2b"))
    with daemon.client() as client:
        for one in client.list(states=LIVING):
            one.stop()
    daemon.stop()
    left = [line.split()[1] for line in open("/proc/self/mounts") if str(daemon.folder) in line]
    for mount in reversed(left):
        subprocess.run(["umount", "-l", mount], check=False)
    shutil.rmtree(daemon.folder, ignore_errors=True)
    for base, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if base.endswith(f"/harena/{INSTANCE}w") or f"/harena/{INSTANCE}w/" in base:
            os.rmdir(base)
    assert not left, f"mounts were left behind: {left}"


def ready_members(client):
    return sorted(one.id for one in client.list(states=["running"]) if one.info.labels.get("e2b-pool") == "ready")


def until(condition, what, patience_s=PATIENCE_S):
    deadline = time.monotonic() + patience_s
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
