"""The smallest root file system that the tests' images begin with: busybox, a few users."""

import subprocess

import pytest

from harenad_process import SOURCE


def make_tiny_image(folder):
    """Makes `folder`; the test skips where the host has no static busybox to put into it."""
    made = subprocess.run([str(SOURCE / "tests" / "support" / "tiny_image.sh"), str(folder)], capture_output=True, text=True)
    if made.returncode == 77:
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    return folder
