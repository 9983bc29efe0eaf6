#!/bin/sh
# The kit on plugins/microvm: real machines, with a layer of empty folders. $1 harena-plugin-check, $2 the plugin's folder, $3 the source
# folder, $4 the folder of the build's programs, $5... more for the kit.
set -eu
check=$1 plugin=$2 source=$3 bin=$4
shift 4
[ "$(id -u)" = 0 ] || { echo "skipped: making machines needs root"; exit 77; }
for program in qemu-system-x86_64 mkfs.erofs mke2fs busybox; do
  command -v "$program" > /dev/null || { echo "skipped: there is no $program here"; exit 77; }
done
kernel=${HARENA_GUEST_KERNEL:-$(find /boot -name 'vmlinuz-*cloud*' | sort | tail -n 1)}
[ -n "$kernel" ] || { echo "skipped: there is no /boot/vmlinuz-*cloud* here; apt-get install linux-image-cloud-amd64"; exit 77; }
modules=${HARENA_GUEST_MODULES:-$(dirname "$(dirname "$kernel")")/lib/modules}
release=$modules/${kernel##*vmlinuz-}
[ ! -d "$release" ] || modules=$release
work=$(mktemp -d)
# An instance of its own: a harenad of this machine goes on beside it. Groups of others that vanish under find are no failure.
instance=check-$$
trap 'rm -rf "$work"; find /sys/fs/cgroup -depth -type d -path "*/harena-vm/$instance*" -exec rmdir {} + 2> /dev/null || true' EXIT
mkdir -p "$work/root/bin" "$work/root/proc" "$work/root/sys" "$work/root/dev" "$work/root/tmp" "$work/root/etc" "$work/root/root" "$work/guest"
mkfs.erofs "$work/layer.erofs" "$work/root" > /dev/null 2>&1
digest=$(sha256sum "$work/layer.erofs" | cut -d' ' -f1)
initramfs=$("$source/deploy/guest-image/harena-guest-image" --kernel "$kernel" --modules "$modules" --guest "$bin/harena-guest" \
  --shim "$bin/harena-shim" --tools "$bin/tools" --out "$work/guest")
request() {
  echo "{\"params\": {\"memory\": \"160MiB\", \"disk\": \"16MiB\", \"template\": \"$1\"},
    \"layers\": [{\"digest\": \"sha256:$digest\", \"path\": \"$work/layer.erofs\", \"format\": \"erofs\"}]}" > "$work/$1.json"
}
request none
request make
# No machine stands by: what a case finds is what it asked for.
config="{\"instance\": \"$instance\", \"kernel\": \"$kernel\", \"initramfs\": \"$initramfs\", \"memory_dir\": \"$work/memory\", \"ahead\": 0}"
mkdir "$work/memory"
# An emulated host, or one beside other tests, is slow. Booted; then every case, from a template that the first of them makes: 32 boots at once take minutes under emulation.
"$check" "$plugin" --patience 10 --request "$work/none.json" --config "$config" --case create_and_stop --case session_endpoint --case snapshot_and_restore
"$check" "$plugin" --patience 10 --request "$work/make.json" --config "$config" "$@"
