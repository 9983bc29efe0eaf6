"""Disks by project quota, and growing disk images: what the kernel of the machine that builds this hasn't got."""

import pytest

FORMAT = {
    "ext4": "mke2fs -q -F -t ext4 -O quota,project -E quotatype=prjquota /dev/vdc",
    "xfs": "mkfs.xfs -q -f /dev/vdc",
}


@pytest.fixture(params=sorted(FORMAT))
def quota_disk(request, machine):
    """/srv/quota, with project quotas."""
    if machine.run(f"command -v {FORMAT[request.param].split()[0]}").code != 0:
        pytest.skip(f"the base of the test VM has no {FORMAT[request.param].split()[0]}")
    machine.run("mkdir -p /srv/quota; umount /srv/quota 2>/dev/null; true").check()
    machine.run(f"{FORMAT[request.param]} && mount -o prjquota /dev/vdc /srv/quota", limit_s=120).check()
    yield request.param
    machine.run("umount /srv/quota", limit_s=60).check()


def suite(machine, name, folder, limit_s=600):
    done = machine.run(f"cd /opt/harena-test/build/bin && TMPDIR={folder} HARENA_BUILD_DIR=/opt/harena-test/build ./{name}", limit_s=limit_s)
    return done.check().out


def test_quotas_hold(machine, quota_disk):
    said = suite(machine, "container_quota_test", "/srv/quota")
    for case in ("TheSizeHoldsAndIsShown", "InodesRunOut", "RootInsideChangesNoProject", "ResizesBothWays", "NothingIsLeftOfIt"):
        assert f"[       OK ] Quota.{case}" in said, said


def test_no_project_is_changed_from_another_user_namespace(machine, quota_disk):
    machine.run("mkdir -p /srv/quota/p && touch /srv/quota/p/file && chattr -p 77 /srv/quota/p/file && chown -R 1000 /srv/quota/p").check()
    done = machine.run("unshare --user --map-users=0,1000,1 --map-groups=0,1000,1 chattr -p 78 /srv/quota/p/file")
    assert done.code != 0
    assert machine.run("lsattr -p /srv/quota/p/file").check().out.split()[0] == "77"


def test_limits_and_disk_images_are_changed_live(machine):
    said = suite(machine, "container_resize_test", "/tmp")
    for case in ("DiskGrowsWhereTheKernelLetsIt", "CpuMemoryPidsUpAndDown", "MemoryBelowItsUseIsRefusedAndNothingElseChanges",
                 "CpusetForWhatRunsAndWhatComes", "DeathInTheMiddleLeavesWhatTheNextOneSays"):
        assert f"[       OK ] Resize.{case}" in said, said
