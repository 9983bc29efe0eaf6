#!/bin/bash
# Makes a small root file system for tests in a fraction of a second and without network: busybox with all its applets.
#
#   tests/support/tiny_image.sh OUT        OUT: a folder that isn't there yet
#   harena images import root/tiny:v1 --folder OUT
#
# Needs busybox-static. Exit status 77 with a sentence when it isn't installed (ctest counts that as skipped). The result
# depends on busybox alone: all times are fixed, so every run gives the same layer.
set -euo pipefail

out=${1:-}
[[ $out == /* && $# == 1 ]] || { echo "usage: tiny_image.sh /absolute/folder" >&2; exit 2; }
[[ ! -e $out ]] || { echo "error: '$out' exists already" >&2; exit 2; }
busybox=$(command -v busybox) || { echo "skipped: busybox isn't installed; apt-get install busybox-static" >&2; exit 77; }
if ldd "$busybox" 2>/dev/null | grep -q '=>'; then
  echo "skipped: $busybox is linked dynamically; apt-get install busybox-static" >&2
  exit 77
fi

mkdir -p "$out"/{bin,dev,etc,proc,sys,tmp,root,run,home,usr,var/tmp,work}
chmod 1777 "$out/tmp" "$out/var/tmp"
chmod 700 "$out/root"
ln -s ../bin "$out/usr/bin"
ln -s bin "$out/sbin"
cp "$busybox" "$out/bin/busybox"
chmod 755 "$out/bin/busybox"
"$busybox" --list | while read -r applet; do [[ $applet == busybox ]] || ln -s busybox "$out/bin/$applet"; done
cat > "$out/etc/passwd" <<'P'
root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/false
user:x:1000:1000:user:/home/user:/bin/sh
P
printf 'root:x:0:\nnogroup:x:65534:\nuser:x:1000:\n' > "$out/etc/group"
printf '127.0.0.1 localhost\n::1 localhost\n' > "$out/etc/hosts"
printf 'sandbox\n' > "$out/etc/hostname"
mkdir "$out/home/user"
chown 1000:1000 "$out/home/user" 2>/dev/null || true
find "$out" -exec touch -h -d @1700000000 {} +
