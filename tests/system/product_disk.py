"""The disk that a build goes into the test VM on: mounted read-only at /opt/harena-test there.

    prefix/    what `cmake --install` makes
    build/     its test programs, stripped, where HARENA_BUILD_DIR points
    source/    the parts of the checkout that tests and deploy/ are made of
"""

import hashlib
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = ["tests", "sdk/python", "deploy", "docs"]
LABEL = "harena-product"
SIZE_BYTES = 1 << 30


def make(build, source, work):
    """The image's path, in the folder `work`."""
    stage, image = work / "product", work / "product.img"
    stage.mkdir()
    install(build, stage / "prefix")
    copy_programs(build, stage / "build")
    for name in SOURCES:
        shutil.copytree(source / name, stage / "source" / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    with open(image, "wb") as file:
        file.truncate(SIZE_BYTES)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-L", LABEL, "-d", str(stage), str(image)], check=True)
    shutil.rmtree(stage)
    return image


def install(build, prefix):
    done = subprocess.run(["cmake", "--install", str(build), "--prefix", str(prefix), "--strip"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"cmake --install ended with {done.returncode} (it needs a whole build): {done.stderr[-2000:]}")


def copy_programs(build, target):
    shutil.copytree(build / "bin", target / "bin", symlinks=True)
    for folder in ["plugins", "tests/incidents"]:
        keep = shutil.ignore_patterns("CMakeFiles", "*.cmake", "*.a", "*.o")
        if (build / folder).exists():
            shutil.copytree(build / folder, target / folder, symlinks=True, ignore=keep)
    programs = [one for one in target.rglob("*") if one.is_file() and not one.is_symlink() and is_elf(one)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda one: subprocess.run(["strip", str(one)], check=True, capture_output=True), programs))
    for manifest in (target / "plugins").glob("*/plugin.json"):
        renew_hash(manifest)


def renew_hash(manifest):
    """As `cmake --install --strip` does: the manifest is of the library as it is now."""
    said = json.loads(manifest.read_text())
    said["sha256"] = hashlib.sha256((manifest.parent / said["library"]).read_bytes()).hexdigest()
    manifest.write_text(json.dumps(said, indent=2) + "\n")


def is_elf(path: Path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"
