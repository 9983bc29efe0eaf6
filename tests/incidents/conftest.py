"""A harenad of its own for the incidents, and an agent's sandbox in it.

    def test_x(box): box.attack("row", "5")          a fresh sandbox with the attack program, stopped afterwards
    def test_y(box, client): ...                     the Python SDK beside it

The daemon is tests/integration's, with another instance and other ids: both may run in one pytest.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "integration"))
_spec = importlib.util.spec_from_file_location("harena_integration_conftest", HERE.parent / "integration" / "conftest.py")
integration = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(integration)
integration.INSTANCE = f"inc{os.getpid()}"

BUILD = integration.BUILD
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


class Daemon(integration.Harenad):
    """An instance of its own, ids above those of the integration tests."""

    def __init__(self, folder):
        super().__init__(folder)
        config = json.loads(self.config.read_text())
        self.container = config["plugins"]["container"]["config"]
        self.container.update(instance=integration.INSTANCE, id_base=(65_100 + os.getpid() % 12 * 32) * 65536, id_ranges=32)
        self.write(config)

    def write(self, config=None):
        config = config or json.loads(self.config.read_text())
        config["plugins"]["container"]["config"] = self.container
        self.config.write_text(json.dumps(config))


integration.Harenad = Daemon
harenad = integration.harenad
image = integration.image
client = integration.client
cli = integration.cli
api = integration.api


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
