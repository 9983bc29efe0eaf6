"""An image with this host's Python, for tests that need a program of some substance inside a sandbox.

    from python_image import python_image  # noqa: F401    a fixture: the reference of the image
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tiny_image import make_tiny_image

SOURCE = Path(__file__).resolve().parents[2]
REFERENCE = "root/python:v1"
PYTHON = Path("/usr/bin/python3")
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data", "distutils",
    "dist-packages", "site-packages", "config-*", "unittest", "asyncio", "multiprocessing", "xml", "dbm", "wsgiref")

NEEDING_LIBRARIES = ("_hashlib", "_ssl", "_sqlite", "_curses", "_tkinter", "readline", "_dbm", "_gdbm", "_ctypes", "_lzma", "_bz2")


def libraries(program):
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", listed)]


def copy_into(folder, path):
    target = folder / str(path)[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)


def lay_out(folder):
    program = PYTHON.resolve()
    shutil.copy(program, folder / "bin" / "python3")  # /usr/bin is a link to /bin there
    library = Path("/usr/lib") / program.name
    shutil.copytree(library, folder / "usr/lib" / program.name, ignore=LEFT_OUT)
    for path in (folder / "usr/lib" / program.name / "lib-dynload").glob("*.so"):
        if path.name.startswith(NEEDING_LIBRARIES):
            path.unlink()
    for path in libraries(program):
        copy_into(folder, path)


@pytest.fixture(scope="session")
def python_image(harenad, tmp_path_factory):
    if not PYTHON.exists():
        pytest.skip("this host has no /usr/bin/python3 to put into an image")
    folder = tmp_path_factory.mktemp("image") / "python"
    make_tiny_image(folder)
    lay_out(folder)
    with harenad.client() as client:
        client.images.import_image(REFERENCE, folder=str(folder))
    return REFERENCE
