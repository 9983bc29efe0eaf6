"""A running harenad with the plugin mcp on a free port, and an image for its sandboxes.

    def test_x(mcp): mcp.url, mcp.token
"""

import json
import os
import tempfile
from types import SimpleNamespace

import pytest

from harenad_process import BUILD, IMAGE, INSTANCE, Harenad
from mcp_daemon import end_daemon
from tiny_image import make_tiny_image


@pytest.fixture(scope="session")
def mcp_daemon(tmp_path_factory):
    if not (BUILD / "plugins" / "mcp").exists():
        pytest.skip("the plugin mcp isn't built")
    daemon = Harenad(tempfile.mkdtemp(prefix="harena-mcp-"))
    config = json.loads(daemon.config.read_text())
    config["plugins"].pop("e2b", None)
    config["plugins"]["container"]["config"].update(instance=INSTANCE + "m", id_base=(26_000 + os.getpid() % 200 * 32) * 65536, id_ranges=32)
    config["plugins"]["mcp"] = {"config": {"listen": "127.0.0.1:0", "image": IMAGE, "max_output_bytes": 4096, "allowed_origins": ["https://app.example.org"]}}
    daemon.config.write_text(json.dumps(config))
    daemon.start()
    try:
        folder = tmp_path_factory.mktemp("image") / "tiny"
        make_tiny_image(folder)
        with daemon.client() as client:
            client.images.import_image(IMAGE, folder=str(folder))
        yield daemon
    finally:
        end_daemon(daemon, INSTANCE + "m")


@pytest.fixture(scope="session")
def mcp(mcp_daemon):
    return SimpleNamespace(url=mcp_daemon.about["frontends"]["mcp"][0], token=mcp_daemon.token, daemon=mcp_daemon)
