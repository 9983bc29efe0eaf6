"""Cases of MCP's published Python SDK; test_mcp_sdk.py runs this file and makes a test of each. A line of JSON for a case: {"name", "ok", "error"}.

    python sdk_cases.py URL TOKEN MODE        MODE: "legacy" (with the handshake), "auto" or "2026-07-28"
"""

import asyncio
import base64
import json
import sys
import traceback

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def structured(result):
    assert not result.is_error, result
    return result.structured_content


@case
async def the_handshake(client, mode):
    wanted = "2025-11-25" if mode == "legacy" else "2026-07-28"
    assert client.protocol_version == wanted, client.protocol_version
    assert client.server_info.name == "harena" and client.server_capabilities.tools is not None and "create" in client.instructions


@case
async def the_tools(client, mode):
    tools = (await client.list_tools()).tools
    assert [one.name for one in tools] == ["create", "run", "read", "write", "list", "kill"]
    assert all(one.description and one.output_schema for one in tools)


@case
async def a_life(client, mode):
    made = structured(await client.call_tool("create", {"memory": "64MiB", "labels": {"of": "life"}, "lifetime_s": 60}))
    box = {"sandbox_id": made["sandbox_id"]}
    assert made["state"] == "running"
    assert structured(await client.call_tool("write", {**box, "path": "/tmp/a/b.txt", "text": "é\n", "mode": "0600"})) == {"path": "/tmp/a/b.txt", "size": 3, "mode": "0600"}
    got = await client.call_tool("read", {**box, "path": "/tmp/a/b.txt"})
    assert structured(got)["data"] == "é\n" and got.content[0].text == "é\n"
    ran = structured(await client.call_tool("run", {**box, "command": "cat /tmp/a/b.txt; echo err >&2; exit 3"}))
    assert (ran["exit_code"], ran["stdout"], ran["stderr"], ran["cause"]) == (3, "é\n", "err\n", "exit"), ran
    assert [one["path"] for one in structured(await client.call_tool("list", {**box, "path": "/tmp/a"}))["entries"]] == ["/tmp/a/b.txt"]
    assert made["sandbox_id"] in [one["sandbox_id"] for one in structured(await client.call_tool("list", {}))["sandboxes"]]
    assert structured(await client.call_tool("kill", box))["state"] == "stopped"
    assert structured(await client.call_tool("kill", box))["state"] == "stopped"
    gone = await client.call_tool("run", {**box, "command": "true"})
    assert gone.is_error and "stopped" in gone.content[0].text, gone


@case
async def progress_is_told(client, mode):
    box = structured(await client.call_tool("create", {"memory": "64MiB"}))["sandbox_id"]
    told = []

    async def on_progress(progress, total, message):
        told.append((progress, message))

    result = await client.call_tool("run", {"sandbox_id": box, "command": "echo one; sleep 0.3; echo two"}, progress_callback=on_progress)
    assert structured(result)["stdout"] == "one\ntwo\n"
    assert [message for _, message in told][0] == "one\n" and [done for done, _ in told] == sorted(done for done, _ in told), told
    await client.call_tool("kill", {"sandbox_id": box})


@case
async def a_call_is_cancelled(client, mode):
    box = structured(await client.call_tool("create", {"memory": "64MiB"}))["sandbox_id"]
    with anyio.move_on_after(1.5):
        await client.call_tool("run", {"sandbox_id": box, "command": "exec sleep 12345"})
        raise AssertionError("it ended")
    for _ in range(100):
        seen = structured(await client.call_tool("run", {"sandbox_id": box, "command": "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"}))["stdout"]
        if "sleep 12345" not in seen:
            break
        await anyio.sleep(0.1)
    assert "sleep 12345" not in seen
    await client.call_tool("kill", {"sandbox_id": box})


@case
async def what_is_wrong_is_told(client, mode):
    wrong = await client.call_tool("run", {"sandbox_id": "x" * 20, "comand": "true"})
    assert wrong.is_error and "did you mean 'command'" in wrong.content[0].text, wrong
    gone = await client.call_tool("read", {"sandbox_id": "x" * 20, "path": "/etc/passwd"})
    assert gone.is_error and gone.content[0].text.startswith("not_found"), gone
    for name in ("nope", ""):
        try:
            await client.call_tool(name, {})
        except Exception as problem:
            assert "there is no tool" in str(problem), problem
        else:
            raise AssertionError("no error")


@case
async def bytes_and_pictures(client, mode):
    box = structured(await client.call_tool("create", {"memory": "64MiB"}))["sandbox_id"]
    png = b"\x89PNG\r\n\x1a\n\xff"
    await client.call_tool("write", {"sandbox_id": box, "path": "/p.png", "data_base64": base64.b64encode(png).decode()})
    got = await client.call_tool("read", {"sandbox_id": box, "path": "/p.png"})
    assert got.content[0].type == "image" and got.content[0].mime_type == "image/png" and base64.b64decode(got.content[0].data) == png
    await client.call_tool("write", {"sandbox_id": box, "path": "/b", "data_base64": base64.b64encode(b"\xfe\xff").decode()})
    got = await client.call_tool("read", {"sandbox_id": box, "path": "/b"})
    assert got.content[0].type == "resource" and base64.b64decode(got.content[0].resource.blob) == b"\xfe\xff"
    await client.call_tool("kill", {"sandbox_id": box})


async def main(url, token, mode):
    for name, function in CASES.items():
        error = None
        try:
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
                async with Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=60) as client:
                    await function(client, mode)
        except BaseException:  # noqa: BLE001  groups of exceptions as well
            error = traceback.format_exc()[-4000:]
        print(json.dumps({"name": name, "ok": error is None, "error": error}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
