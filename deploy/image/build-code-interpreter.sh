#!/bin/bash
# Builds the image of the code interpreter: the host's distribution with Jupyter kernels and our service in front of them.
#
#   deploy/image/build-code-interpreter.sh OUT [--languages python,bash,javascript,r] [--small]
#   harena images import root/code-interpreter:v1 --folder OUT          (harena image build code-interpreter does both)
#
# Packages come from the host's own apt sources and, where the distribution has none, from PyPI through the host's own pip
# configuration, pinned with their digests (images/code-interpreter/requirements.txt). --small: no plotting and tables, no
# compilers. OUT is left alone when it was made of the same inputs. Progress on standard error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/apt_sources.sh"

common=python3,python3-pip,python3-venv,ca-certificates,curl,git,procps,file,unzip,xz-utils,less,bash
service=python3-ipykernel,python3-jupyter-client,python3-uvicorn
data=python3-matplotlib,python3-pandas,python3-numpy,python3-scipy,python3-seaborn,python3-requests,python3-openpyxl,python3-bs4,python3-lxml,python3-pil,python3-yaml,fonts-dejavu-core,build-essential,ripgrep
known_languages="python bash javascript r"

languages=python,bash,javascript,r
small=no
out=

usage() { die "usage: build-code-interpreter.sh /absolute/folder [--languages ${known_languages// /,}] [--small]"; }

parse() {
  while [[ $# -gt 0 ]]; do
    case $1 in
      --languages) languages=${2:-}; shift 2 || usage ;;
      --small) small=yes; shift ;;
      /*) [[ -z $out ]] || usage; out=$1; shift ;;
      *) usage ;;
    esac
  done
  [[ -n $out ]] || usage
  local one
  for one in ${languages//,/ }; do
    [[ " $known_languages " == *" $one "* ]] || die "--languages has '$one'; known: $known_languages"
  done
  [[ ",$languages," == *,python,* ]] || die "--languages is '$languages'; python is always among them, since the service is written in it"
  if has javascript && [[ $(dpkg --print-architecture) != amd64 ]]; then
    die "the JavaScript kernel is pinned for amd64 alone, and this host is $(dpkg --print-architecture); name the others: --languages python,bash,r"
  fi
}

has() { [[ ",$languages," == *",$1,"* ]]; }

packages() {
  local list=$common,$service
  [[ $small == yes ]] || list+=,$data
  ! has bash || list+=,python3-pexpect,python3-filetype
  ! has r || list+=,r-cran-irkernel,r-base-core
  printf '%s' "$list"
}

main() {
  parse "$@"
  local codename sources key epoch start=$SECONDS source
  need_root
  need_tool mmdebstrap mmdebstrap
  source=$(image_source code-interpreter)
  codename=$(host_codename)
  refresh_lists "$codename"
  sources=$(distribution_sources "$codename")
  [[ -n $sources ]] || die "the host's apt has no source of $(host_distribution) $codename main"
  epoch=$(archive_date "$codename")
  key=$( { cat "$here/build-code-interpreter.sh" "$here/apt_sources.sh"; find "$source" "$(image_source sudo)" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 cat
    echo "$languages $small $sources"; release_files "$codename" | xargs -r -d '\n' sha256sum | cut -d ' ' -f 1; } | sha256sum | cut -d ' ' -f 1)
  if up_to_date "$out" "$key"; then
    say "  $out is up to date"
    return
  fi
  mkdir -p "$(dirname "$out")"
  rm -rf "$out.part"
  trap "$(printf 'rm -rf %q %q' "$out.part" "$out.pypi")" EXIT
  from_pypi "$source" "$out.pypi"
  say "  $(host_distribution) $codename with $(packages | tr , ' ')"
  bootstrap "$codename" "$out.part" "$(packages)" "$sources" "$epoch"
  install_pypi "$out.pypi" "$out.part"
  install_service "$source" "$out.part"
  sandbox_users "$out.part"
  clean "$out.part" "$codename"
  settle "$out.part" "$epoch"
  rm -rf "$out" "$out.pypi"
  mv "$out.part" "$out"
  printf '%s\n' "$key" > "$out.inputs"
  trap - EXIT
  say "  done in $((SECONDS - start)) s: $(du -sm "$out" | cut -f 1) MiB in $out"
}

# First, since it fails soonest.
from_pypi() {
  local source=$1 into=$2 one wanted=
  for one in ${languages//,/ }; do wanted+=$(grep -E "# $one( |\$)" "$source/requirements.txt" | sed 's/ *#.*//'; echo x); wanted=${wanted%x}; done
  rm -rf "$into" && mkdir -p "$into"
  [[ -n $wanted ]] || return 0
  /usr/bin/python3 -m pip --version >/dev/null 2>&1 || die "pip isn't installed; apt-get install python3-pip"
  say "  from PyPI: $(sed 's/ .*//' <<<"$wanted" | xargs)"
  printf '%s' "$wanted" > "$into/requirements.txt"
  /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --no-compile --root-user-action=ignore \
    --target "$into/site" -r "$into/requirements.txt" >&2 || die "pip couldn't fetch these; its lines above say why"
}

install_pypi() {
  local from=$1 root=$2 packages
  [[ -d $from/site ]] || return 0
  packages=$(echo "$root"/usr/lib/python3.*/ | tr ' ' '\n' | grep -E 'python3\.[0-9]+/$' | head -n 1)
  packages=$root/usr/local/lib/$(basename "$packages")/dist-packages
  mkdir -p "$packages" "$root/usr/local/bin"
  [[ ! -d $from/site/bin ]] || cp -a "$from/site/bin/." "$root/usr/local/bin/"
  rm -rf "$from/site/bin"
  cp -a "$from/site/." "$packages/"
  ! has bash || kernel_spec "$root" bash '["/usr/bin/python3", "-P", "-m", "bash_kernel", "-f", "{connection_file}"]' Bash bash '{"PS1": "$"}'
  ! has javascript || kernel_spec "$root" deno '["/usr/local/bin/deno", "jupyter", "--kernel", "--conn", "{connection_file}"]' Deno typescript '{"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}'
  chown -R 0:0 "$root/usr/local"
}

kernel_spec() {
  local folder=$1/usr/share/jupyter/kernels/$2
  mkdir -p "$folder"
  printf '{"argv": %s, "display_name": "%s", "language": "%s", "env": %s}\n' "$3" "$4" "$5" "$6" > "$folder/kernel.json"
}

install_service() {
  local source=$1 root=$2
  cp -r "$source/harena_interpreter" "$root/usr/lib/python3/dist-packages/"
  find "$root/usr/lib/python3/dist-packages/harena_interpreter" -name __pycache__ -exec rm -rf {} +
  chmod -R u=rwX,go=rX "$root/usr/lib/python3/dist-packages/harena_interpreter"
  install -m 755 "$source/harena-interpreter" "$root/usr/local/bin/harena-interpreter"
  chroot "$root" /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3/dist-packages/harena_interpreter >&2
  # The image is for the code that runs in it: `pip install` works there.
  rm -f "$root"/usr/lib/python3.*/EXTERNALLY-MANAGED
}

main "$@"
