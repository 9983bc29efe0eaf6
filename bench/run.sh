#!/usr/bin/env bash
# The promised numbers, measured: bench/run.sh [build|api|batch|create|idle|files|shim|all]. Builds the release preset with the benches first.
# Figures are ratios in one run against a floor; on a busy machine only the ratios mean something.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/packages.sh
as_root_or_explain
what=${1:-all}
case $what in build | api | batch | create | idle | files | shim | all) ;; *) echo "error: unknown bench '$what'; known: build, api, batch, create, idle, files, shim, all" >&2; exit 1 ;; esac
wants() { [[ $what == all || $what == "$1" ]]; }

build=$PWD/build/bench
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHARENA_TESTS=ON >/dev/null

if wants build; then
  # As on a new machine: no ccache, nothing built.
  clean=$(mktemp -d)
  trap 'rm -rf "$clean"' EXIT
  cmake -S . -B "$clean" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHARENA_TESTS=OFF -DCCACHE=CCACHE-NOTFOUND >/dev/null
  begun=$SECONDS
  cmake --build "$clean" >"$clean/log" 2>&1 || { tail -n 30 "$clean/log"; exit 1; }
  echo "clean build, release, without tests: $((SECONDS - begun)) s on $(nproc) cores (load before: $(cut -d' ' -f1 /proc/loadavg))"
fi

if wants api || wants batch || wants create || wants idle || wants files || wants shim; then
  cmake --build "$build" --target harenad harena harena-shim harena-container-launcher http_bench shim_bench beast_files container_create_bench \
    harena_plugin_container_module harena_plugin_imagestore-local_module harena_plugin_statestore-sqlite_module >/dev/null
fi
if wants api || wants batch; then HARENA_BUILD_DIR=$build PYTHONPATH=$PWD/sdk/python /usr/bin/python3 bench/service_bench.py "$what"; fi
if wants create; then "$build/bin/container_create_bench"; fi
if wants idle; then HARENA_BUILD_DIR=$build PYTHONPATH=$PWD/sdk/python /usr/bin/python3 bench/idle_streams.py; fi
if wants files; then HARENA_BUILD_DIR=$build PYTHONPATH=$PWD/sdk/python /usr/bin/python3 bench/files/files_bench.py; fi
if wants shim; then HARENA_BUILD_DIR=$build "$build/bin/shim_bench" 2000 1 && HARENA_BUILD_DIR=$build "$build/bin/shim_bench" 2000 64; fi
