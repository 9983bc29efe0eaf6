#!/usr/bin/env bash
# Makes the root file system of the template `base` for E2B's clients: Debian with bash, Python, git, curl and sudo, and the
# users `root` and `user` (home /home/user, sudo without a password), as E2B's own has them.
#
#   deploy/e2b_base_image.sh /tmp/e2b-base && harena images import root/e2b-base:v1 --folder /tmp/e2b-base
#
# Needs root and mmdebstrap; packages come from this machine's apt sources (or from the suite in $1's second argument).
set -euo pipefail
out=${1:-}
[[ $out == /* ]] || { echo "usage: e2b_base_image.sh /absolute/folder [SUITE]" >&2; exit 2; }
[[ ! -e $out ]] || { echo "error: '$out' exists already" >&2; exit 2; }
command -v mmdebstrap >/dev/null || { echo "error: mmdebstrap isn't installed; apt-get install mmdebstrap" >&2; exit 1; }
suite=${2:-$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")}

mmdebstrap --quiet --variant=minbase --mode=root \
  --include=bash,ca-certificates,coreutils,curl,git,procps,python3,python3-pip,python3-venv,sudo,findutils,grep,less,ripgrep,tar,unzip \
  --customize-hook='chroot "$1" useradd --create-home --shell /bin/bash --uid 1000 user' \
  --customize-hook='echo "user ALL=(ALL:ALL) NOPASSWD: ALL" > "$1/etc/sudoers.d/user" && chmod 440 "$1/etc/sudoers.d/user"' \
  --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*.bin "$1"/var/log/*.log "$1"/etc/machine-id' \
  "$suite" "$out"
