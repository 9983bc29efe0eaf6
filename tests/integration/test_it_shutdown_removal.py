"""SIGTERM while what is left of ended sandboxes is still being removed, behind the answers to their stops: the plugin that does it is there until
it has."""

import signal

import pytest

from harenad_process import Harenad
from http_api import at_once
from raw_api import call

COUNT = 8
#: Whatever it is told, each stop takes its time: the one that the caller waits for, and the one that the removal makes behind it.
SCRIPT = [{"verb": "stop", "delay_ms": 200, "deaf": True}]


@pytest.fixture
def daemon(tmp_path):
    made = Harenad(tmp_path)
    made.edit_config(lambda config: config["plugins"].update(fake={"config": {"script": SCRIPT}}))
    made.start()
    yield made
    made.stop()


def test_a_removal_under_way_ends_before_its_plugin(daemon):
    made = [call(daemon, "POST", "/backends/fake/sandboxes", {})[2]["id"] for _ in range(COUNT)]
    assert at_once(COUNT, lambda n: call(daemon, "POST", f"/sandboxes/{made[n]}/stop", {})[0]) == [200] * COUNT
    process, daemon.process = daemon.process, None
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0, daemon.tail()
