"""A harenad of its own for the incidents, and an agent's sandbox in it.

    def test_x(box): box.attack("row", "5")          a fresh sandbox with the attack program, stopped afterwards
    def test_y(box, client): ...                     the Python SDK beside it

The daemon is tests/integration's, with another instance and other ids: both may run in one pytest.
"""

import json
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "integration"))

from harenad_process import BUILD  # noqa: E402
from running_daemon import Cli, import_tiny, running_daemon  # noqa: E402

ATTACK = BUILD / "tests" / "incidents" / "harena-attack"
LONG = os.environ.get("HARENA_LONG_TESTS") == "1"
INSIDE = "/tmp/harena-attack"


def pytest_collection_modifyitems(config, items):
    reason = None
    if os.geteuid() != 0:
        reason = "incidents need root: sandboxes can't be made otherwise"
    elif not attack_program().exists():
        reason = f"{ATTACK} isn't built; HARENA_BUILD_DIR says where the build is"
    for item in items:
        if reason and str(item.fspath).startswith(str(HERE)):
            item.add_marker(pytest.mark.skip(reason=reason))


def attack_program():
    return ATTACK if ATTACK.exists() else BUILD / "bin" / "harena-attack"


@pytest.fixture(scope="session")
def harenad():
    # Above those of the integration tests.
    with running_daemon(f"inc{os.getpid()}", 65_100 + os.getpid() % 12 * 32) as daemon:
        yield daemon


@pytest.fixture(scope="session")
def image(harenad, tmp_path_factory):
    return import_tiny(harenad, tmp_path_factory.mktemp("image"))


@pytest.fixture
def client(harenad):
    with harenad.client() as one:
        yield one


@pytest.fixture
def cli(harenad):
    return Cli(harenad)


class Box:
    """An agent's sandbox, root in it."""

    def __init__(self, sandbox):
        self.sandbox, self.id = sandbox, sandbox.id
        sandbox.files.write(INSIDE, attack_program().read_bytes(), mode=0o755)

    def attack(self, *words, **options):
        return self.sandbox.run([INSIDE, *words], **options)

    def findings(self, *rows):
        """What the rows found, as documents; strict: every rule answered, none is broken."""
        result = self.attack("row", *rows, timeout=300)
        found = [json.loads(line) for line in result.stdout.splitlines()]
        broken = [one for one in found if one["verdict"] == "broken"]
        assert not broken, broken
        assert found and result.exit.code == 0, (result.exit, result.stderr[-2000:])
        return found

    def shell(self, text, **options):
        return self.sandbox.run_shell(text, **options)

    def trusted(self, text, **options):
        return self.sandbox.run_shell(text, trusted_tools=True, **options)


@pytest.fixture
def make_box(client, image):
    import harena

    made = []

    def make(**params):
        params = {"cpu": 2, "memory": "256MiB", **params}
        made.append(client.create(harena.ContainerArgs(image=image, **params)))
        return Box(made[-1])

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def box(make_box):
    return make_box()
