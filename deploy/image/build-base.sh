#!/bin/bash
# Builds the base image: the host's distribution with Python 3, git, curl and build tools, and the user `user`, as a folder.
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

packages=python3,python3-pip,python3-venv,git,curl,build-essential,ca-certificates,procps,patch,file,unzip,xz-utils,zstd,less,ripgrep

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
  key=$( { cat "$here/build-base.sh" "$here/apt_sources.sh" "$(image_source sudo)/sudo.sh"; echo "$sources"; release_files "$codename" | xargs -r -d '\n' sha256sum | cut -d ' ' -f 1; } | sha256sum | cut -d ' ' -f 1)
  if up_to_date "$out" "$key"; then
    say "  $out is up to date"
    return
  fi
  say "  $(host_distribution) $codename with ${packages//,/ }"
  mkdir -p "$(dirname "$out")"
  rm -rf "$out.part"
  trap "$(printf 'rm -rf %q' "$out.part")" EXIT
  bootstrap "$codename" "$out.part" "$packages" "$sources" "$epoch"
  sandbox_users "$out.part"
  clean "$out.part" "$codename"
  git -C / config --file "$out.part/etc/gitconfig" init.defaultBranch main 2>/dev/null || true
  settle "$out.part" "$epoch"
  rm -rf "$out"
  mv "$out.part" "$out"
  printf '%s\n' "$key" > "$out.inputs"
  trap - EXIT
  say "  done in $((SECONDS - start)) s: $(du -sm "$out" | cut -f 1) MiB in $out"
}

main "$@"
