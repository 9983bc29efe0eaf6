"""A private harenad of the tests: its folders, its process, its clients. In a module of its own name, since every folder of tests may
have a conftest, and `from conftest import` finds any of them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "sdk" / "python"))

BUILD = Path(os.environ.get("HARENA_BUILD_DIR", SOURCE / "build" / "dev"))
IMAGE = "root/tiny:v1"
START_S = 60
INSTANCE = f"it{os.getpid()}"


def frontends():
    """E2B's protocol on a free port, as tests/integration/e2b wants it; `harenad.about["frontends"]` says where."""
    if not (BUILD / "plugins" / "e2b").exists():
        return {}
    base = {"image": "root/e2b-base:v1", "cpu": 0.5, "memory_mb": 256, "aliases": ["base-alias"]}
    if os.environ.get("HARENA_E2B_MANY") == "1":  # 200 of them are admitted on a small machine
        base.update(cpu=0.05, memory_mb=64)
    other = {"image": "root/e2b-base:v1", "cpu": 1, "memory_mb": 128, "disk_mb": 64}
    small = {"image": "root/e2b-base:v1"}
    late = dict(base, aliases=[], start_command="sleep 0.3; touch /tmp/ready; exec sleep 1000", ready_command="test -e /tmp/ready")
    never = dict(base, aliases=[], ready_command="echo not yet >&2; false", ready_timeout_s=1)
    return {"e2b": {"config": {"listen": "127.0.0.1:0", "max_timeout_s": 86400, "templates": {
        "base": base, "other": other, "late": late, "never": never, "small": small}}}}


class Harenad:
    """One daemon with its folders; they outlive a kill, so that `start` recovers what was there."""

    def __init__(self, folder, instance=INSTANCE, first_range=None):
        """`instance`: of its groups; two that run at once have different ones, and different ranges of ids (`first_range` is a number of 65,536)."""
        self.folder, self.instance = Path(folder), instance
        self.state, self.run = self.folder / "state", self.folder / "run"
        self.log = self.folder / "harenad.log"
        self.config = self.folder / "harena.json"
        self.process = None
        self.program = str(BUILD / "bin" / "harenad")
        self.about = {}
        ranges = 256 if os.environ.get("HARENA_E2B_MANY") == "1" else 32  # of user ids: one a sandbox
        first_range = first_range or 33_000 + os.getpid() % (32_000 // ranges) * ranges
        self.config.write_text(json.dumps({
            "api": {"listen": "127.0.0.1:0"},
            "health": {"listen": "127.0.0.1:0"},
            "state_dir": str(self.state),
            "run_dir": str(self.run),
            "plugin_dirs": [str(BUILD / "plugins")],
            "plugins": {"container": {"config": {
                "instance": instance, "id_base": first_range * 65536, "id_ranges": ranges}}, **frontends()},
        }))

    def edit_config(self, change):
        """For all its starts from now on; ``change`` gets the configuration to edit."""
        config = json.loads(self.config.read_text())
        change(config)
        self.config.write_text(json.dumps(config))

    def spawn(self, program=None):
        """Begins a start without waiting for its end; `program`: another build than the tests'."""
        assert self.process is None
        (self.run / "harenad.json").unlink(missing_ok=True)
        with open(self.log, "ab") as log:
            # In a session of its own: a ^C that ends the tests mustn't end it before its sandboxes are stopped.
            self.process = subprocess.Popen(
                [program or self.program, "--config", str(self.config)], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)

    def start(self, program=None):
        self.spawn(program)
        deadline = time.monotonic() + START_S
        while not (self.run / "harenad.json").exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"harenad ended with {self.process.returncode}: {self.tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"harenad isn't ready after {START_S} s: {self.tail()}")
            time.sleep(0.02)
        self.about = json.loads((self.run / "harenad.json").read_text())

    def tail(self):
        return self.log.read_text(errors="replace")[-3000:]

    def kill(self):
        """As a crash: nothing is told, nothing is cleaned up."""
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process = None
        assert code == 0, f"harenad ended with {code}: {self.tail()}"

    def restart(self, change=None):
        """Starts it again, on the port that it had, so that clients' own repetitions find it. ``change`` edits its configuration
        for this start."""
        kept = self.config.read_text()
        config = json.loads(kept)
        config["api"]["listen"] = f"127.0.0.1:{self.about['api_port']}"
        if change:
            change(config)
        self.config.write_text(json.dumps(config))
        try:
            self.start()
        finally:
            self.config.write_text(kept)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.about['api_port']}"

    @property
    def health_url(self):
        return f"http://127.0.0.1:{self.about['health_port']}"

    @property
    def token(self):
        return (self.state / "admin.token").read_text().strip()

    def client(self, **options):
        import harena

        return harena.Client(self.url, self.token, **options)

    def async_client(self, **options):
        import harena

        return harena.AsyncClient(self.url, self.token, **options)
