"""What the SDK and its tests stand on."""

import os
import subprocess
import sys

import pytest

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def test_httpx_is_there():
    pytest.importorskip("httpx", reason="the Python package httpx isn't installed: the tests of the SDK can't run")


def test_the_sync_side_is_generated():
    assert subprocess.run([sys.executable, os.path.join(SDK, "tools", "unasync.py"), "--check"]).returncode == 0
