#!/usr/bin/env python3
"""Reads the include graph, the CMake links, file lengths and paths, and fails on what breaks the house.

    check_layers.py [ROOT]    prints one line a problem, exit 1 if there is any

Standard library only. The rules are in rules.py; check_layers_test.py proves that breaking one is noticed.
"""
import fnmatch
import os
import re
import sys

import rules

CODE = (".h", ".hpp", ".c", ".cpp")
LENGTH = CODE + (".py", ".sh", ".cmake")
SKIPPED = {".git", ".venv", "node_modules", "__pycache__", ".cache", ".pytest_cache"}
TOP = ("sdk", "core", "plugins", "shim", "guest", "tests", "bench")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
CALL = re.compile(r"\b(harena_room|harena_header_room|harena_program|harena_test|harena_add_plugin|add_library"
                  r"|target_link_libraries)\s*\(([^()]*)\)")
KEYWORDS = {"SOURCES", "DEPS", "PRIVATE", "PUBLIC", "INTERFACE", "PCH", "LABELS", "TIMEOUT", "ENV", "STATIC", "ID",
            "CONTRACTS", "VERSION", "STATIC_RUNTIME", "OBJECT", "SHARED", "MODULE"}


def files_below(root):
    for folder, folders, names in os.walk(root):
        top = os.path.relpath(folder, root)
        folders[:] = [f for f in folders if f not in SKIPPED and not (top == "." and f.startswith("build"))]
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def room_of(path):
    """The room that a file (or folder) lies in; None outside of the rooms."""
    parts = os.path.dirname(path).split("/") if not os.path.splitext(path)[1] == "" else path.split("/")
    if parts[0] not in TOP:
        return None
    for length in range(len(parts), 0, -1):
        prefix = "/".join(parts[:length])
        if prefix in rules.MAY_USE:
            return prefix
        if length == 2 and parts[0] + "/*" in rules.MAY_USE:
            return prefix
    return "/".join(parts[:2])


def allowed(room):
    own = rules.MAY_USE.get(room)
    return own if own is not None else rules.MAY_USE.get(room.split("/")[0] + "/*")


def is_test(path):
    name = os.path.basename(path)
    folders = os.path.dirname(path).split("/")
    return ("_test." in name or name.startswith("test_") or "testing" in name or "testing" in folders
            or "tests" in folders or folders[0] == "bench")


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def may_use(room, other, test, folder=""):
    """`folder`: of the header, for core/*/testing."""
    if other == room or matches(other, allowed(room) or []):
        return True
    return test and (matches(other, rules.TESTS_MAY_USE) or matches(folder, rules.TESTS_MAY_USE))


def begins(header, prefixes):
    return any(header.startswith(prefix) for prefix in prefixes)


class Problems:
    def __init__(self):
        self.lines = []

    def add(self, path, text):
        self.lines.append(f"{path}: {text}")


def check_ours(path, room, header, problems):
    """An include in quotes."""
    other, test = room_of(header), is_test(path)
    if other is None and room in rules.OWN_PROJECTS:
        return None
    if other is None:
        return problems.add(path, f'includes "{header}"; includes are rooted at the repository, such as "core/model/..."')
    folder = os.path.dirname(header)
    if "/testing" in "/" + folder and not test:
        problems.add(path, f'includes "{header}"; only tests may use what is for tests')
    if not may_use(room, other, test, folder):
        able = ", ".join(allowed(room) or []) or "nothing"
        problems.add(path, f'includes "{header}"; {room} may use {able}, not {other}')


def check_outside(path, room, header, problems):
    for prefix, rooms in rules.OUTSIDE.items():
        if header.startswith(prefix) and not matches(room, rooms) and not (is_test(path) and room.startswith("tests/")):
            problems.add(path, f"includes <{header}>; only {', '.join(rooms)} may see it")
    if room in rules.PURE and not is_test(path) and begins(header, rules.IO_HEADERS):
        problems.add(path, f"includes <{header}>; {room} does no I/O")
    if room in rules.BARE and not is_test(path) and begins(header, rules.BARE_FORBIDDEN):
        problems.add(path, f"includes <{header}>; {room} sees the standard library alone")
    if begins(header, ["gtest/", "gmock/"]) and not is_test(path) and room not in rules.GOOGLETEST:
        problems.add(path, f"includes <{header}>; only tests may")


def check_calls(path, room, text, problems):
    code = COMMENT.sub("", text)
    for pattern, rooms in rules.OUTSIDE_CALLS.items():
        found = re.search(pattern, code)
        if found and room not in rooms and not is_test(path):
            problems.add(path, f"calls {found.group(0).rstrip('( ')}; only {', '.join(rooms)} may")


