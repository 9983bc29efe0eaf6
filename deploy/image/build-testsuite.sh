#!/bin/bash
# Builds the workspace root/python-testsuite:v1: CPython's own regression tests (libpython3.X-testsuite for the base's
# Python 3.X) as a layer on the base, holding only what the base lacks.
#
#   deploy/image/build-testsuite.sh OUT [BASE]     BASE: the folder of build-base.sh, by default `base` beside OUT
#   harena images import root/python-testsuite:v1 --kind workspace --folder OUT
#
# apt resolves against the base's own package database, so that exactly the missing packages come, in the versions that
# fit. Their files alone become the layer: the base's package database stays the base's, and workspaces can be stacked.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/apt_sources.sh"

package=

main() {
  local out=${1:-} base=${2:-} codename key epoch start=$SECONDS work
  [[ $out == /* && $# -le 2 ]] || die "usage: build-testsuite.sh /absolute/folder [/base/folder]"
  base=${base:-$(dirname "$out")/base}
  need_root
  [[ -r $base/var/lib/dpkg/status ]] || die "'$base' isn't a base image's folder; build it first: deploy/image/build-base.sh $base"
  codename=$(. "$base/etc/os-release"; printf '%s' "$VERSION_CODENAME")
  package=lib$(basename "$(readlink "$base/usr/bin/python3")")-testsuite
  [[ $package == libpython3.*-testsuite ]] || die "the base '$base' has no /usr/bin/python3"
  [[ $codename == "$(host_codename)" ]] || die "the base is $codename and this host's apt is for $(host_codename)"
  refresh_lists "$codename"
  epoch=$(archive_date "$codename")
  key=$( { cat "$here/build-testsuite.sh" "$here/apt_sources.sh" "$base/var/lib/dpkg/status"; echo "$epoch"; } | sha256sum | cut -d ' ' -f 1)
  if up_to_date "$out" "$key"; then
    say "  $out is up to date"
    return
  fi
  work=$(mktemp -d)
  trap "$(printf 'rm -rf %q %q' "$work" "$out.part")" EXIT
  rm -rf "$out.part"
  mkdir -p "$out.part" "$work/archives/partial" "$work/lists/partial"
  chmod 755 "$out.part"
  say "  fetching $package and what it needs beyond the base"
  fetch "$base" "$work" "$codename"
  unpack "$base" "$work" "$out.part"
  compile "$base" "$out.part" "$work"
  settle "$out.part" "$epoch"
  rm -rf "$out"
  mv "$out.part" "$out"
  printf '%s\n' "$key" > "$out.inputs"
  say "  done in $((SECONDS - start)) s: $(du -sm "$out" | cut -f 1) MiB in $out"
}

# The distribution's sources alone, so that no third-party archive has a say; lists of the host are taken where they fit.
fetch() {
  local base=$1 work=$2 codename=$3
  distribution_sources "$codename" > "$work/sources.list"
  cp "$base/var/lib/dpkg/status" "$work/status"
  local options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::status=$work/status"
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o "Dir::Cache::archives=$work/archives" -o APT::Install-Recommends=false
    -o APT::Sandbox::User=root -o Acquire::Languages=none -o Debug::NoLocking=1 -o "Dir::State::extended_states=$work/extended_states")
  apt-get "${options[@]}" update -qq >&2 || die "apt-get update failed; is the host's mirror reachable?"
  apt-get "${options[@]}" install -qq -y --download-only "$package" >&2 || die "apt can't fit $package to the base; build the base again (its packages may be older than the archive's)"
}

unpack() {
  local base=$1 work=$2 out=$3 deb name
  for deb in "$work"/archives/*.deb; do
    name=$(dpkg-deb -f "$deb" Package)
    if grep -qx "Package: $name" "$base/var/lib/dpkg/status"; then
      die "the archive has a newer $name than the base; build the base again: deploy/image/build-base.sh"
    fi
    say "  unpacking $name $(dpkg-deb -f "$deb" Version)"
    dpkg-deb -x "$deb" "$out"
  done
  merge_usr "$base" "$out"
  rm -rf "$out"/usr/share/doc "$out"/usr/share/man "$out"/usr/share/lintian "$out"/usr/share/locale
}

# A package may still bring /bin or /sbin as folders; in a layer they would hide the base's links of that name.
merge_usr() {
  local base=$1 out=$2 name
  for name in bin sbin lib lib32 lib64 libx32; do
    [[ -L $base/$name && -d $out/$name && ! -L $out/$name ]] || continue
    mkdir -p "$out/usr/$name"
    cp -a "$out/$name/." "$out/usr/$name/"
    rm -rf "${out:?}/$name"
  done
}

# Byte code made once here instead of in every sandbox; known by its content, so that no time matters. Only speed is lost
# where the host allows no overlay.
compile() {
  local base=$1 out=$2 work=$3
  mkdir -p "$work/merged" "$work/upper" "$work/overlay"
  say "  compiling the tests"
  unshare -m bash -euc '
    mount -t overlay overlay -o "lowerdir=$1:$2,upperdir=$3/upper,workdir=$3/overlay" "$3/merged"
    mount -t tmpfs tmpfs "$3/merged/dev"
    mknod -m 666 "$3/merged/dev/null" c 1 3
    mkdir "$3/merged/dev/shm"
    chroot "$3/merged" sh -c "python3 -m compileall -q -j 2 --invalidation-mode unchecked-hash /usr/lib/python3*/test" || true
  ' _ "$out" "$base" "$work" >/dev/null 2>"$work/errors" ||
    { say "  (not compiled, the tests only start more slowly: $(tail -n 1 "$work/errors"))"; return; }
  # Byte code alone, without the marks that overlayfs leaves on its upper folder.
  (cd "$work/upper" && find . -name '*.pyc' -print0 | tar --null -T - -cf - ) | tar -C "$out" -xf -
  find "$out" -name __pycache__ -exec chmod 755 {} +
}

main "$@"
