#!/usr/bin/env bash
# From a clean checkout to a running Harena with a demo, on Debian 12 / 13 or Ubuntu 24.04, as root.
#
#   deploy/quickstart.sh                              everything
#   deploy/quickstart.sh --image docker://python:3.12 the base image from a registry instead of mmdebstrap
#   deploy/quickstart.sh --no-demo                    stop after the base image is there
#   deploy/quickstart.sh --uninstall                  stops it and removes everything that it made
#
# It may be run again: what is there already is kept. It works with systemd and without.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/packages.sh
source deploy/service.sh

prefix=/usr/local
image_source=mmdebstrap
demo=yes
started=$SECONDS

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
say() { printf '\n[%3d s] %s\n' $((SECONDS - started)) "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

while [[ $# -gt 0 ]]; do
  case $1 in
    --image) [[ ${2:-} == docker://* ]] || die "--image is '${2:-}'; it must begin with docker://"; image_source=$2; shift 2 ;;
    --no-demo) demo=no; shift ;;
    --uninstall) as_root_or_explain || exit 1; uninstall; exit 0 ;;
    -h | --help) usage; exit 0 ;;
    *) die "unknown option '$1'; known: --image REF, --no-demo, --uninstall, --help" ;;
  esac
done

as_root_or_explain || exit 1
# Whatever fails, the line says which step it was and where to look.
current_step="starting"
trap 'status=$?; [[ $status == 0 ]] || printf "\nerror: quickstart failed while %s (exit status %d); the lines above say why\n" "$current_step" "$status" >&2' EXIT
# show_tenths: of ninja's lines "[12/268] ..." one at every tenth part of the way; everything is in the log.
show_tenths() {
  local line part last=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    part=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    [[ $part -gt $last ]] && { last=$part; say "${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"; }
  done
  return 0
}
step() { current_step=$1; say "$1"; }

# shellcheck source=/dev/null
os=$(. /etc/os-release; echo "${ID:-?} ${VERSION_ID:-?}")
case $os in
  "debian 12" | "debian 13" | "ubuntu 24.04") ;;
  *) echo "note: this is $os; tested are Debian 12, Debian 13 and Ubuntu 24.04" ;;
esac

step "installing packages"
# shellcheck disable=SC2046
install_packages $(build_packages) $(run_packages)

step "building (a few minutes on 2 cores; progress is [done/total])"
cmake --preset release >/dev/null
build_log=build/release/build.log
if ! cmake --build --preset release 2>&1 | tee "$build_log" | show_tenths; then
  grep -E -A 20 'FAILED|error:' "$build_log" | head -n 60 >&2
  die "the build failed; all of its output is in $build_log"
fi

step "installing to $prefix"
cmake --install build/release --prefix "$prefix" >/dev/null

step "starting harenad"
start_service "$prefix"

has_image() { "$prefix/bin/harena" images inspect "$1" >/dev/null 2>&1; }
# Folders from which images are made; the test suite is built on the base's, so they go together at the end.
work=/var/lib/harena/build

step "the base image root/base:v1 ($image_source)"
if has_image root/base:v1; then
  echo "it is there already"
elif [[ $image_source == docker://* ]]; then
  "$prefix/bin/harena" images import root/base:v1 --docker "$image_source"
else
  deploy/image/build-base.sh "$work/base"
  "$prefix/bin/harena" images import root/base:v1 --folder "$work/base"
fi

if [[ $demo == yes ]]; then
  if [[ $image_source == mmdebstrap ]]; then
    step "the workspace root/python-testsuite:v1 (CPython's own regression tests)"
    if has_image root/python-testsuite:v1; then
      echo "it is there already"
    else
      [[ -d $work/base ]] || deploy/image/build-base.sh "$work/base"
      deploy/image/build-testsuite.sh "$work/testsuite" "$work/base"
      "$prefix/bin/harena" images import root/python-testsuite:v1 --kind workspace --folder "$work/testsuite"
    fi
  fi
  rm -rf "$work"
  step "the demo"
  PYTHONPATH="$prefix/lib/harena/python" /usr/bin/python3 deploy/demo.py
fi

current_step="saying goodbye"
rm -rf "$work"
cat <<END

Harena is running. The next steps need:
  export HARENA_URL=http://127.0.0.1:7300
  export HARENA_TOKEN=\$(cat /var/lib/harena/admin.token)
  export PYTHONPATH=$prefix/lib/harena/python     # the Python SDK
Try:  harena run root/base:v1 -- python3 -c 'print(6*7)'
Look: harena ls; harena doctor; docs/ in this checkout
Stop: $(stop_hint)
Uninstall: deploy/quickstart.sh --uninstall
Took $((SECONDS - started)) s.
END
