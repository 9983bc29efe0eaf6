"""A harenad of its own for tests whose templates are warm: its pool would be in the way of those that count sandboxes.

    daemon = make_daemon(templates)    then start(); end_daemon(daemon) leaves nothing behind
"""

import os
import tempfile
import time

from harenad_process import INSTANCE, Harenad
from running_daemon import clear_away, stop_everything

PATIENCE_S = 120


def make_daemon(templates):
    daemon = Harenad(tempfile.mkdtemp(prefix="harena-warm-"), INSTANCE + "w", 100 + os.getpid() % 800 * 32)

    def configure(config):
        config["plugins"]["container"]["config"].update(id_ranges=32)
        config["plugins"]["e2b"] = {"config": {"listen": "127.0.0.1:0", "warm_token_file": str(daemon.state / "admin.token"), "templates": templates}}

    daemon.edit_config(configure)
    return daemon


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
