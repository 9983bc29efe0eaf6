#!/bin/sh
# The kit on plugins/qemu, with a machine that has an empty disk and nothing to boot. $1 harena-plugin-check, $2 the plugin's folder.
set -eu
[ "$(id -u)" = 0 ] || { echo "skipped: making machines needs root"; exit 77; }
for program in qemu-system-x86_64 qemu-img genisoimage; do
  command -v $program > /dev/null || { echo "skipped: $program isn't installed"; exit 77; }
done
work=$(mktemp -d)
# An instance of its own: a harenad of this machine goes on beside it.
instance=check-$$
trap 'rm -rf "$work"; find /sys/fs/cgroup -depth -type d -path "*/harena-qemu/$instance*" -exec rmdir {} + 2> /dev/null || true' EXIT
cat > "$work/request.json" <<JSON
{"params": {"memory": "64MiB", "disks": [{"size": "1MiB"}], "display": false}}
JSON
# --level 2: level 3 attacks from inside, by the commands that a full machine doesn't have.
"$1" "$2" --level 2 --request "$work/request.json" --config "{\"instance\": \"$instance\", \"disk_roots\": [\"$work\"], \"uid_base\": 1878034080}"
