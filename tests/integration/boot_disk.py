"""A disk that boots by itself, with BIOS and with UEFI: an MBR with GRUB behind it, and one FAT partition that is also the firmware's (ESP)."""

import shutil
import struct
import subprocess
from pathlib import Path

SECTOR = 512
FIRST = 2048  # of the partition; GRUB's core lies between it and the MBR
GRUB = Path("/usr/lib/grub")
COMMANDS = "part_msdos fat normal linux serial terminal search search_label configfile echo boot"
MENU = """serial --unit=0 --speed=115200
terminal_output serial
search --no-floppy --label --set=root HARENABOOT
echo grub-by-$grub_platform
linux /vmlinuz console=ttyS0 quiet boot-by=$grub_platform
initrd /initrd
boot
"""


def why_not():
    for program, package in (("grub-mkimage", "grub-common"), ("mkfs.vfat", "dosfstools"), ("mcopy", "mtools")):
        if shutil.which(program) is None:
            return f"there is no {program} here; apt-get install {package}"
    for folder, package in (("i386-pc", "grub-pc-bin"), ("x86_64-efi", "grub-efi-amd64-bin")):
        if not (GRUB / folder).is_dir():
            return f"there is no {GRUB / folder} here; apt-get install {package}"
    return None


def grub_image(folder, kind, modules):
    menu, out = folder / "menu.cfg", folder / f"{kind}.img"
    menu.write_text(MENU)
    subprocess.run(["grub-mkimage", "-O", kind, "-o", str(out), "-c", str(menu), "-p", "/grub", *modules.split(), *COMMANDS.split()], check=True)
    return out


def make_boot_disk(path, kernel, initramfs):
    """Raw; the kernel and the initramfs are copied into it."""
    folder = path.parent / "boot-parts"
    folder.mkdir(exist_ok=True)
    core = grub_image(folder, "i386-pc", "biosdisk").read_bytes()
    efi = grub_image(folder, "x86_64-efi", "")
    assert len(core) < (FIRST - 1) * SECTOR
    megabytes = sum(Path(file).stat().st_size for file in (kernel, initramfs)) // (1 << 20) + 36  # FAT32 needs as many
    part = folder / "part.img"
    part.unlink(missing_ok=True)
    with open(part, "wb") as file:
        file.truncate(megabytes << 20)
    subprocess.run(["mkfs.vfat", "-F", "32", "-n", "HARENABOOT", str(part)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["mmd", "-i", str(part), "::/EFI", "::/EFI/BOOT"], check=True)
    for source, name in ((efi, "/EFI/BOOT/BOOTX64.EFI"), (kernel, "/vmlinuz"), (initramfs, "/initrd")):
        subprocess.run(["mcopy", "-i", str(part), str(source), f"::{name}"], check=True)
    mbr = bytearray((GRUB / "i386-pc" / "boot.img").read_bytes()[:440].ljust(SECTOR, b"\0"))
    # One entry of the partition table: bootable, EFI system partition (0xEF), by sectors.
    mbr[446:462] = struct.pack("<B3sB3sII", 0x80, b"\xfe\xff\xff", 0xEF, b"\xfe\xff\xff", FIRST, part.stat().st_size // SECTOR)
    mbr[510:] = b"\x55\xaa"
    with open(path, "wb") as disk:
        disk.write(mbr + core)
        disk.seek(FIRST * SECTOR)
        disk.write(part.read_bytes())
    shutil.rmtree(folder)
