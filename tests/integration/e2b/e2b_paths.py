"""Where setup.sh puts the SDKs."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

BUILD = Path(os.environ.get("HARENA_BUILD_DIR", Path(__file__).resolve().parents[3] / "build" / "dev"))
PYTHON = BUILD / "e2b" / "python"
SPRING = BUILD / "e2b" / "python-spring"
NODE_MODULES = BUILD / "e2b" / "node" / "node_modules"
# Of a run that another run starts: the three variables as JSON, and the folder of the SDK.
GIVEN = "HARENA_E2B_GIVEN"
SDK_FOLDER = "HARENA_E2B_SDK_FOLDER"


@functools.cache
def why_no_js(package):
    """Why the JavaScript SDK installed as `package` can't be used here; "" when it can. Of what goes wrong in loading it only one thing is
    the host's: a Node.js that is too old for the SDK's own dependencies (Debian 12's, 18)."""
    if shutil.which("node") is None:
        return "node isn't installed (apt-get install nodejs npm)"
    if not (NODE_MODULES / package).exists():
        return f"E2B's JavaScript SDK ({package}) isn't installed: tests/integration/e2b/setup.sh installs it"
    loaded = subprocess.run(["node", "-e", f"require({package!r})"], env={**os.environ, "NODE_PATH": str(NODE_MODULES)}, capture_output=True, text=True)
    if "ERR_REQUIRE_ESM" not in loaded.stderr:
        return ""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    return f"E2B's JavaScript SDK ({package}) needs Node.js 20.19 or later, which can require ES modules; this is {version}"
