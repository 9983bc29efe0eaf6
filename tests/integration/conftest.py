"""A private harenad for the tests, and the clients that talk to it.

    def test_x(client): ...            the Python SDK, as admin
    def test_y(sandbox): ...           a running container of root/tiny:v1, stopped afterwards
    def test_z(cli): ...               the program harena: cli("exec", ...)
    def test_restart(harenad): ...     harenad.kill(), harenad.start()

The daemon listens on free ports, keeps its state in a temporary folder and is named by its own instance and id range, so
that it disturbs no other. HARENA_BUILD_DIR says where the build is.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from http_api import Api

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "sdk" / "python"))

BUILD = Path(os.environ.get("HARENA_BUILD_DIR", SOURCE / "build" / "dev"))
IMAGE = "root/tiny:v1"
START_S = 60


def pytest_collection_modifyitems(config, items):
    """One sentence for all of them where this host can't run them."""
    here = str(Path(__file__).parent)
    reason = None
    if os.geteuid() != 0:
        reason = "integration tests need root: namespaces, mounts and cgroups of sandboxes can't be made otherwise"
    elif not (BUILD / "bin" / "harenad").exists():
        reason = f"{BUILD}/bin/harenad isn't built; HARENA_BUILD_DIR says where the build is"
    if reason:
        for item in items:
            if str(item.fspath).startswith(here):
                item.add_marker(pytest.mark.skip(reason=reason))


def frontends():
    """E2B's protocol on a free port, as tests/integration/e2b wants it; `harenad.about["frontends"]` says where."""
    if not (BUILD / "plugins" / "e2b").exists():
        return {}
    base = {"image": "root/e2b-base:v1", "cpu": 0.5, "memory_mb": 256, "aliases": ["base-alias"]}
    other = {"image": "root/e2b-base:v1", "cpu": 1, "memory_mb": 128, "disk_mb": 64}
    small = {"image": "root/e2b-base:v1"}
    late = dict(base, aliases=[], start_command="sleep 0.3; touch /tmp/ready; exec sleep 1000", ready_command="test -e /tmp/ready")
    never = dict(base, aliases=[], ready_command="echo not yet >&2; false", ready_timeout_s=1)
    return {"e2b": {"config": {"listen": "127.0.0.1:0", "max_timeout_s": 86400, "templates": {
        "base": base, "other": other, "late": late, "never": never, "small": small}}}}


class Harenad:
    """One daemon with its folders; they outlive a kill, so that `start` recovers what was there."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.state, self.run = self.folder / "state", self.folder / "run"
        self.log = self.folder / "harenad.log"
        self.config = self.folder / "harena.json"
        self.process = None
        self.program = str(BUILD / "bin" / "harenad")
        self.about = {}
        number = os.getpid() % 1000
        self.config.write_text(json.dumps({
            "api": {"listen": "127.0.0.1:0"},
            "health": {"listen": "127.0.0.1:0"},
            "state_dir": str(self.state),
            "run_dir": str(self.run),
            "plugin_dirs": [str(BUILD / "plugins")],
            "plugins": {"container": {"config": {
                "instance": INSTANCE, "id_base": (33_000 + number * 32) * 65536, "id_ranges": 32}}, **frontends()},
        }))

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


INSTANCE = f"it{os.getpid()}"


def remove_own_cgroups():
    """The instance's own, which a daemon keeps for its next start. One that isn't empty is a leak: rmdir fails."""
    for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if f"/harena/{INSTANCE}" in folder:
            os.rmdir(folder)


def stop_everything(daemon):
    with daemon.client() as client:
        for sandbox in client.list(states=["creating", "running", "pausing", "paused", "resuming"]):
            sandbox.stop()


@pytest.fixture(scope="session")
def harenad(tmp_path_factory):
    pytest.importorskip("httpx", reason="the Python package httpx isn't installed, and the SDK stands on it")
    folder = tempfile.mkdtemp(prefix="harena-it-")
    daemon = Harenad(folder)
    try:
        daemon.start()
        yield daemon
        if daemon.process is None:
            daemon.start()
        stop_everything(daemon)
    finally:
        try:
            daemon.stop()
        finally:
            left = [line.split()[1] for line in open("/proc/self/mounts") if folder in line]
            for mount in reversed(left):
                subprocess.run(["umount", "-l", mount], check=False)
            shutil.rmtree(folder, ignore_errors=True)
            remove_own_cgroups()
    assert not left, f"mounts were left behind: {left}"


@pytest.fixture(scope="session")
def image(harenad, tmp_path_factory):
    """root/tiny:v1, imported from a folder with busybox."""
    folder = tmp_path_factory.mktemp("image") / "tiny"
    made = subprocess.run([str(SOURCE / "tests" / "support" / "tiny_image.sh"), str(folder)], capture_output=True, text=True)
    if made.returncode == 77:
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    with harenad.client() as client:
        client.images.import_image(IMAGE, folder=str(folder))
    return IMAGE


@pytest.fixture
def client(harenad):
    with harenad.client() as one:
        yield one


@pytest.fixture
def args(image):
    import harena

    return harena.ContainerArgs(image=image, cpu=1, memory="256MiB")


@pytest.fixture
def sandbox(client, args):
    one = client.create(args)
    yield one
    one.stop()


class Cli:
    def __init__(self, daemon):
        self.binary = str(BUILD / "bin" / "harena")
        self.env = dict(os.environ, HARENA_URL=daemon.url, HARENA_TOKEN=daemon.token, TERM="xterm")

    def __call__(self, *args, input=b"", code=0):
        done = subprocess.run([self.binary, *args], input=input, capture_output=True, timeout=120, env=self.env)
        assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    def out(self, *args, **options):
        return self(*args, **options).stdout.decode()


@pytest.fixture
def cli(harenad):
    return Cli(harenad)


@pytest.fixture
def api(harenad):
    """The HTTP API without the SDK (http_api.py)."""
    return Api(harenad)


@pytest.fixture(scope="module")
def box(harenad, image):
    """A sandbox for a whole module of raw HTTP tests; a test that changes it for others makes its own (make_box)."""
    one = Api(harenad).create(image, pids=4096)
    yield one
    one.stop()


@pytest.fixture
def make_box(harenad, image):
    made = []

    def make(**params):
        made.append(Api(harenad).create(image, **params))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture(scope="module")
def files(harenad, image):
    """The files of a container that a module's tests share, over plain HTTP."""
    import harena
    from files_support import Files

    with harenad.client() as client:
        one = client.create(harena.ContainerArgs(image=image, cpu=2, memory="512MiB"))
        calls = Files(harenad, one.id)
        calls.sandbox = one
        yield calls
        calls.close()
        one.stop()
