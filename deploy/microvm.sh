#!/usr/bin/env bash
# Makes microVMs usable on a machine where deploy/quickstart.sh has run: QEMU, a kernel for the guests, their initramfs, the plugin in
# the configuration, a restart of harenad (running sandboxes go on).
#
#   deploy/microvm.sh
#
# A kernel in /boot that is made for clouds is used as it is; else the distribution's is unpacked, not installed (deploy/guest-kernel).
# It may be run again, also after an update of the kernel. `deploy/quickstart.sh --uninstall` removes what it made.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/packages.sh
source deploy/service.sh
as_root_or_explain || exit 1

prefix=/usr/local
guest=$state_dir/guest
[[ -x $prefix/bin/harenad ]] || { echo "error: $prefix/bin/harenad isn't there; run deploy/quickstart.sh first" >&2; exit 1; }

echo "installing QEMU"
# shellcheck disable=SC2046
install_packages $(microvm_packages)

kernel=$(compgen -G '/boot/vmlinuz-*-cloud-amd64' | sort -V | tail -n 1) || true
modules=/lib/modules
if [[ -z $kernel || ! -d $modules/${kernel#/boot/vmlinuz-} ]]; then
  echo "unpacking the distribution's kernel"
  kernel=$(deploy/guest-kernel/unpack_kernel.sh "$guest/kernel")
  modules=$guest/kernel/lib/modules
fi

echo "making the initramfs for $kernel"
tools=$prefix/libexec/harena/tools
initramfs=$(deploy/guest-image/harena-guest-image --kernel "$kernel" --modules "$modules" --guest "$prefix/libexec/harena/harena-guest" \
  --shim "$prefix/libexec/harena/harena-shim" $([[ ! -d $tools ]] || echo "--tools $tools") --out "$guest")

plugin="\"microvm\": {\"config\": {\"kernel\": \"$kernel\", \"initramfs\": \"$initramfs\"}}"
if [[ -e $config_file && $(head -n 1 "$config_file") != "$config_mark" ]]; then
  printf '%s is yours. Put this into its "plugins", and restart harenad:\n    %s\n' "$config_file" "$plugin"
  exit 0
fi
add_plugin "{$plugin}"
echo "restarting harenad"
start_service "$prefix"
show_backend "$prefix" microvm
echo "Try:  harena run --backend microvm root/base:v1 -- uname -a"
