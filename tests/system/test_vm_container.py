"""The container backend's own suites on cgroup v2 alone, with AppArmor on, on another kernel: each program as ctest runs it."""

import xml.etree.ElementTree as ElementTree

import pytest

from machine import ENVIRONMENT, LONG, RESULTS, vm

# What a suite may skip here, and why that is right.
MAY_SKIP = {
    "Apparmor.WhereTheKernelHasNone",  # this one has it
    "Scheduling.ChildrenInheritTheSliceAndGiveItBack",  # slices are set by processes from Linux 6.12 on
    "MountApi.IdMappedAndNamespaces",  # tmpfs has no id-mapped mounts before Linux 6.3
    "LimitProofs.SwapIsBesideTheMemoryAndNoMore",  # no swap: test_swap has some
    "LimitProofs.WhatCannotBeSetFailsTheCreate",  # it can set all of them
    "Leaks.NoProcessesLeft",  # cgroup v2 charges a child to the group that it is born in: the launcher can't be limited alone
}
SHORT = {
    "container_apparmor_test": "*",
    "container_container_test": "*",
    "container_limits_test": "*",
    "container_limit_values_test": "*",
    "container_limit_proofs_test": "*",
    "container_cpu_places_test": "*",
    "container_disk_pool_test": "-*.Account",
    "container_recovery_test": "*",
    "container_forking_test": "*",
    "container_pool_test": "*",
    "container_user_test": "*",
    "container_tools_test": "*",
    "container_weakening_test": "*",
    "container_doctor_test": "*",
    "support_root_test": "*",
    "support_test": "*",
    # Hundreds of lives: in the long form.
    "container_leak_test": "Leaks.AShimKilledWhileItRuns:Leaks.ForeignThingsAreLeftAlone:Leaks.NoProcessesLeft",
}
LONG_ONLY = {"container_leak_test": "*", "container_conformance_test": "*"}


@pytest.mark.parametrize("program, cases", sorted({**SHORT, **(LONG_ONLY if LONG else {})}.items()))
def test_suite(machine, program, cases):
    build = ENVIRONMENT["HARENA_BUILD_DIR"]
    report = f"/tmp/{program}.xml"
    machine.run(f"cd /tmp && {build}/bin/{program} --gtest_filter={cases} --gtest_output=xml:{report}", limit_s=900 if LONG else 300, env=ENVIRONMENT).check()
    found = machine.get(report)
    (RESULTS / f"{program}.xml").write_bytes(found)
    cases = list(ElementTree.fromstring(found).iter("testcase"))
    skipped = {f"{case.get('classname')}.{case.get('name')}" for case in cases if case.find("skipped") is not None}
    assert skipped <= MAY_SKIP
    assert len(cases) > len(skipped), "nothing ran"


def test_swap(machine):
    """With swap there, a sandbox gets what it was promised of it and no more."""
    machine.run("dd if=/dev/zero of=/swapfile bs=1M count=256 2>/dev/null && chmod 600 /swapfile && mkswap -q /swapfile && swapon /swapfile", limit_s=120).check()
    try:
        said = machine.run(f"cd /tmp && {ENVIRONMENT['HARENA_BUILD_DIR']}/bin/container_limit_proofs_test --gtest_filter='*Swap*'", limit_s=300, env=ENVIRONMENT).check()
        assert "[       OK ] LimitProofs.SwapIsBesideTheMemoryAndNoMore" in said.out
    finally:
        machine.run("swapoff /swapfile; rm /swapfile", limit_s=120).check()


def test_io_weight_with_bfq(machine):
    said = machine.run("modprobe bfq && echo bfq > /sys/block/vda/queue/scheduler")
    if said.code != 0:
        pytest.skip("this kernel has no bfq: " + said.err)
    try:
        said = machine.run(f"cd /tmp && {ENVIRONMENT['HARENA_BUILD_DIR']}/bin/container_limit_values_test --gtest_filter='*WeightOfIo*'", limit_s=120, env=ENVIRONMENT)
        assert "[       OK ] LimitValues.WeightOfIoFailsByNameUnlessAllowed" in said.check().out
    finally:
        machine.run("echo none > /sys/block/vda/queue/scheduler").check()


def test_sandboxes_are_confined_by_apparmor(machine):
    """What the kernel says while sandboxes run; a suite takes its profile away at its end."""
    program = f"{ENVIRONMENT['HARENA_BUILD_DIR']}/bin/container_container_test --gtest_filter='Container.*Seccomp*' --gtest_repeat=3"
    script = f"""cd /tmp && {program} >/tmp/confined.log 2>&1 & tests=$!
        while kill -0 $tests 2>/dev/null; do grep harena- /sys/kernel/security/apparmor/profiles; sleep 0.05; done
        wait $tests || tail -20 /tmp/confined.log >&2"""
    loaded = set(machine.run(script, limit_s=120, env=ENVIRONMENT).check().out.splitlines())
    assert loaded and not [line for line in loaded if not line.endswith("(enforce)")], loaded


@pytest.mark.skipif(not LONG, reason="more than ten minutes, emulated; HARENA_LONG_TESTS=1 runs it; level 3's attacks are test_vm_product's incidents")
@pytest.mark.parametrize("level", ["2", "3"])
def test_conformance(machine, level):
    script = f"sed 's/--level 3/--level {level}/' {vm.MOUNT}/source/tests/conformance/check_container.sh > /tmp/check.sh && chmod +x /tmp/check.sh"
    build = ENVIRONMENT["HARENA_BUILD_DIR"]
    plugin = f"{build}/plugins/container"
    machine.run(f"{script} && /tmp/check.sh {build}/bin/harena-plugin-check {plugin}", limit_s=1800, env=ENVIRONMENT).check()
