"""README.md's tables against the SDKs and the cases: a method that a release adds, and a case that goes away, are told."""

import inspect
import re
from pathlib import Path

import pytest

from e2b_paths import NODE_MODULES

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (\w+) \| (?:`(\w+)`)? ?\| (.*?) ?\| (?:`(\w+)`)? ?\| (?:`(\w+)`)? ?\|$", re.MULTILINE)
ROWS = ROW.findall((HERE / "README.md").read_text())
JS_CLASSES = {"Sandbox": ("Sandbox", "SandboxApi"), "commands": ("Commands",), "handle": ("CommandHandle",), "files": ("Filesystem",),
              "pty": ("Pty",), "git": ("Git",), "watch": ("WatchHandle",)}
# Declared, and not for users: what classes of the SDK ask each other.
JS_INNER = {"constructor", "connectSandbox", "createSandbox", "forkSandbox", "getFullInfo"}


def javascript_methods(text, name):
    """The public methods of a class in the SDK's declarations."""
    begin = re.search(rf"^declare class {name}\b[^{{]*\{{\n", text, re.MULTILINE).end()
    body = text[begin:text.index("\n}", begin)]
    return set(re.findall(r"^  (?:static )?(\w+)[<(]", body, re.MULTILINE)) - JS_INNER


def javascript_cases(pattern="js/*_cases.cjs"):
    text = "\n".join(file.read_text() for file in HERE.glob(pattern))
    return set(re.findall(r"^test\('((?:[^'\\]|\\.)*)'", text, re.MULTILINE))


def python_cases():
    return {f"{file.stem}::{name}" for file in HERE.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}


def cpp_cases():
    found = set()
    for file in (HERE.parents[2] / "plugins" / "e2b").rglob("*_test.cpp"):
        found.update(".".join(pair) for pair in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", file.read_text(), re.MULTILINE))
    return found


def test_everything_that_holds_a_promise_is_there():
    table = (HERE / "README.md").read_text().partition("## What was promised")[2]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ") and "`" in line]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    there = python_cases() | cpp_cases() | {f"js: {name}" for name in javascript_cases("js/*.cjs")}
    assert len(rows) > 25 and len(named) > 80
    assert sorted(set(named) - there) == []


def test_every_case_of_the_table_is_there():
    assert len(ROWS) > 60
    javascript = javascript_cases()
    python = set(re.findall(r"^def (test_\w+)", "\n".join(file.read_text() for file in HERE.glob("test_*.py")), re.MULTILINE))
    assert {case for _, name, case, _, _ in ROWS if name} <= javascript
    assert {case for *_, name, case in ROWS if name} <= python


@pytest.mark.skipif(not (NODE_MODULES / "e2b").exists(), reason="E2B's JavaScript SDK isn't installed: setup.sh installs it")
def test_every_method_of_javascript_is_in_the_table():
    text = re.sub(r"/\*.*?\*/", "", (NODE_MODULES / "e2b" / "dist" / "index.d.ts").read_text(), flags=re.DOTALL)
    for of, classes in JS_CLASSES.items():
        names = set().union(*(javascript_methods(text, name) for name in classes))
        table = {name for one, name, *_ in ROWS if one == of}
        assert names and names <= table, f"{of}: the table lacks {sorted(names - table)}"


def test_every_method_of_python_is_in_the_table(python_sdk):
    from e2b.sandbox_sync.commands.command import Commands
    from e2b.sandbox_sync.commands.command_handle import CommandHandle
    from e2b.sandbox_sync.commands.pty import Pty
    from e2b.sandbox_sync.filesystem.filesystem import Filesystem
    from e2b.sandbox_sync.filesystem.watch_handle import WatchHandle
    from e2b.sandbox_sync.git import Git

    classes = {"Sandbox": python_sdk.Sandbox, "commands": Commands, "handle": CommandHandle, "pty": Pty, "files": Filesystem, "watch": WatchHandle, "git": Git}
    for of, kind in classes.items():
        table = {name for one, _, _, name, _ in ROWS if one == of}
        names = {name for name, member in inspect.getmembers(kind) if not name.startswith("_") and callable(member)}
        assert names <= table, f"{of}: the table lacks {sorted(names - table)}"
