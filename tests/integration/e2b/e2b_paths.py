"""Where setup.sh puts the SDKs."""

import os
from pathlib import Path

BUILD = Path(os.environ.get("HARENA_BUILD_DIR", Path(__file__).resolve().parents[3] / "build" / "dev"))
PYTHON = BUILD / "e2b" / "python"
SPRING = BUILD / "e2b" / "python-spring"
NODE_MODULES = BUILD / "e2b" / "node" / "node_modules"
