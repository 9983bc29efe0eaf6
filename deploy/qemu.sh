#!/usr/bin/env bash
# Makes full machines usable on a machine where deploy/quickstart.sh has run: QEMU, its tools and firmware, a folder for disk images, the
# plugin in the configuration, a restart of harenad (running sandboxes go on).
#
#   deploy/qemu.sh
#
# It may be run again. `deploy/quickstart.sh --uninstall` removes what it made; disk images are yours and stay.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/packages.sh
source deploy/service.sh
as_root_or_explain || exit 1

prefix=/usr/local
disks=$state_dir/disks
[[ -x $prefix/bin/harenad ]] || { echo "error: $prefix/bin/harenad isn't there; run deploy/quickstart.sh first" >&2; exit 1; }

echo "installing QEMU"
# shellcheck disable=SC2046
install_packages $(qemu_packages)
mkdir -p -m 0700 "$disks"

plugin="\"qemu\": {\"config\": {\"disk_roots\": [\"$disks\"]}}"
if [[ -e $config_file && $(head -n 1 "$config_file") != "$config_mark" ]]; then
  printf '%s is yours. Put this into its "plugins", and restart harenad:\n    %s\n' "$config_file" "$plugin"
  exit 0
fi
add_plugin "{$plugin}"
echo "restarting harenad"
start_service "$prefix"
show_backend "$prefix" qemu
echo "Put a disk image into $disks, then:  harena create --backend qemu -p 'disks=[{\"image\": \"$disks/NAME.qcow2\"}]'; harena console ID"
