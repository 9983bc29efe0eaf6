"""Adds up the results of a test run: GoogleTest's XML files by case, other ctest entries and pytest by entry.

A test program that crashed wrote no XML; ctest's own record counts it as one failure.
Usage: totals.py FOLDER. Prints `N passed, N failed, N skipped`; exit status 1 when something failed or nothing ran.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count_cases(path):
    """(passed, failed, skipped) of one JUnit-like file."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return [passed, failed, skipped]


def count_ctest(path, with_xml):
    """ctest's entries, but those that wrote their own XML unless they failed without a failed case there."""
    counts = [0, 0, 0]
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        if name in with_xml and (status == "run" or with_xml[name][1] > 0):
            continue
        counts[{"run": 0, "fail": 1}.get(status, 2)] += 1
    return counts


def main(folder):
    totals = [0, 0, 0]
    with_xml = {}
    for path in sorted(folder.glob("*.xml")):
        with_xml[path.stem] = count_cases(path)
    parts = list(with_xml.values())
    if (folder / "ctest.junit").exists():
        parts.append(count_ctest(folder / "ctest.junit", with_xml))
    for name in ["pytest.junit", "e2b.junit", "system.junit"]:
        if (folder / name).exists():
            parts.append(count_cases(folder / name))
    for part in parts:
        totals = [a + b for a, b in zip(totals, part)]
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 0 if totals[0] and not totals[1] else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
