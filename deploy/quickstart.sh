#!/usr/bin/env bash
# From a clean checkout to a running Harena with a demo, on Debian 12 / 13 or Ubuntu 24.04, as root.
#
#   deploy/quickstart.sh                              everything
#   deploy/quickstart.sh --image docker://python:3.12 the base image from a registry instead of mmdebstrap
#   deploy/quickstart.sh --no-demo                    stop after the base image is there
#   deploy/quickstart.sh --prebuilt FOLDER            nothing is built: FOLDER is what `cmake --install` made, on a machine of the same release
#   deploy/quickstart.sh --base-folder FOLDER         the base image from a root file system that is there; without the demo, which needs more
#   deploy/quickstart.sh --uninstall                  stops it and removes everything that it made
#
# It may be run again: what is there already is kept. It works with systemd and without. With --prebuilt and --base-folder it needs no
# network, if the packages of run_packages (deploy/packages.sh) and the programs' libraries are installed.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/packages.sh
source deploy/service.sh

prefix=/usr/local
prebuilt=
image_source=mmdebstrap
demo=yes
started=$SECONDS

usage() { sed -n '2,13s/^# \{0,1\}//p' "$0"; }
say() { printf '\n[%3d s] %s\n' $((SECONDS - started)) "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

while [[ $# -gt 0 ]]; do
  case $1 in
    --image) [[ ${2:-} == docker://* ]] || die "--image is '${2:-}'; it must begin with docker://"; image_source=$2; shift 2 ;;
    --no-demo) demo=no; shift ;;
    --prebuilt)
      [[ -x ${2:-}/bin/harenad ]] || die "--prebuilt is '${2:-}'; it must be a folder with bin/harenad: cmake --install build/release --prefix FOLDER"
      prebuilt=$2; shift 2 ;;
    --base-folder)
      [[ -d ${2:-}/bin ]] || die "--base-folder is '${2:-}'; it must be a root file system, with bin in it"
      image_source=folder:$(realpath "$2"); demo=no; shift 2 ;;
    --uninstall) as_root_or_explain || exit 1; uninstall; exit 0 ;;
    -h | --help) usage; exit 0 ;;
    *) die "unknown option '$1'; known: --image REF, --no-demo, --prebuilt FOLDER, --base-folder FOLDER, --uninstall, --help" ;;
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

# has_libraries FOLDER: every shared library of the programs below it is on this machine.
has_libraries() {
  local missing
  # ldd is unhappy about static programs.
  missing=$( (find "$1/bin" "$1/libexec" "$1/lib/harena" -type f \( -perm -u+x -o -name '*.so' \) -exec ldd {} + 2>/dev/null || true) |
    awk '/not found/ { print $1 }' | sort -u)
  [[ -z $missing ]] || die "$1 was built for another release, or packages with these libraries are missing: ${missing//$'\n'/ }"
}

build() {
  step "building (a few minutes on 2 cores; progress is [done/total])"
  cmake --preset release >/dev/null
  local build_log=build/release/build.log
  if ! cmake --build --preset release 2>&1 | tee "$build_log" | show_tenths; then
    grep -E -A 20 'FAILED|error:' "$build_log" | head -n 60 >&2
    die "the build failed; all of its output is in $build_log"
  fi
}

step "installing packages"
packages=$(run_packages)
[[ -n $prebuilt ]] || packages+=" $(build_packages)"
[[ $image_source == folder:* ]] || packages+=" $(image_packages)"
# shellcheck disable=SC2086
install_packages $packages

if [[ -n $prebuilt ]]; then
  step "installing $prebuilt to $prefix"
  has_libraries "$prebuilt"
  mkdir -p "$prefix"
  # Beside and in place: a running program's file can't be written to.
  cp -a --remove-destination "$prebuilt/." "$prefix/"
else
  build
  step "installing to $prefix"
  cmake --install build/release --prefix "$prefix" >/dev/null
fi

step "starting harenad"
write_config "$prefix"
start_service "$prefix"

has_image() { "$prefix/bin/harena" images inspect "$1" >/dev/null 2>&1; }
# Folders from which images are made; the test suite is built on the base's, so they go together at the end.
work=/var/lib/harena/build

step "the base image root/base:v1 ($image_source)"
if has_image root/base:v1; then
  echo "it is there already"
elif [[ $image_source == docker://* ]]; then
  "$prefix/bin/harena" images import root/base:v1 --docker "$image_source"
elif [[ $image_source == folder:* ]]; then
  "$prefix/bin/harena" images import root/base:v1 --folder "${image_source#folder:}"
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
E2B:  eval "\$(harena e2b env --create-key me)", then run code that was written for E2B (docs/e2b.md); MCP: docs/mcp.md
Look: harena ls; harena doctor; docs/ in this checkout
Stop: $(stop_hint)
Uninstall: deploy/quickstart.sh --uninstall
Took $((SECONDS - started)) s.
END
