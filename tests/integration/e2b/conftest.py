"""E2B's published SDKs against a running harenad with the plugin e2b; README.md says how they get here.

    def test_x(sdk): sandbox = sdk.Sandbox.create()      runs with the sync and with the async SDK
    def test_y(e2b_env): ...                             the variables that `harena e2b env` prints
"""

import asyncio
import inspect
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2b_paths import BUILD, GIVEN, PYTHON, SDK_FOLDER
from e2b_raw import Raw, kill_all
from python_image import copy_into, lay_out, libraries
from tiny_image import make_tiny_image

TEMPLATE_IMAGE = "root/e2b-base:v1"  # conftest.py of tests/integration names it in the plugin's configuration
PROGRAMS = ("/bin/bash", "/usr/bin/git")
NO_SDK = "E2B's {} SDK isn't installed: tests/integration/e2b/setup.sh installs it"


def add_program(folder, program):
    source = Path(program)
    if not source.exists():
        return
    target = folder / "bin" / source.name
    target.unlink(missing_ok=True)
    shutil.copy(source, target)
    for library in libraries(source):
        copy_into(folder, library)


@pytest.fixture(scope="session")
def template(harenad, tmp_path_factory):
    """The image of the template `base`: busybox, and of this host bash, git and Python."""
    folder = tmp_path_factory.mktemp("image") / "e2b"
    make_tiny_image(folder)
    lay_out(folder)
    for program in PROGRAMS:
        add_program(folder, program)
    for name in ("git-upload-pack", "git-receive-pack", "git-upload-archive"):
        (folder / "bin" / name).symlink_to("git")
    passwd = folder / "etc" / "passwd"
    passwd.write_text(passwd.read_text().replace(":/home/user:/bin/sh", ":/home/user:/bin/bash"))
    with harenad.client() as client:
        client.images.import_image(TEMPLATE_IMAGE, folder=str(folder))
    return TEMPLATE_IMAGE


@pytest.fixture(scope="session")
def e2b_env(request):
    """What `harena e2b env` prints, with a new key; as they are given, where another run of pytest started this one (test_spring.py)."""
    if GIVEN in os.environ:
        return json.loads(os.environ[GIVEN])
    request.getfixturevalue("template")
    harenad = request.getfixturevalue("harenad")
    env = dict(os.environ, HARENA_URL=harenad.url, HARENA_TOKEN=harenad.token)
    printed = subprocess.run([str(BUILD / "bin" / "harena"), "e2b", "env", "--create-key", "tests"], capture_output=True, text=True, env=env)
    assert printed.returncode == 0, printed.stderr
    lines = [shlex.split(line)[1] for line in printed.stdout.splitlines()]
    return dict(line.split("=", 1) for line in lines)


@pytest.fixture(scope="session")
def python_sdk(e2b_env):
    """The module e2b, in this process, with the three variables set."""
    folder = Path(os.environ.get(SDK_FOLDER, PYTHON))
    if not (folder / "e2b").exists():
        pytest.skip(NO_SDK.format("Python"))
    sys.path.insert(0, str(folder))
    for name in [one for one in sys.modules if one.partition(".")[0] in ("attr", "attrs")]:
        del sys.modules[name]  # the host's, if a plugin of pytest has loaded it: the SDK wants its own
    os.environ.update(e2b_env)
    import e2b

    yield e2b
    for name in e2b_env:
        os.environ.pop(name, None)
    sys.path.remove(str(folder))


class Blocking:
    """An object of the async SDK whose coroutines are run to their ends: a case reads the same for both SDKs."""

    def __init__(self, inner, loop):
        self._inner, self._loop = inner, loop

    def __getattr__(self, name):
        return self._wrap(getattr(self._inner, name))

    def __call__(self, *args, **options):
        return self._wrap(self._inner(*args, **options))

    def _wrap(self, value):
        if inspect.isawaitable(value):
            value = self._loop.run_until_complete(value)
        if isinstance(value, list):
            return [self._wrap(one) for one in value]
        ours = getattr(type(value), "__module__", "").startswith("e2b.") and "async" in type(value).__module__
        if ours or inspect.ismethod(value) or inspect.isfunction(value) or inspect.isclass(value):
            return Blocking(value, self._loop)
        return value


class Sdk:
    """`Sandbox` and the other names of the module, sync or async."""

    def __init__(self, module, loop):
        self.module, self.loop = module, loop
        self.is_async = loop is not None

    def __getattr__(self, name):
        if self.is_async:
            other = getattr(self.module, "Async" + name, None)
            if other is not None:
                return Blocking(other, self.loop)
        return getattr(self.module, name)


@pytest.fixture(scope="session")
def event_loop_of_sdk():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(params=["sync", "async"])
def sdk(request, python_sdk, event_loop_of_sdk):
    """Sandboxes that a test leaves behind are killed."""
    one = Sdk(python_sdk, event_loop_of_sdk if request.param == "async" else None)
    yield one
    kill_all(os.environ)


@pytest.fixture
def raw(e2b_env):
    yield Raw(e2b_env)
    kill_all(e2b_env)
