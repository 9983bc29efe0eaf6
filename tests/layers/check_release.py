#!/usr/bin/env python3
"""What only a Release build sees: each file with fault points is parsed as Release compiles it, without HARENA_FAULTS and asserts.

    check_release.py BUILD_DIR      (needs BUILD_DIR/compile_commands.json)

A test build's fault points bring headers and uses of variables along, so a file may compile there alone. Exit code 1 and the
compiler's words when one doesn't parse.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

FAULT_HEADER = re.compile(r'#include "(?:sdk/support|shim)/fault\.hpp"')
JOINED = re.compile(r'^#include "(/.+)"$', re.MULTILINE)
DROPPED = {"-DHARENA_FAULTS", "-Winvalid-pch", "-c"}


def release_arguments(command):
    """The compiler's arguments, as they are in Release, and without output."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word == "-o":
            next(words)
        elif word not in DROPPED:
            kept.append(word)
    return [word for word in kept if not word.endswith("ccache")] + ["-DNDEBUG", "-fsyntax-only"]


def sources_of(path):
    """The file itself, or those that are compiled together in it."""
    return [Path(name) for name in JOINED.findall(path.read_text())] if "Unity" in path.parts else [path]


def concerned(entries):
    """(target's entry, what it compiles) of each file with fault points, once: the same file in another target has the same text."""
    found = {}
    for entry in entries:
        if "-DHARENA_FAULTS" not in entry["command"].split():
            continue
        compiled = Path(entry["directory"], entry["file"])
        for path in sources_of(compiled):
            if FAULT_HEADER.search(path.read_text()):
                found.setdefault(path, (entry, compiled))
    return found


def check(path, where):
    entry, compiled = where
    arguments = [str(path) if Path(entry["directory"], word) == compiled else word for word in release_arguments(entry["command"])]
    done = subprocess.run(arguments, cwd=entry["directory"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{path}: doesn't compile in Release\n{done.stderr}"


def main():
    entries = json.loads(Path(sys.argv[1], "compile_commands.json").read_text())
    files = concerned(entries)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [text for text in pool.map(check, files.keys(), files.values()) if text]
    print("\n".join(faults) or f"{len(files)} files with fault points compile in Release")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
