"""tests/incidents and tests/integration inside the VM, against a harenad of their own: a selection, in the long form alone (emulated, it takes
longer than all others here; `harena incidents` and the container suites of the short form cover the same rules)."""

import xml.etree.ElementTree as ElementTree

import pytest

from machine import ENVIRONMENT, LONG, RESULTS

FILES = {
    "incidents": "tests/incidents",
    "restarts": "tests/integration/test_it_restart.py tests/integration/test_restart_commands.py tests/integration/test_files_restart.py",
    "commands": "tests/integration/test_commands_failures.py tests/integration/test_commands_ends.py",
}


@pytest.mark.skipif(not LONG, reason="takes long, emulated; HARENA_LONG_TESTS=1 runs it")
@pytest.mark.parametrize("name, files", sorted(FILES.items()))
def test_selection(machine, name, files):
    report = f"/tmp/{name}.junit"
    # Without HARENA_LONG_TESTS in the VM: emulated, the stress tests would take hours.
    done = machine.run(f"cd $HARENA_SOURCE_DIR && python3 -m pytest -p no:cacheprovider -q -rfs --junitxml {report} {files}",
                       limit_s=3600, env=ENVIRONMENT)
    (RESULTS / f"{name}.junit").write_bytes(machine.get(report))
    done.check()
    cases = list(ElementTree.fromstring(machine.get(report)).iter("testcase"))
    skipped = [case for case in cases if case.find("skipped") is not None]
    assert len(cases) > 2 * len(skipped), "most of it was skipped:\n" + done.out[-3000:]
