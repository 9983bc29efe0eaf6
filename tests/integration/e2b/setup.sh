#!/usr/bin/env bash
# Installs E2B's published SDKs, at pinned versions, into BUILD/e2b: for Python into folders that the tests put in front of
# their path, for JavaScript into a node_modules that they find by NODE_PATH. Nothing goes into the source tree.
#   tests/integration/e2b/setup.sh BUILD PYTHON      PYTHON: with pip, as tests/run.sh makes it
# Runs again only when a pinned version has changed. What can't be reached is a note: the tests that need it skip and say so.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 python=$2
out=$build/e2b
mkdir -p "$out"

# once FILE COMMAND...: runs it unless it succeeded before with the same FILE.
once() {
  local file=$1 stamp
  stamp=$out/$(basename "$file").done
  shift
  cmp -s "$file" "$stamp" && return 0
  "$@" && cp "$file" "$stamp"
}

python_sdk() {  # python_sdk FOLDER REQUIREMENTS
  rm -rf "${out:?}/$1"
  "$python" -m pip install --quiet --disable-pip-version-check --target "$out/$1" -r "$2"
}

node_sdk() {
  command -v npm >/dev/null || { echo "note: npm isn't installed (apt-get install npm)"; return 1; }
  mkdir -p "$out/node" && cp "$here/js/package.json" "$out/node/" && (cd "$out/node" && timeout 600 npm install --silent --no-audit --no-fund --fetch-retries=1)
}

once "$here/requirements.txt" python_sdk python "$here/requirements.txt" ||
  echo "note: E2B's Python SDK can't be installed; its tests skip"
once "$here/requirements-spring.txt" python_sdk python-spring "$here/requirements-spring.txt" ||
  echo "note: E2B's Python SDK of last spring can't be installed; its tests skip"
once "$here/js/package.json" node_sdk || echo "note: E2B's JavaScript SDK can't be installed; its tests skip"
