"""Full machines that boot from their disk: BIOS and UEFI, the power button, a seed, CPUs and memory that are plugged in; all as the guest sees it."""

import os
import time

import pytest

import boot_disk
from qemu_support import Console, create, leftovers, qemu_daemon, remove_groups, request, stop, find_kernel


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    why = boot_disk.why_not()
    if why:
        pytest.skip(why)
    made = qemu_daemon(tmp_path_factory.mktemp("qemu"))
    boot_disk.make_boot_disk(made.disks / "boot.raw", find_kernel()[0], made.disks / "tiny.cpio")
    made.start()
    yield made
    made.stop()
    remove_groups()


def boot(daemon, **params):
    """From its disk alone."""
    disks = [{"image": str(daemon.disks / "boot.raw"), "format": "raw"}]
    return create(daemon, **{"kernel": None, "initramfs": None, "command_line": None, "disks": disks, "display": False, **params})


def resize(daemon, sandbox, **params):
    return request(daemon, "PATCH", f"/sandboxes/{sandbox['id']}", {"params": params})


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_from_its_disk_and_off_by_its_power_button(daemon, firmware):
    if firmware == "uefi" and not os.path.exists("/usr/share/OVMF/OVMF_CODE_4M.fd"):
        pytest.skip("there is no OVMF here; apt-get install ovmf")
    sandbox = boot(daemon, firmware=firmware, cloud_init={"user_data": "#cloud-config\nhello: from-the-seed\n"})
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"grub-by-" + {"bios": b"pc", "uefi": b"efi"}[firmware])
    console.wait(b"tiny-ready")
    assert console.ask("grep -o boot-by=.* /proc/cmdline") == {"bios": "boot-by=pc\n", "uefi": "boot-by=efi\n"}[firmware]
    # As cloud-init's NoCloud finds it: by the label, which is in an ISO's 17th block.
    seed = console.ask("for d in /dev/vd?; do [ \"$(dd if=$d bs=1 skip=32808 count=6 2>/dev/null)\" = cidata ] && mount -t iso9660 -o ro $d /mnt; done; "
                       "cat /mnt/user-data /mnt/meta-data")
    assert "hello: from-the-seed" in seed and f"local-hostname: {sandbox['id']}" in seed, seed
    # What this machine writes is in a file of its own.
    console.run("echo mine > /dev/vda; sync; echo $((1+3))-wrote", b"4-wrote")
    with open(daemon.disks / "boot.raw", "rb") as image:
        assert image.read(4) != b"mine"
    # Its init listens to the power button: the end is an orderly one, long before the grace is over.
    console.run("printf '#!/bin/sh\\necho pressed-$((1+4))-inside; sync; poweroff -f\\n' > /bin/off; chmod 755 /bin/off; mkdir -p /etc/acpi; "
                "printf 'PWRF off\\n' > /etc/acpid.conf; cp /bin/off /etc/acpi/off; acpid -l /dev/console; "
                "until ls -l /proc/*/fd 2>/dev/null | grep -q /dev/input/event; do :; done; echo $((1+5))-listens", b"6-listens")
    if firmware == "uefi":  # one that stands still must go on to hear it
        assert request(daemon, "POST", f"/sandboxes/{sandbox['id']}/pause", {})[0] == 200
    status, ended = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/stop", {"grace_ms": 600_000})  # longer than any call may take
    assert status == 200 and ended["state"] == "stopped", ended
    console.wait(b"pressed-5-inside")
    console.close()
    assert leftovers() == []


def test_a_guest_that_doesnt_listen_is_ended_after_the_grace(daemon):
    sandbox = create(daemon, display=False)
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    console.close()
    begun = time.monotonic()
    status, ended = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/stop", {"grace_ms": 1500})
    assert status == 200 and ended["state"] == "stopped", ended
    assert time.monotonic() - begun >= 1.5
    assert leftovers() == []


def seen(console):
    """(CPUs that run, MiB of memory that is online) inside, after all that is there was brought online."""
    text = console.ask("for c in /sys/devices/system/cpu/cpu[1-9]/online /sys/devices/system/memory/memory*/online; do "
                       "[ \"$(cat $c)\" = 1 ] || echo 1 > $c; done 2>/dev/null; "
                       "grep -c ^processor /proc/cpuinfo; cat /sys/devices/system/memory/memory*/online | grep -c 1")
    cpus, blocks = map(int, text.split())
    return cpus, blocks * 128


