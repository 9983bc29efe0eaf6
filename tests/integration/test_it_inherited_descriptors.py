"""What the starter of harenad left open: it is closed at harenad's start, so no sandbox gets it."""

import fcntl
import os
import subprocess

from harenad_process import Harenad


def test_a_leaked_descriptor_ends_at_harenads_start(tmp_path):
    ours, leaked = os.pipe()
    os.set_inheritable(leaked, True)
    far = fcntl.fcntl(leaked, fcntl.F_DUPFD, 700)
    os.set_inheritable(far, True)
    daemon = Harenad(tmp_path)
    real = subprocess.Popen
    try:
        subprocess.Popen = lambda *words, **more: real(*words, **{**more, "close_fds": False})
        daemon.start()
    finally:
        subprocess.Popen = real
        os.close(leaked)
        os.close(far)
    try:
        # Nobody holds the other end any more: this is its end, at once.
        os.set_blocking(ours, False)
        assert os.read(ours, 1) == b""
    finally:
        os.close(ours)
        daemon.stop()


def test_a_start_without_streams_gives_their_numbers_to_nothing_else(tmp_path):
    daemon = Harenad(tmp_path)
    starter = tmp_path / "starter"
    starter.write_text(f'#!/bin/sh\nexec {daemon.program} "$@" <&- >&- 2>&-\n')
    starter.chmod(0o755)
    daemon.start(str(starter))
    try:
        assert {os.readlink(f"/proc/{daemon.process.pid}/fd/{number}") for number in (0, 1, 2)} == {"/dev/null"}
    finally:
        daemon.stop()


def test_a_configuration_may_come_by_a_descriptor(tmp_path):
    """As with `--config <(...)` of a shell."""
    daemon = Harenad(tmp_path)
    with open(daemon.config, "rb") as config:
        told = subprocess.run([daemon.program, "--check-config", "--config", f"/dev/fd/{config.fileno()}"], pass_fds=[config.fileno()], capture_output=True,
                              text=True, timeout=60)
    assert told.returncode == 0 and str(daemon.state) in told.stdout, told.stderr
