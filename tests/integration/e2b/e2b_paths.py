"""Where setup.sh puts the SDKs."""

import os
from pathlib import Path

BUILD = Path(os.environ.get("HARENA_BUILD_DIR", Path(__file__).resolve().parents[3] / "build" / "dev"))
PYTHON = BUILD / "e2b" / "python"
SPRING = BUILD / "e2b" / "python-spring"
NODE_MODULES = BUILD / "e2b" / "node" / "node_modules"
# Of a run that another run starts: the three variables as JSON, and the folder of the SDK.
GIVEN = "HARENA_E2B_GIVEN"
SDK_FOLDER = "HARENA_E2B_SDK_FOLDER"