def check_includes(root, paths, problems):
    """Returns {(room, other): path of a file} of what isn't a test."""
    arrows = {}
    for path in paths:
        room = room_of(path)
        if room is None or not path.endswith(CODE):
            continue
        if allowed(room) is None:
            problems.add(path, f"lies in {room}, which has no line in tests/layers/rules.py")
            continue
        text = read(root, path)
        check_calls(path, room, text, problems)
        for kind, header in INCLUDE.findall(text):
            if kind == "<" and header.split("/")[0] not in TOP:
                check_outside(path, room, header, problems)
                continue
            check_ours(path, room, header, problems)
            other = room_of(header)
            if other not in (None, room) and not is_test(path):
                arrows.setdefault((room, other), path)
    return arrows


class Target:
    def __init__(self, room, path, test):
        self.room, self.path, self.test, self.links = room, path, test, []


def links_of(words, function):
    """The names after DEPS, PRIVATE, PUBLIC; of target_link_libraries all."""
    linking, found = function == "target_link_libraries", []
    for word in words:
        if word in KEYWORDS:
            linking = word in ("DEPS", "PRIVATE", "PUBLIC", "INTERFACE")
        elif linking:
            found.append(word)
    return found


def read_targets(root, paths):
    targets = {"harena_pch": Target("sdk/http", "sdk/http/CMakeLists.txt", False)}
    for path in paths:
        room = room_of(os.path.dirname(path)) if os.path.basename(path) == "CMakeLists.txt" else None
        if room is None:
            continue
        for function, body in CALL.findall(re.sub(r"#[^\n]*", "", read(root, path))):
            words = body.split()
            if not words:
                continue
            name = {"harena_room": "harena_", "harena_header_room": "harena_",
                    "harena_add_plugin": "harena_plugin_"}.get(function, "") + words[0]
            test = function == "harena_test" or "test" in name or is_test(os.path.dirname(path) + "/x")
            target = targets.setdefault(name, Target(room, path, test))
            target.links += links_of(words[1:], function)
            if function == "harena_add_plugin":
                target.links.append("harena_plugin_cpp")
    return targets


def closure(targets, name, seen):
    for link in targets[name].links:
        if link in targets and link not in seen:
            seen.add(link)
            closure(targets, link, seen)
    return seen


def check_links(root, paths, arrows, problems):
    targets = read_targets(root, paths)
    for name, target in targets.items():
        for link in target.links:
            other = targets[link].room if link in targets else None
            if other is None or allowed(target.room) is None:
                continue
            folder = other + "/testing" if link.endswith("_testing") else ""
            if not may_use(target.room, other, target.test, folder):
                problems.add(target.path, f"links {name} with {link}; {target.room} may not use {other}")
    check_linked(targets, arrows, problems)


def check_linked(targets, arrows, problems):
    """What a room includes it also links: directly or by way of what it links."""
    for (room, other), path in sorted(arrows.items()):
        of_room = [name for name, target in targets.items() if target.room == room and not target.test]
        if not of_room or not any(target.room == other for target in targets.values()):
            continue
        linked = set().union(*(closure(targets, name, set()) for name in of_room))
        if not any(targets[name].room == other for name in linked):
            problems.add(path, f"includes from {other}, which the CMake target of {room} doesn't link")


def readme_names(root, path):
    """True when the README of the file's folder, or of one above it, names the file: there the reason is given."""
    folder = os.path.dirname(path)
    while folder:
        readme = os.path.join(root, folder, "README.md")
        if os.path.exists(readme) and os.path.basename(path) in read(root, os.path.join(folder, "README.md")):
            return True
        folder = os.path.dirname(folder)
    return False


def check_text(root, paths, problems):
    machine = os.path.abspath(root).rstrip("/") + "/"
    for path in paths:
        text = read(root, path)
        count = text.count("\n")
        if path.endswith(LENGTH) and count > rules.MAX_LINES and not readme_names(root, path):
            problems.add(path, f"has {count} lines; over {rules.MAX_LINES} the room's README must name it and say why")
        if machine in text:
            problems.add(path, f"has the path of this machine's checkout, {machine}")


def check(root):
    problems = Problems()
    paths = list(files_below(root))
    arrows = check_includes(root, paths, problems)
    check_links(root, paths, arrows, problems)
    check_text(root, [p for p in paths if room_of(p) or p.count("/") < 2 or p.startswith(("docs/", "deploy/"))], problems)
    return problems.lines


def main():
    default = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    problems = check(sys.argv[1] if len(sys.argv) > 1 else default)
    for line in problems:
        print(line)
    print(f"{len(problems)} problems" if problems else "the layers hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
