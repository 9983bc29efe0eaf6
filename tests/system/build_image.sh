#!/bin/bash
# Builds the test VM's base: the host's distribution with systemd, its cloud kernel and what the product needs at run time.
#
#   tests/system/build_image.sh OUT [PACKAGE...]     OUT/disk.img (ext4, sparse), OUT/vmlinuz, OUT/initrd.img; packages beyond the list
#   tests/system/build_image.sh --key [PACKAGE...]   what it depends on, as one line: the name to keep it under
#
# From the host's own apt sources. Nothing of the product is in it: that comes on a disk of its own (vm.py), so one base serves every build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../deploy/image/apt_sources.sh"

disk_size=8G

kernel_package() { case $(host_distribution) in ubuntu) echo linux-image-virtual ;; *) echo linux-image-cloud-amd64 ;; esac; }

# qemu-guest-agent takes the commands; quota, xfsprogs: for project quotas; the rest is what deploy/packages.sh calls run_packages, less
# what needs a network, and python3-pytest for the suites.
packages() {
  echo systemd systemd-sysv dbus udev "$(kernel_package)" initramfs-tools qemu-guest-agent kmod procps iproute2 apparmor e2fsprogs \
    erofs-utils xfsprogs lxcfs busybox-static python3 python3-httpx python3-pytest curl ca-certificates quota util-linux git "$@"
}

# What the archive holds isn't part of it: a base stays good until somebody changes what is in it, or a week has passed.
key() { { cat "$here/build_image.sh"; packages "$@" | tr ' ' '\n' | sort -u; host_codename; date +%G-%V; } | sha256sum | cut -c 1-16; }

build() {
  local out=$1 codename list
  shift
  codename=$(host_codename)
  list=$(packages "$@")
  refresh_lists "$codename"
  mkdir -p "$out/root"
  mmdebstrap --quiet --mode=root --variant=minbase --include="${list// /,}" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --aptopt='Acquire::Retries "3"' --skip=output/dev "$codename" "$out/root" - <<<"$(distribution_sources "$codename")" >&2
  configure "$out/root"
  cp "$out"/root/boot/vmlinuz-* "$out/vmlinuz"
  cp "$out"/root/boot/initrd.img-* "$out/initrd.img"
  rm -rf "$out"/root/boot/* "$out"/root/var/cache/apt "$out"/root/var/lib/apt/lists/*
  truncate -s "$disk_size" "$out/disk.img"
  mke2fs -q -t ext4 -E lazy_itable_init=1 -L harena-base -d "$out/root" "$out/disk.img"
  rm -rf "$out/root"
}

configure() {
  local root=$1 units=$1/etc/systemd/system
  ln -sf /dev/null "$units/serial-getty@ttyS0.service"
  ln -sf /dev/null "$units/getty@tty1.service"
  ln -sf /dev/null "$units/apt-daily.timer"
  ln -sf /dev/null "$units/apt-daily-upgrade.timer"
  ln -sf /dev/null "$units/systemd-networkd-wait-online.service"
  printf 'harena-vm\n' > "$root/etc/hostname"
  printf '127.0.0.1 localhost harena-vm\n::1 localhost\n' > "$root/etc/hosts"
  printf '%s\n' 'LABEL=harena-base / ext4 rw,relatime 0 1' 'LABEL=harena-product /opt/harena-test ext4 ro,nofail 0 0' > "$root/etc/fstab"
  mkdir -p "$root/opt/harena-test"
  rm -f "$root"/etc/apt/sources.list.d/0000* "$root/etc/apt/apt.conf.d/99mmdebstrap"
  : > "$root/etc/apt/sources.list"
}

case ${1:-} in
  --key) shift; key "$@" ;;
  /*) need_root; need_tool mmdebstrap mmdebstrap; need_tool mke2fs e2fsprogs; build "$@" ;;
  *) die "usage: build_image.sh /absolute/folder [PACKAGE...] | --key [PACKAGE...]" ;;
esac
