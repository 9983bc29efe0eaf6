"""`mcp` in create: the SDK starts `mcp-gateway` of the template, which has to be there."""

import pytest

GATEWAY = """#!/bin/sh
mkdir -p /etc/mcp-gateway
printf %s "$GATEWAY_ACCESS_TOKEN" > /etc/mcp-gateway/.token
printf %s "$2" > /etc/mcp-gateway/config
"""


def test_a_template_without_the_gateway_is_refused(sdk, raw):
    with pytest.raises(sdk.SandboxException, match="mcp can't be honoured: the template 'base' has no program mcp-gateway"):
        sdk.Sandbox.create("base", mcp={"exa": {"apiKey": "k"}})
    assert raw("GET", "/v2/sandboxes")[2] == [], "nothing is left of it"
    for wrong in ("yes", [1], True):
        status, _, body = raw("POST", "/v2/sandboxes", {"templateID": "base", "mcp": wrong})
        assert status == 400 and "mcp" in body["message"], body


def test_a_template_with_the_gateway(sdk, raw):
    maker = sdk.Sandbox.create("base")
    maker.files.write("/usr/local/bin/mcp-gateway", GATEWAY, user="root")
    maker.commands.run("chmod 755 /usr/local/bin/mcp-gateway", user="root")
    snapshot = maker.create_snapshot()
    try:
        sandbox = sdk.Sandbox.create(snapshot.snapshot_id, mcp={"exa": {"apiKey": "k"}})
        token = sandbox.get_mcp_token()
        assert token and sandbox.commands.run("cat /etc/mcp-gateway/.token", user="root").stdout == token
        assert '"apiKey": "k"' in sandbox.commands.run("cat /etc/mcp-gateway/config", user="root").stdout
        assert sandbox.get_mcp_url().endswith("/mcp") and sandbox.get_mcp_url().startswith("https://50005-")
    finally:
        raw("DELETE", f"/templates/{snapshot.snapshot_id}")
