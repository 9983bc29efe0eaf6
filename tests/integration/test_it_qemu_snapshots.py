"""Snapshots of full machines: memory and disks at one instant, inside of the machine's own qcow2 files; what goes on from them, what deletes them."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from qemu_support import Console, create, leftovers, qemu_daemon, remove_groups, request, stop, tiny, wait_for_state


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    made = qemu_daemon(tmp_path_factory.mktemp("qemu"))
    made.start()
    yield made
    left = list((made.state / "snapshots").glob("*"))
    made.stop()
    remove_groups()
    assert left == []


def ready(sandbox):
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    return console


def snapshot(daemon, sandbox, name=""):
    status, made = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {"name": name} if name else {})
    assert status == 201, made
    assert made["kept"] == "memory" and made["state"] == "ready", made
    return made


def rollback(daemon, sandbox, made):
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": made["id"]})
    assert status == 200 and told["kept"] == "memory", told
    return told


def restore(daemon, made, **params):
    status, sandbox = request(daemon, "POST", "/backends/qemu/sandboxes", {"snapshot": made["id"], "params": params})
    assert status == 201, sandbox
    return sandbox


def delete(daemon, made):
    status, told = request(daemon, "DELETE", f"/snapshots/{made['id']}")
    assert status in (200, 204), told


def tags(daemon, sandbox, disk=0):
    """What the disk's file itself says; the machine may run."""
    path = daemon.state / "sandboxes" / sandbox["id"] / "vm" / f"disk{disk}.qcow2"
    listed = subprocess.run(["qemu-img", "snapshot", "-U", "-l", str(path)], capture_output=True, text=True, check=True).stdout
    return [line.split()[1] for line in listed.splitlines()[2:]]


# Each writes a mark to both disks and to the shell's memory.
def mark(console, text, number):
    console.run(f"X={text}; for d in vda vdb; do echo {text} > /dev/$d; done; sync; echo $(({number}+1))-marked", f"{number + 1}-marked".encode())


# Both disks and the shell's memory are of the same instant, and must agree.
def marks(console):
    return console.ask("for d in vda vdb; do dd if=/dev/$d iflag=direct bs=512 count=1 2>/dev/null | head -n 1; done; echo $X").split()


def test_back_to_each_of_three_and_what_deletion_leaves(daemon):
    sandbox = create(daemon, disks=[{"size": "64MiB"}, {"size": "32MiB"}], display=False)
    console = ready(sandbox)
    made = []
    for number, text in enumerate(("one", "two", "three")):
        mark(console, text, number)
        made.append(snapshot(daemon, sandbox, f"at-{text}"))
    mark(console, "four", 10)
    assert sorted(tags(daemon, sandbox)) == sorted(tags(daemon, sandbox, 1)) == sorted(one["id"] for one in made)
    for number, text in ((0, "one"), (2, "three"), (1, "two")):
        rollback(daemon, sandbox, made[number])
        assert marks(console) == [text, text, text]
    status, told = request(daemon, "GET", f"/snapshots?sandbox={sandbox['id']}")
    assert status == 200 and {one["name"] for one in told["snapshots"]} == {"at-one", "at-two", "at-three"}, told
    delete(daemon, made[1])
    assert set(tags(daemon, sandbox)) == {made[0]["id"], made[2]["id"]}
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": made[1]["id"]})
    assert status == 404, told
    rollback(daemon, sandbox, made[2])
    assert marks(console) == ["three", "three", "three"]
    console.close()
    delete(daemon, made[0])
    delete(daemon, made[2])
    assert tags(daemon, sandbox) == []
    stop(daemon, sandbox)
    assert leftovers() == []


def test_a_paused_one_stays_paused(daemon):
    sandbox = create(daemon, display=False)
    console = ready(sandbox)
    console.run("X=kept; echo $((1+1))-set", b"2-set")
    assert request(daemon, "POST", f"/sandboxes/{sandbox['id']}/pause", {})[0] == 200
    made = snapshot(daemon, sandbox)
    rollback(daemon, sandbox, made)
    assert request(daemon, "GET", f"/sandboxes/{sandbox['id']}")[1]["state"] == "paused"
    assert request(daemon, "POST", f"/sandboxes/{sandbox['id']}/resume", {})[0] == 200
    console.run("echo $X-$((1+2))", b"kept-3")
    console.close()
    delete(daemon, made)
    stop(daemon, sandbox)


