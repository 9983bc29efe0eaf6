"""A running harenad with the plugin mcp on a free port, and an image for its sandboxes.

    def test_x(mcp): mcp.url, mcp.token
"""

import os
from types import SimpleNamespace

import pytest

from harenad_process import BUILD, IMAGE, INSTANCE
from running_daemon import import_tiny, running_daemon


def configure(config):
    config["plugins"].pop("e2b", None)
    config["plugins"]["container"]["config"].update(id_ranges=32)
    config["plugins"]["mcp"] = {"config": {"listen": "127.0.0.1:0", "image": IMAGE, "max_output_bytes": 4096, "allowed_origins": ["https://app.example.org"]}}


@pytest.fixture(scope="session")
def mcp_daemon(tmp_path_factory):
    if not (BUILD / "plugins" / "mcp").exists():
        pytest.skip("the plugin mcp isn't built")
    with running_daemon(INSTANCE + "m", 26_000 + os.getpid() % 200 * 32, configure) as daemon:
        import_tiny(daemon, tmp_path_factory.mktemp("image"))
        yield daemon


@pytest.fixture(scope="session")
def mcp(mcp_daemon):
    return SimpleNamespace(url=mcp_daemon.about["frontends"]["mcp"][0], token=mcp_daemon.token, daemon=mcp_daemon)
