"""A harenad of its own for tests whose templates are warm, or that need room for many: they would be in the way of those that count sandboxes.

    daemon = make_daemon(templates)    then start(); end_daemon(daemon) leaves nothing behind
    variables(daemon)                  what `harena e2b env` prints, with a new key
"""

import os
import shlex
import subprocess
import tempfile
import time

from e2b_paths import BUILD
from harenad_process import INSTANCE, Harenad
from running_daemon import clear_away, stop_everything

PATIENCE_S = 120


FEW, MANY = 32, 256  # ranges of user ids: one a sandbox


def make_daemon(templates, ranges=FEW):
    first = 100 + os.getpid() % 800 * FEW if ranges == FEW else 25_700 + os.getpid() % 28 * MANY
    daemon = Harenad(tempfile.mkdtemp(prefix="harena-own-"), INSTANCE + "w", first)

    def configure(config):
        config["plugins"]["container"]["config"].update(id_ranges=ranges)
        config["plugins"]["e2b"] = {"config": {"listen": "127.0.0.1:0", "warm_token_file": str(daemon.state / "admin.token"), "templates": templates}}

    daemon.edit_config(configure)
    return daemon


def variables(daemon):
    env = dict(os.environ, HARENA_URL=daemon.url, HARENA_TOKEN=daemon.token)
    printed = subprocess.run([str(BUILD / "bin" / "harena"), "e2b", "env", "--create-key", "own"], capture_output=True, text=True, env=env)
    assert printed.returncode == 0, printed.stderr
    return dict(shlex.split(line)[1].split("=", 1) for line in printed.stdout.splitlines())


def end_daemon(daemon):
    """With what lives: pools first lose their keeper, by a start without the plugin."""
    if daemon.process is not None:
        daemon.stop()
    daemon.restart(lambda config: config["plugins"].pop("e2b"))
    stop_everything(daemon)
    clear_away(daemon)


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
