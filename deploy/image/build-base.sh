#!/bin/bash
# Builds the base image: the host's distribution with Python 3, git, curl and build tools, as a folder.
#
#   deploy/image/build-base.sh OUT            e.g. /var/lib/harena/build/base
#   harena images import root/base:v1 --folder OUT
#
# From the host's own apt sources (the distribution's archive alone), without documentation and caches. The image itself
# names the distribution's public archive and nothing of this host. OUT is left alone when it was made of the same
# package lists, packages and script; else it is made beside it and put in its place. Progress on standard error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/apt_sources.sh"

packages=python3,python3-pip,python3-venv,git,curl,build-essential,ca-certificates,procps,patch,file,unzip,xz-utils,zstd,less

main() {
  local out=${1:-} codename sources key epoch start=$SECONDS
  [[ $out == /* && $# == 1 ]] || die "usage: build-base.sh /absolute/folder"
  need_root
  need_tool mmdebstrap mmdebstrap
  codename=$(host_codename)
  refresh_lists "$codename"
  sources=$(distribution_sources "$codename")
  [[ -n $sources ]] || die "the host's apt has no source of $(host_distribution) $codename main"
  epoch=$(archive_date "$codename")
  key=$( { cat "$here/build-base.sh" "$here/apt_sources.sh"; echo "$sources"; release_files "$codename" | xargs -r -d '\n' sha256sum | cut -d ' ' -f 1; } | sha256sum | cut -d ' ' -f 1)
  if up_to_date "$out" "$key"; then
    say "  $out is up to date"
    return
  fi
  say "  $(host_distribution) $codename with ${packages//,/ }"
  mkdir -p "$(dirname "$out")"
  rm -rf "$out.part"
  trap "$(printf 'rm -rf %q' "$out.part")" EXIT
  build "$codename" "$out.part" "$sources" "$epoch"
  clean "$out.part" "$codename"
  settle "$out.part" "$epoch"
  rm -rf "$out"
  mv "$out.part" "$out"
  printf '%s\n' "$key" > "$out.inputs"
  trap - EXIT
  say "  done in $((SECONDS - start)) s: $(du -sm "$out" | cut -f 1) MiB in $out"
}

build() {
  local codename=$1 out=$2 sources=$3 epoch=$4
  SOURCE_DATE_EPOCH=$epoch mmdebstrap --mode=root --variant=minbase --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-include=/usr/share/locale/locale.alias' \
    --aptopt='Acquire::Retries "3"' --skip=output/dev \
    "$codename" "$out" - <<<"$sources" 2> >(progress >&2) || die "mmdebstrap failed; its last lines are above"
}

# mmdebstrap's own steps; everything when it fails is among them.
progress() { while IFS= read -r line; do case $line in I:*|W:*|E:*) printf '  %s\n' "${line#I: }" ;; esac; done; }

clean() {
  local root=$1 codename=$2
  rm -rf "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/* "$root"/var/cache/debconf/*-old "$root"/var/lib/dpkg/*-old \
    "$root"/var/cache/ldconfig/aux-cache "$root"/var/log/apt "$root"/etc/apt/sources.list.d/0000* "$root"/etc/apt/apt.conf.d/99mmdebstrap
  find "$root/var/log" -type f -delete
  find "$root/dev" -mindepth 1 -delete
  : > "$root/etc/machine-id"
  printf 'sandbox\n' > "$root/etc/hostname"
  printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n' > "$root/etc/hosts"
  : > "$root/etc/resolv.conf"
  # A sandbox has no business with this host's mirrors: its owner names those that it may use.
  printf '# no sources yet: name the mirrors of %s that this sandbox may use\n' "$codename" > "$root/etc/apt/sources.list"
  git -C / config --file "$root/etc/gitconfig" init.defaultBranch main 2>/dev/null || true
}

main "$@"
