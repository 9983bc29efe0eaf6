"""The parts of a test VM put together: base image, product disk, machine. Used by the tests (conftest.py) and by run_in_vm.sh.

    with machine.booted(build, source) as vm: vm.run("...")
"""

import argparse
import contextlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import base_image  # noqa: E402
import product_disk  # noqa: E402
import vm  # noqa: E402

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HARENA_BUILD_DIR", SOURCE / "build" / "dev"))

LONG = os.environ.get("HARENA_LONG_TESTS") == "1"
# Beside the other results of a run: logs of the machine, reports of suites in it.
RESULTS = BUILD / "test-results" / "system"

# What the product's own scripts would do to install it; from there on it is a machine like a user's.
INSTALL = f"cp -a {vm.MOUNT}/prefix/. /usr/local/ && ldconfig"
ENVIRONMENT = {
    "HARENA_BUILD_DIR": f"{vm.MOUNT}/build",
    "HARENA_SOURCE_DIR": f"{vm.MOUNT}/source",
    "PYTHONPATH": f"{vm.MOUNT}/source/sdk/python",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HARENA_IN_TEST_VM": "1",
}


@contextlib.contextmanager
def booted(build=BUILD, source=SOURCE, **options):
    """A machine that has booted with the build's programs below vm.MOUNT, and not installed; base_image.Unavailable where there can be none."""
    base = base_image.ensure(base_image.library_packages(build) if not base_image.why_not() else [])
    try:
        with base_image.working_folder() as work, vm.Vm(base, product_disk.make(build, source, work), work, **options) as machine:
            machine.start()
            yield machine
    finally:
        base.close()


def install(machine):
    """deploy/quickstart.sh from an installed tree, as on a machine without a network; with tests/support's tiny image as root/base:v1."""
    machine.run(f"cd {vm.MOUNT}/source && tests/support/tiny_image.sh /var/tmp/tiny && "
                f"deploy/quickstart.sh --prebuilt {vm.MOUNT}/prefix --base-folder /var/tmp/tiny", limit_s=240).check()
    return machine


def main():
    parser = argparse.ArgumentParser(description="Runs one command in a test VM with this build: bash, as root, from /root.")
    parser.add_argument("command")
    parser.add_argument("--limit", type=int, default=300, metavar="S", help="seconds that it may take (300)")
    parser.add_argument("--memory", type=int, default=4096, metavar="MIB")
    parser.add_argument("--bare", action="store_true", help="don't install the product to /usr/local first")
    parser.add_argument("--disk", action="append", default=[], metavar="FILE", help="a raw image as /dev/vdd, /dev/vde ...; the guest may write it (/dev/vdc is an empty one)")
    parser.add_argument("--console", action="store_true", help="the console's log afterwards, on standard error")
    options = parser.parse_args()
    try:
        with booted(memory_mib=options.memory, disks=options.disk) as machine:
            if not options.bare:
                machine.run(INSTALL, limit_s=120).check()
            result = machine.run(options.command, limit_s=options.limit, env=ENVIRONMENT)
            sys.stdout.write(result.out)
            sys.stderr.write(result.err + (machine.console_tail(1 << 20) if options.console else ""))
            return result.code
    except base_image.Unavailable as lack:
        print(f"skipped: {lack}", file=sys.stderr)
        return 77
    except vm.VmError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
