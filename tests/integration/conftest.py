"""A private harenad for the tests, and the clients that talk to it.

    def test_x(client): ...            the Python SDK, as admin
    def test_y(sandbox): ...           a running container of root/tiny:v1, stopped afterwards
    def test_z(cli): ...               the program harena: cli("exec", ...)
    def test_restart(harenad): ...     harenad.kill(), harenad.start()

The daemon listens on free ports, keeps its state in a temporary folder and is named by its own instance and id range, so
that it disturbs no other. HARENA_BUILD_DIR says where the build is.
"""

import os
from pathlib import Path

import pytest

from harenad_process import BUILD
from http_api import Api
from running_daemon import Cli, import_tiny, running_daemon


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


@pytest.fixture(scope="session")
def harenad():
    with running_daemon() as daemon:
        yield daemon


@pytest.fixture(scope="session")
def image(harenad, tmp_path_factory):
    """root/tiny:v1, imported from a folder with busybox."""
    return import_tiny(harenad, tmp_path_factory.mktemp("image"))


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
