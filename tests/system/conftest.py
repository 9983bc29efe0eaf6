"""One test VM for all tests of this folder (machine.py); each test module says what it needs in it.

    def test_x(machine): machine.run("...").check()      booted, the build below /opt/harena-test, nothing installed
    def test_y(installed): ...                            harenad installed and running there as the unit of deploy/systemd

Where a host can't have a VM all of them skip, with the sentence why. The console's log and the journal of a failed run lie in
BUILD/test-results/system.
"""

import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import base_image  # noqa: E402
import machine as harness  # noqa: E402

RESULTS = harness.RESULTS


def pytest_collection_modifyitems(config, items):
    ours = [item for item in items if str(item.fspath).startswith(str(HERE))]
    reason = base_image.why_not()
    if not reason and not (harness.BUILD / "bin" / "harenad").exists():
        reason = f"{harness.BUILD}/bin/harenad isn't built; HARENA_BUILD_DIR says where the build is"
    for item in ours:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def machine(request):
    RESULTS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        with harness.booted() as vm:
            print(f"\ntest VM: booted {time.monotonic() - began:.0f} s after it was asked for")
            yield vm
            keep_logs(vm)
    except base_image.Unavailable as lack:
        pytest.skip(str(lack))


def keep_logs(vm):
    (RESULTS / "console.log").write_bytes(vm.console.read_bytes())
    try:
        (RESULTS / "journal.log").write_text(vm.run("journalctl --no-pager -o short-monotonic | tail -n 20000", limit_s=60).out)
    except Exception as error:  # a machine that is stuck has no journal to give
        (RESULTS / "journal.log").write_text(f"not to be had: {error}\n")


@pytest.fixture(scope="session")
def installed(machine):
    """By deploy/quickstart.sh itself, from an installed tree, as a machine without a network gets it."""
    return harness.install(machine)
