# What the image builders know of the host's apt: sourced, not run.
#
# distribution_sources [CODENAME]: the host's own lines for its distribution's main archive, as one-line sources on
# standard output, whatever format the host keeps them in (apt itself is asked). Third-party archives are left out, by
# what their Release files say of their origin, and before the first `apt-get update` by the names of their suites.

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

need_root() { [[ $(id -u) == 0 ]] || die "this needs root: the files of an image belong to root"; }
need_tool() { command -v "$1" >/dev/null || die "$1 isn't installed; apt-get install $2"; }

host_codename() { . /etc/os-release; printf '%s' "${VERSION_CODENAME:?/etc/os-release has no VERSION_CODENAME}"; }
host_distribution() { . /etc/os-release; printf '%s' "${ID:?/etc/os-release has no ID}"; }

distribution_keyring() {
  local keyring=/usr/share/keyrings/$(host_distribution)-archive-keyring.gpg
  [[ -r $keyring ]] || die "$keyring isn't there; apt-get install $(host_distribution)-archive-keyring (Debian) or ubuntu-keyring"
  printf '%s' "$keyring"
}

distribution_sources() {
  local codename=${1:-$(host_codename)} distribution components keyring
  distribution=$(host_distribution)
  case $distribution in
    debian) components='main' ;;
    ubuntu) components='main universe' ;;
    *) die "this host is '$distribution'; the base image is built on Debian or Ubuntu (or import one: docker://...)" ;;
  esac
  keyring=$(distribution_keyring)
  apt-get indextargets --format '$(REPO_URI)|$(BASE_URI)|$(COMPONENT)|$(ORIGIN)' 'Created-By: Packages' |
    awk -F'|' -v codename="$codename" -v origin="$distribution" -v components="$components" -v keyring="$keyring" '
      {
        suite = $2; sub(/\/$/, "", suite); sub(/.*\/dists\//, "", suite)
        sub(/\/updates$/, "-security", suite)
        known = tolower($4) == origin || $4 ~ /ORIGIN/
        if (!known || index(" " components " ", " " $3 " ") == 0) next
        if (suite != codename && suite != codename "-updates" && suite != codename "-security") next
        line = "deb [signed-by=" keyring "] " $1 " " suite " " $3
        if (!(line in seen)) { seen[line] = 1; print line }
      }'
}

# The Release files of those sources: when they haven't changed, the archive hasn't.
release_files() {
  local codename=$1
  find /var/lib/apt/lists -maxdepth 1 -type f -regextype posix-extended \
    -regex ".*_dists_${codename}(-updates|-security)?_(In)?Release" | LC_ALL=C sort
}

# Seconds since the epoch of the newest of them: the date of the image, however often it is built.
archive_date() {
  local newest=0 file date
  while read -r file; do
    date=$(date -d "$(sed -n 's/^Date: //p' "$file" | head -n 1)" +%s)
    (( date > newest )) && newest=$date
  done < <(release_files "$1")
  printf '%s' "$newest"
}

# refresh_lists CODENAME: apt's lists, if the host has none.
refresh_lists() {
  [[ -n $(release_files "$1") ]] && return
  say "  fetching the host's package lists"
  apt-get update -qq >&2 || die "apt-get update failed; is the host's mirror reachable?"
  [[ -n $(release_files "$1") ]] || die "the host's apt has no source for $1"
}

# up_to_date OUT KEY: OUT is there and was made of the same inputs.
up_to_date() { [[ -d $1 && -r $1.inputs && $(cat "$1.inputs") == "$2" ]]; }

# settle FOLDER EPOCH: no file is younger than the archive it came from, so that equal content gives an equal layer.
settle() { find "$1" -newermt "@$2" -exec touch -h -d "@$2" {} +; }

# bootstrap CODENAME ROOT PACKAGES SOURCES EPOCH: a minimal system with these packages (a,b,c), without documentation and translations.
bootstrap() {
  local codename=$1 root=$2 packages=$3 sources=$4 epoch=$5
  SOURCE_DATE_EPOCH=$epoch mmdebstrap --mode=root --variant=minbase --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-include=/usr/share/locale/locale.alias' \
    --aptopt='Acquire::Retries "3"' --skip=output/dev \
    "$codename" "$root" - <<<"$sources" 2> >(progress >&2) || die "mmdebstrap failed; its last lines are above"
}

# mmdebstrap's own steps; everything when it fails is among them.
progress() { while IFS= read -r line; do case $line in I:*|W:*|E:*) printf '  %s\n' "${line#I: }" ;; esac; done; }

# clean ROOT CODENAME: nothing of the build and of this host stays; names that a sandbox has.
clean() {
  local root=$1 codename=$2
  rm -rf "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/* "$root"/var/cache/debconf/*-old "$root"/var/lib/dpkg/*-old \
    "$root"/var/cache/ldconfig/aux-cache "$root"/var/log/apt "$root"/etc/apt/sources.list.d/0000* "$root"/etc/apt/apt.conf.d/99mmdebstrap
  # What whoever built it typed, fetched and was let in with; what a package puts there for everybody stays.
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/etc/apt/auth.conf "$root"/etc/apt/auth.conf.d/* "$root"/etc/apt/apt.conf.d/*proxy*
  for home in "$root/root" "$root"/home/*; do
    rm -rf "$home"/.*_history "$home"/.cache "$home"/.ssh "$home"/.netrc "$home"/.git-credentials "$home"/.npmrc "$home"/.pypirc "$home"/.docker \
      "$home"/.config/pip "$home"/.pip "$home"/.npm "$home"/.wget-hsts "$home"/.lesshst "$home"/.viminfo
  done
  for folder in tmp var/tmp run; do [[ ! -d $root/$folder ]] || find "$root/$folder" -mindepth 1 -delete; done
  find "$root/var/log" -type f -delete
  find "$root/dev" -mindepth 1 -delete
  : > "$root/etc/machine-id"
  printf 'sandbox\n' > "$root/etc/hostname"
  printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n' > "$root/etc/hosts"
  : > "$root/etc/resolv.conf"
  # A sandbox has no business with this host's mirrors: its owner names those that it may use.
  printf '# no sources yet: name the mirrors of %s that this sandbox may use\n' "$codename" > "$root/etc/apt/sources.list"
}

# sandbox_users ROOT: the user `user` (uid 1000, /home/user), as E2B's images have it, and a sudo that says what is right (images/sudo).
sandbox_users() {
  local script
  script=$(image_source sudo)/sudo.sh
  chroot "$1" /usr/sbin/useradd --create-home --shell /bin/bash --uid 1000 user
  install -m 755 "$script" "$1/usr/local/bin/sudo"
}

# image_source NAME: the folder images/NAME, of a checkout or of an installation.
image_source() {
  local here candidate
  here=$(dirname "${BASH_SOURCE[0]}")
  for candidate in "$here/../../images/$1" "$here/../$1"; do
    [[ -r $candidate/README.md ]] && { (cd "$candidate" && pwd); return; }
  done
  die "images/$1 isn't beside $here; install Harena again"
}
