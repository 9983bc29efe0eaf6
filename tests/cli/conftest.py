"""The program `harena`, driven against the strict double of the API (sdk/python/tests/fake_server.py)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "sdk" / "python" / "tests"))

from fake_server import TOKEN, FakeHarena  # noqa: E402


@pytest.fixture(scope="session")
def binary():
    build = os.environ.get("HARENA_BUILD_DIR", str(SOURCE / "build" / "dev"))
    path = Path(build) / "bin" / "harena"
    if not path.exists():
        pytest.skip(f"{path} isn't built; HARENA_BUILD_DIR says where the build is")
    return str(path)


@pytest.fixture
def fake():
    with FakeHarena() as server:
        yield server


class Cli:
    def __init__(self, binary, fake):
        self.binary = binary
        self.env = dict(os.environ, HARENA_URL=fake.url, HARENA_TOKEN=TOKEN, TERM="xterm")

    def __call__(self, *args, input=b"", env=None, code=0):
        done = subprocess.run(
            [self.binary, *args], input=input, capture_output=True, timeout=60, env={**self.env, **(env or {})})
        assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    def out(self, *args, **options):
        return self(*args, **options).stdout.decode()

    def err(self, *args, code=125, **options):
        """The one error line of a call that must fail."""
        done = self(*args, code=code, **options)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith("error: ")]
        assert len(lines) == 1 and not done.stdout, done
        return lines[0]

    def start(self, *args, **options):
        return subprocess.Popen([self.binary, *args], env=self.env, **options)


@pytest.fixture
def cli(binary, fake):
    return Cli(binary, fake)


@pytest.fixture
def box(cli):
    return cli.out("create", "root/base:v1").strip()