def test_a_machine_made_of_one_while_and_after_its_source_lives(daemon):
    source = create(daemon, display=False, cloud_init={"user_data": "#cloud-config\n{}\n"})
    console = ready(source)
    console.run("X=kept; echo $((1+1))-set", b"2-set")
    made, other = snapshot(daemon, source), snapshot(daemon, source)
    console.run("X=lost; echo $((1+2))-set", b"3-set")
    twin = restore(daemon, made)
    assert twin["snapshot"] == made["id"], twin
    theirs = Console(twin["details"]["consoles"]["serial"])
    theirs.run("echo $X-$((1+3))", b"kept-4")
    assert tags(daemon, twin) == [made["id"]]
    console.run("echo $X-$((1+4))", b"lost-5")
    # It has disks of its own, and goes back to what it came from.
    mark(theirs, "changed", 40)
    rollback(daemon, twin, made)
    theirs.run("echo $X-$((1+5))", b"kept-6")
    status, told = request(daemon, "POST", f"/sandboxes/{twin['id']}/rollback", {"snapshot": other["id"]})
    assert status == 409 and "don't hold" in told["error"]["message"], told
    console.close()
    stop(daemon, source)
    late = restore(daemon, made)
    again = Console(late["details"]["consoles"]["serial"])
    again.run("echo $X-$((1+6))", b"kept-7")
    status, told = request(daemon, "POST", "/backends/qemu/sandboxes", {"snapshot": made["id"], "params": {"memory": "512MiB"}})
    assert status == 400 and "'memory'" in told["error"]["message"], told
    for one in (made, other):
        delete(daemon, one)
    assert tags(daemon, twin) == tags(daemon, late) == []
    for line, sandbox in ((theirs, twin), (again, late)):
        line.run("echo $X-$((1+7))", b"kept-8")
        line.close()
        stop(daemon, sandbox)
    assert leftovers() == []


def test_children_of_a_fork_have_its_memory(daemon):
    source = create(daemon, display=False)
    console = ready(source)
    console.run("X=kept; echo $((1+1))-set", b"2-set")
    status, told = request(daemon, "POST", f"/sandboxes/{source['id']}/fork", {"count": 2})
    assert status == 201 and told["kept"] == "memory", told
    assert console.ask("ls -d /sys/bus/acpi/devices/QEMUVGID* | wc -l") == "1\n"
    hears = console.ask("ls -d /sys/bus/acpi/drivers/vmgenid 2>/dev/null | wc -l") == "1\n"  # not every distribution's kernel
    seeds = set()
    for one in told["results"]:
        line = Console(one["sandbox"]["details"]["consoles"]["serial"])
        line.run("echo $X-$((1+2))", b"kept-3")
        seeds.add(line.ask("dd if=/dev/urandom bs=16 count=1 2>/dev/null | md5sum"))
        line.close()
        assert tags(daemon, one["sandbox"]) == []
        stop(daemon, one["sandbox"])
    assert len(seeds) == 2 or not hears, seeds  # a kernel that hears of it renews its randomness
    assert tags(daemon, source) == []
    console.run("echo $X-$((1+4))", b"kept-5")
    console.close()
    stop(daemon, source)
    assert leftovers() == []


def test_a_raw_disk_is_refused_with_a_sentence(daemon):
    sandbox = create(daemon, disks=[{"size": "16MiB"}, {"size": "16MiB", "format": "raw"}], display=False)
    ready(sandbox).close()
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {})
    assert status == 409 and "disks[1]" in told["error"]["message"] and "qcow2" in told["error"]["message"], told
    assert request(daemon, "GET", f"/snapshots?sandbox={sandbox['id']}")[1]["snapshots"] == []
    stop(daemon, sandbox)


def test_a_base_that_changed_is_named(daemon):
    base = daemon.disks / "base.raw"
    base.write_bytes(b"base\n" + bytes(1 << 20))
    os.truncate(base, 1 << 20)
    sandbox = create(daemon, disks=[{"image": str(base), "format": "raw"}], display=False)
    console = ready(sandbox)
    made = snapshot(daemon, sandbox)
    os.utime(base, (1, 1))
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": made["id"]})
    assert status == 409 and str(base) in told["error"]["message"], told
    console.run("echo still-$((1+1))", b"still-2")  # refused before anything was ended
    console.close()
    delete(daemon, made)
    stop(daemon, sandbox)


