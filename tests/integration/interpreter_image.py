"""The code interpreter's image, built small (Python and Bash), and a sandbox of it with the service running.

    from interpreter_image import interpreter, interpreter_image  # noqa: F401    fixtures

Building takes a minute or more and downloads packages, so the folder is kept below the build folder and made anew only when its inputs
changed (deploy/image/build-code-interpreter.sh sees to that).
"""

import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HARENA_BUILD_DIR", SOURCE / "build" / "dev"))

REFERENCE = "root/code-interpreter:v1"
FOLDER = BUILD / "images"
BUILD_LIMIT_S = 1800
UNREACHABLE = ("mirror reachable", "pip couldn't fetch")


LONG = os.environ.get("HARENA_LONG_TESTS") == "1"


def build_interpreter_image(daemon, *options):
    """By the command that a user gives; what is in it depends on `options`, and a folder of its own with them."""
    env = dict(os.environ, HARENA_URL=daemon.url, HARENA_TOKEN=daemon.token)
    folder = FOLDER if options else FOLDER / "full"
    folder.mkdir(parents=True, exist_ok=True)
    words = [str(BUILD / "bin" / "harena"), "image", "build", "code-interpreter", *options, "--folder", str(folder)]
    built = subprocess.run(words, env=env, cwd=SOURCE, capture_output=True, text=True, timeout=BUILD_LIMIT_S)
    if built.returncode != 0 and any(one in built.stderr for one in UNREACHABLE):
        pytest.skip("this host's package mirror or PyPI can't be reached, from which the image is built")
    assert built.returncode == 0, built.stderr[-3000:]
    assert built.stdout.startswith(REFERENCE + " sha256:")
    return REFERENCE


SMALL = ("--small", "--languages", "python,bash")


@pytest.fixture(scope="session")
def interpreter_image(harenad):
    return build_interpreter_image(harenad, *SMALL)


@pytest.fixture(scope="session")
def interpreter(harenad, interpreter_image):
    """A sandbox whose service is ready."""
    import harena

    with harenad.client() as client:
        sandbox = client.create(harena.ContainerArgs(image=interpreter_image, cpu=1, memory="768MiB"))
        sandbox.start(["harena-interpreter"], user="user")
        ready = sandbox.run(["/bin/sh", "-c", "for i in $(seq 300); do curl -sf http://127.0.0.1:49999/health && exit; sleep 0.2; done; exit 1"])
        assert ready.exit_code == 0, ready
        yield sandbox  # stopped with everything else of harenad, which a test may have left dead