def test_cpus_and_memory_grow_while_it_runs(daemon):
    sandbox = create(daemon, display=False, cpu_max=2, memory_max="512MiB")
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    assert seen(console) == (1, 256)
    status, told = resize(daemon, sandbox, cpu=2, memory="384MiB")
    assert status == 200 and told["params"]["cpu"] == 2 and told["details"]["size"] == {"cpus": 2, "memory_bytes": 384 << 20}, told
    assert seen(console) == (2, 384)
    assert resize(daemon, sandbox, cpu=2, memory="384MiB")[0] == 200  # it has that
    # Refused by name and value; nothing of it is done.
    for params, words in (({"cpu": 3}, ("'cpu'", "3", "cpu_max")), ({"memory": "640MiB"}, ("'memory'", "671088640", "memory_max")),
                          ({"memory": "400MiB"}, ("'memory'", "128 MiB")), ({"memory": "256MiB"}, ("'memory'", "can't be taken")),
                          ({"display": True}, ("'display'", "can't change")), ({"cpu_max": 8}, ("'cpu_max'", "can't change"))):
        status, told = resize(daemon, sandbox, **params)
        assert status == 400 and all(word in told["error"]["message"] for word in words), told
    assert seen(console) == (2, 384)
    # Less time for the CPUs that it has.
    assert resize(daemon, sandbox, cpu=0.5)[0] == 200
    assert request(daemon, "POST", f"/sandboxes/{sandbox['id']}/pause", {})[0] == 200
    status, told = resize(daemon, sandbox, memory="512MiB")
    assert status == 409 and "paused" in told["error"]["message"], told
    assert request(daemon, "POST", f"/sandboxes/{sandbox['id']}/resume", {})[0] == 200
    # It is part of a snapshot, and of what goes on from it.
    status, made = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {})
    assert status == 201, made
    assert resize(daemon, sandbox, memory="512MiB")[0] == 200
    assert seen(console) == (2, 512)
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": made["id"]})
    assert status == 200, told
    assert seen(console) == (2, 384)
    # Its record says 512 MiB still, which the machine hasn't: whatever is made of it is what it is.
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/fork", {"count": 1})
    assert status == 201 and "sandbox" in told["results"][0], told
    stop(daemon, told["results"][0]["sandbox"])
    status, smaller = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {})
    assert status == 201, smaller
    status, twin = request(daemon, "POST", "/backends/qemu/sandboxes", {"snapshot": smaller["id"]})
    assert status == 201, twin
    stop(daemon, twin)
    assert request(daemon, "DELETE", f"/snapshots/{smaller['id']}")[0] in (200, 204)
    assert resize(daemon, sandbox, memory="512MiB")[0] == 200
    assert seen(console) == (2, 512)
    # A snapshot with more memory than it may have now waits until it may.
    status, larger = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/snapshots", {})
    assert status == 201, larger
    assert request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": made["id"]})[0] == 200
    assert resize(daemon, sandbox, memory="384MiB")[0] == 200
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": larger["id"]})
    assert status == 409 and "'memory'" in told["error"]["message"] and str(512 << 20) in told["error"]["message"], told
    assert seen(console) == (2, 384)
    assert resize(daemon, sandbox, memory="512MiB")[0] == 200
    assert request(daemon, "POST", f"/sandboxes/{sandbox['id']}/rollback", {"snapshot": larger["id"]})[0] == 200
    assert seen(console) == (2, 512)
    assert request(daemon, "DELETE", f"/snapshots/{larger['id']}")[0] in (200, 204)
    console.close()
    status, twin = request(daemon, "POST", "/backends/qemu/sandboxes", {"snapshot": made["id"]})
    assert status == 201, twin
    line = Console(twin["details"]["consoles"]["serial"])
    assert seen(line) == (2, 384)
    line.close()
    assert request(daemon, "DELETE", f"/snapshots/{made['id']}")[0] in (200, 204)
    stop(daemon, twin)
    stop(daemon, sandbox)
    assert leftovers() == []


def test_a_guest_that_takes_nothing_is_told(daemon):
    sandbox = create(daemon, display=False, cpu_max=2, memory_max="384MiB", command_line="console=ttyS0 quiet acpi=off")
    console = Console(sandbox["details"]["consoles"]["serial"])
    console.wait(b"tiny-ready")
    status, told = resize(daemon, sandbox, cpu=2)
    assert status == 409 and "cpu1" in told["error"]["message"] and "ACPI" in told["error"]["message"], told
    assert request(daemon, "GET", f"/sandboxes/{sandbox['id']}")[1]["params"].get("cpu", 1) == 1
    assert resize(daemon, sandbox, cpu=0.5)[0] == 200  # which needs nothing of the guest
    status, told = resize(daemon, sandbox, memory="384MiB")
    assert status == 409 and "memory1" in told["error"]["message"], told
    # It may take it yet; that is no hindrance to anything else.
    assert resize(daemon, sandbox, cpu=0.25)[0] == 200
    status, told = request(daemon, "POST", f"/sandboxes/{sandbox['id']}/fork", {"count": 1})
    assert status == 201 and "sandbox" in told["results"][0], told
    stop(daemon, told["results"][0]["sandbox"])
    console.run("echo still-$((1+1))", b"still-2")
    console.close()
    stop(daemon, sandbox)
    assert leftovers() == []
