#!/usr/bin/env bash
# Installs MCP's published Python SDK, at a pinned version, into BUILD/mcp: an environment of its own, since it brings its own HTTP client.
#   tests/integration/mcp/setup.sh BUILD PYTHON
# Runs again only when the pinned version has changed. What can't be reached is a note: the tests that need it skip and say so.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1/mcp
cmp -s "$here/requirements.txt" "$out/requirements.done" && exit 0
rm -rf "$out"
"$2" -m venv "$out" && "$out/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" &&
  cp "$here/requirements.txt" "$out/requirements.done" || echo "note: MCP's Python SDK can't be installed; its tests skip"
