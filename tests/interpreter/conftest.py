"""The code interpreter's service, started here with this host's kernels.

    def test_x(service): ...       service.run("1 + 1").text, service.call("GET", "/contexts")

Debian's python3-ipykernel, python3-jupyter-client and python3-uvicorn are enough; what else a test needs it says when it skips.
"""

import importlib.util
from pathlib import Path

import pytest

from interpreter_service import Service

NEEDED = {"ipykernel": "python3-ipykernel", "jupyter_client": "python3-jupyter-client", "uvicorn": "python3-uvicorn"}


def missing():
    lacking = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    return f"the code interpreter needs {', '.join(lacking)}, which this host lacks" if lacking else None


def pytest_collection_modifyitems(items):
    reason = missing()
    for item in items if reason else []:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    one = Service(tmp_path_factory.mktemp("home"))
    yield one
    assert one.stop() == 0


@pytest.fixture
def fresh(service):
    """A context of the test's own: keyword arguments for ``run``."""
    made = service.context()
    yield {"context_id": made}
    service.call("DELETE", f"/contexts/{made}")


@pytest.fixture
def language(service):
    def need(name):
        status, said = service.call("POST", "/contexts", {"language": name})
        if status == 400:
            pytest.skip(said)
        return {"context_id": said["id"]}

    return need