@pytest.mark.skipif(not os.path.exists("/usr/share/OVMF/OVMF_CODE_4M.fd"), reason="there is no OVMF here; apt-get install ovmf")
def test_uefi_variables_are_part_of_it(daemon):
    sandbox = create(daemon, firmware="uefi")
    console = ready(sandbox)
    # A vendor's GUID whose variables Linux lets one remove (fs/efivarfs, LINUX_EFI_CRASH_GUID).
    name = "/v/Harena-cfc8fc79-be2e-4ddc-97f0-9f98bfe298a0"
    assert console.ask(f"mkdir /v; mount -t efivarfs v /v; printf '\\7\\0\\0\\0a' > {name}; tail -c 1 {name}; echo") == "a\n"
    made = snapshot(daemon, sandbox)
    assert console.ask(f"rm {name}; ls {name} 2>/dev/null || echo gone") == "gone\n"
    rollback(daemon, sandbox, made)
    # The firmware itself is asked, not the file system's memory of what there was.
    assert console.ask(f"umount /v; mount -t efivarfs v /v; tail -c 1 {name}; echo") == "a\n"
    console.close()
    delete(daemon, made)
    stop(daemon, sandbox)


def test_a_full_disk_is_a_clean_error_and_the_machine_goes_on(daemon, tmp_path):
    """The disk of a machine lies on a file system that is nearly full when its memory is to be kept."""
    sandbox = create(daemon, display=False)
    console = ready(sandbox)
    folder = daemon.state / "sandboxes" / sandbox["id"] / "vm"
    stop(daemon, sandbox)
    console.close()
    small = tmp_path / "small"
    small.mkdir()
    assert folder.parent.parent.is_dir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "small", str(folder.parent.parent)], check=True)
    try:
        sandbox = create(daemon, display=False)
        console = ready(sandbox)
        console.run("X=kept; echo $((1+1))-set", b"2-set")
        status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {})
        assert status >= 400 and "snapshot-save" in told["error"]["message"], told
        console.run("echo $X-$((1+2))", b"kept-3")
        assert tags(daemon, sandbox) == []
        assert request(daemon, "GET", f"/snapshots?sandbox={sandbox['id']}")[1]["snapshots"] == []
        console.close()
        stop(daemon, sandbox)
    finally:
        subprocess.run(["umount", str(folder.parent.parent)], check=True)


@pytest.mark.parametrize("which", ["vmm_pid", "machine_pid"])
def test_a_death_in_the_middle(daemon, which):
    """Of the machine, while its memory is written: it is failed, what was taken before is whole."""
    sandbox = create(daemon, display=False)
    console = ready(sandbox)
    console.run("X=kept; echo $((1+1))-set", b"2-set")
    made = snapshot(daemon, sandbox)
    details = sandbox["details"]
    pid = details["start"]["vmm_pid"] if which == "vmm_pid" else details["machine_pid"]
    file = daemon.state / "sandboxes" / sandbox["id"] / "vm" / "disk0.qcow2"
    before = file.stat().st_blocks
    answers = []
    asked = threading.Thread(target=lambda: answers.append(request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {})))
    asked.start()
    deadline = time.monotonic() + 60
    while file.stat().st_blocks == before and asked.is_alive():  # until it writes
        assert time.monotonic() < deadline
        time.sleep(0.005)  # what it looks at wants the CPU too
    os.kill(pid, signal.SIGKILL)
    asked.join(timeout=300)
    status, told = answers[0]
    ended = wait_for_state(daemon, sandbox, "failed")
    assert "infrastructure" in str(ended), ended
    if status != 201:  # otherwise it was quicker than we
        assert told["error"]["cause"] == "infrastructure", told
    listed = request(daemon, "GET", f"/snapshots?sandbox={sandbox['id']}")[1]["snapshots"]
    assert made["id"] in [one["id"] for one in listed] and len(listed) == (2 if status == 201 else 1), listed
    console.close()
    late = restore(daemon, made)
    line = Console(late["details"]["consoles"]["serial"])
    line.run("echo $X-$((1+2))", b"kept-3")
    line.close()
    for one in listed:
        delete(daemon, one)
    for one in (late, sandbox):
        stop(daemon, one)
    assert leftovers() == []
