#!/usr/bin/env bash
# The promised numbers, measured: bench/run.sh [NAME...]; without a name all of them. Builds the release preset with the benches first.
# Figures are ratios in one run against a floor; on a busy machine only the ratios mean something.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/packages.sh
as_root_or_explain
known=(build api batch create containers commands output files idle shim guest microvm e2b)
for name in "$@"; do
  [[ $name == all || " ${known[*]} " == *" $name "* ]] || { echo "error: unknown bench '$name'; known: ${known[*]} all" >&2; exit 1; }
done
wants() { [[ -z $wanted || " $wanted " == *" $1 "* || $wanted == all ]]; }
wanted="$*"

build=$PWD/build/bench
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHARENA_TESTS=ON >/dev/null

if wants build; then
  # As on a new machine: no ccache, nothing built.
  clean=$(mktemp -d)
  trap 'rm -rf "$clean"' EXIT
  cmake -S . -B "$clean" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHARENA_TESTS=OFF -DHARENA_UNITY=ON -DCCACHE=CCACHE-NOTFOUND >/dev/null
  begun=$SECONDS
  cmake --build "$clean" >"$clean/log" 2>&1 || { tail -n 30 "$clean/log"; exit 1; }
  echo "clean build, release, without tests: $((SECONDS - begun)) s on $(nproc) cores (load before: $(cut -d' ' -f1 /proc/loadavg))"
fi

[[ $wanted == build ]] && exit 0
cmake --build "$build" --target harenad harena harena-shim harena-container-launcher harena-machine harena-guest harena_plugin_microvm_module http_bench exec_bench shim_bench microvm_guest_bench beast_files container_create_bench container_floor \
  harena_plugin_e2b_module harena_plugin_container_module harena_plugin_imagestore-local_module harena_plugin_statestore-sqlite_module >/dev/null
export HARENA_BUILD_DIR=$build PYTHONPATH=$PWD/sdk/python
for name in api batch commands output; do
  if wants $name; then /usr/bin/python3 bench/service_bench.py $name; fi
done
if wants create; then "$build/bin/container_create_bench"; fi
if wants containers; then /usr/bin/python3 bench/containers_bench.py all; fi
if wants idle; then /usr/bin/python3 bench/idle_streams.py; fi
if wants files; then /usr/bin/python3 bench/files/files_bench.py; fi
if wants shim; then "$build/bin/shim_bench" 2000 1 && "$build/bin/shim_bench" 2000 64; fi
export HARENA_SOURCE_DIR=$PWD
if wants guest; then "$build/bin/microvm_guest_bench" 5 200 || [[ $? == 77 ]]; fi
if wants microvm; then
  wants guest || "$build/bin/microvm_guest_bench" 5 200 || [[ $? == 77 ]]
  /usr/bin/python3 bench/microvm_bench.py
fi
if wants e2b; then
  # The SDK as the tests have it; pytest for their fixtures.
  venv=$PWD/build/dev/venv
  tests/integration/e2b/setup.sh "$build" "$venv/bin/python"
  HARENA_E2B_MANY=1 HARENA_SOURCE_DIR=$PWD "$venv/bin/python" -m pytest -q -s -p no:cacheprovider tests/integration/e2b/bench_sdk.py
fi
