#!/usr/bin/env bash
# The kernel of microVMs, from the distribution's own archive, unpacked and not installed: no boot loader, no hooks, nothing of the host changes.
#
#   deploy/guest-kernel/unpack_kernel.sh OUT
#
# OUT/boot/vmlinuz-RELEASE and OUT/lib/modules/RELEASE. A second run with the same release does nothing. Debian: linux-image-cloud-amd64;
# Ubuntu: linux-image-virtual with its modules. A host that has a cloud kernel in /boot needs none of this.
set -euo pipefail

out=${1:-}
[[ $out == /* && $# == 1 ]] || { echo "usage: unpack_kernel.sh /absolute/folder" >&2; exit 2; }

# meta_package NAME: the first package behind it whose name begins with $2.
behind() { apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *|\?Depends: //p' | grep -m 1 "^$2" || true; }

image=$(behind linux-image-cloud-amd64 linux-image-)
packages=("$image")
if [[ -z $image ]]; then
  image=$(behind linux-image-virtual linux-image-)
  packages=("$image" "linux-modules-${image#linux-image-}")
fi
[[ -n $image ]] || { echo "error: the archive has neither linux-image-cloud-amd64 nor linux-image-virtual; run 'apt-get update'" >&2; exit 1; }

release=${image#linux-image-}
if [[ -e $out/boot/vmlinuz-$release && -d $out/lib/modules/$release ]]; then echo "$out/boot/vmlinuz-$release"; exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As root: apt-get's own user can't write there, and says so at length.
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}") || { echo "error: apt-get could not download: ${packages[*]}" >&2; exit 1; }
for file in "$work"/*.deb; do dpkg -x "$file" "$work/root"; done
mkdir -p "$out/boot" "$out/lib/modules"
rm -rf "$out/lib/modules/$release" "$out/lib/modules/.$release.new"
# Debian merges /lib into /usr/lib from 13 on.
for modules in "$work/root/usr/lib/modules/$release" "$work/root/lib/modules/$release"; do
  [[ -d $modules ]] && cp -a "$modules" "$out/lib/modules/.$release.new" && break
done
mv "$out/lib/modules/.$release.new" "$out/lib/modules/$release"
# Last, and by name: what is there is whole.
cp "$work/root/boot/vmlinuz-$release" "$out/boot/.vmlinuz.new"
mv "$out/boot/.vmlinuz.new" "$out/boot/vmlinuz-$release"
echo "$out/boot/vmlinuz-$release"
