#!/bin/sh
# The kit on plugins/container, with a layer of empty folders. $1 harena-plugin-check, $2 the plugin's folder.
set -eu
[ "$(id -u)" = 0 ] || { echo "skipped: making containers needs root"; exit 77; }
command -v mkfs.erofs > /dev/null || { echo "skipped: mkfs.erofs (erofs-utils) isn't installed"; exit 77; }
work=$(mktemp -d)
# An instance and ids of its own: a harenad of this machine goes on beside it. Groups of others that vanish under find are no failure.
instance=check-$$
trap 'rm -rf "$work"; find /sys/fs/cgroup -depth -type d -path "*/harena/$instance*" -exec rmdir {} + 2> /dev/null || true' EXIT
mkdir -p "$work/root/bin" "$work/root/proc" "$work/root/sys" "$work/root/dev" "$work/root/tmp" "$work/root/etc" "$work/root/root"
mkfs.erofs "$work/layer.erofs" "$work/root" > /dev/null 2>&1
digest=$(sha256sum "$work/layer.erofs" | cut -d' ' -f1)
cat > "$work/request.json" <<JSON
{"layers": [{"digest": "sha256:$digest", "path": "$work/layer.erofs", "format": "erofs"}]}
JSON
# An emulated machine takes ten times as long for everything.
"$1" "$2" --level 3 ${HARENA_IN_TEST_VM:+--patience 10} --request "$work/request.json" --config "{\"instance\": \"$instance\", \"id_base\": 2000027648, \"id_ranges\": 128}"
