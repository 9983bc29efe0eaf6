#!/bin/bash
# Makes the folder of trusted tools: the distribution's static busybox, and a link for each of its tools that a grader needs.
#
#   deploy/trusted_tools.sh OUT [BUSYBOX]     OUT is made anew; BUSYBOX: default, the one of busybox-static
#
# Left out: what enters other users, mounts, or resolves names of hosts (glibc would load the sandbox's NSS modules for those).
# Exit status 77 with a sentence when there is no static busybox.
set -euo pipefail

out=${1:-} busybox=${2:-$(command -v busybox || true)}
[[ -n $out && $# -le 2 ]] || { echo "usage: trusted_tools.sh OUT [BUSYBOX]" >&2; exit 2; }
[[ -x $busybox ]] || { echo "no static busybox; apt-get install busybox-static" >&2; exit 77; }
if ldd "$busybox" 2>/dev/null | grep -q '=>'; then
  echo "$busybox is linked dynamically; apt-get install busybox-static" >&2
  exit 77
fi

wanted=" [ [[ ash awk base64 basename bc bunzip2 bzcat bzip2 cat chgrp chmod chown cksum clear cmp comm cp cpio cut date dc dd df
  diff dirname dos2unix du echo ed egrep env expand expr factor false fgrep find fold free getopt grep groups gunzip gzip head hexdump
  hostid id install kill killall link ln ls lzcat md5sum mkdir mkfifo mktemp more mv nice nl nohup nproc od paste patch pgrep pidof
  pkill printenv printf ps pwd readlink realpath renice rev rm rmdir sed seq setsid sh sha1sum sha256sum sha3sum sha512sum shred shuf
  sleep sort split stat strings stty sum sync tac tail tar tee test time timeout top touch tr true truncate tsort tty uname unexpand
  uniq unix2dos unlink unlzma unxz unzip uptime usleep uudecode uuencode watch wc which whoami xargs xxd xz xzcat yes zcat "
wanted=" $(echo $wanted) "

rm -rf "$out"
mkdir -p "$out"
install -m 0755 "$busybox" "$out/busybox"
"$busybox" --list | while read -r tool; do
  if [[ $wanted == *" $tool "* ]]; then ln -s busybox "$out/$tool"; fi
done
[[ -e $out/sh ]] || { echo "$busybox has no sh" >&2; exit 77; }
