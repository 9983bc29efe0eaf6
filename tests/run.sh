#!/usr/bin/env bash
# Installs what the tests need, builds, and runs every test that this host can run.
#   tests/run.sh [--long]     --long: the long forms of the stress tests too
# The last line is `N passed, N failed, N skipped`, added up over GoogleTest (by ctest) and pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
source deploy/packages.sh
as_root_or_explain
[[ ${1:-} == --long ]] && export HARENA_LONG_TESTS=1

started=$SECONDS
step() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }

step "packages"
apt-cache policy libgtest-dev 2>/dev/null | grep -q Candidate || apt-get -qq update
# shellcheck disable=SC2046
install_packages $(build_packages) $(run_packages) $(image_packages) $(qemu_packages) $(test_packages)

# Machines of tests/guest boot the host's cloud kernel, or one that is unpacked beside the build.
if ! compgen -G '/boot/vmlinuz-*cloud*' >/dev/null && [[ -z ${HARENA_GUEST_KERNEL:-} ]]; then
  HARENA_GUEST_KERNEL=$(deploy/guest-kernel/unpack_kernel.sh "$PWD/build/guest-kernel") && export HARENA_GUEST_KERNEL ||
    echo "note: no kernel for virtual machines; tests that boot one skip and say so"
fi

step "build"
cmake --preset dev >/dev/null
cmake --build --preset dev

build=$PWD/build/dev
results=$build/test-results
rm -rf "$results" && mkdir -p "$results"

step "python"
venv=$build/venv
if [[ ! -x $venv/bin/pytest && ! -e $venv/ready ]]; then
  /usr/bin/python3 -m venv --system-site-packages "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements.txt ||
    echo "note: PyPI can't be reached; tests that need its packages skip and say so"
  touch "$venv/ready"
fi
step "E2B's SDKs"
tests/integration/e2b/setup.sh "$build" "$venv/bin/python"
step "MCP's SDK"
tests/integration/mcp/setup.sh "$build" "$venv/bin/python"

status=0
# A run in the background, without job control, inherits an ignored SIGINT, which shells in the tests couldn't trap.
pytest=(env --default-signal=INT,QUIT "HARENA_BUILD_DIR=$build" "HARENA_SOURCE_DIR=$PWD" "PYTHONPATH=$PWD/sdk/python"
  timeout --foreground 3600 "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider)
# The test VM's suite beside all others: much of it waits for the machine that it emulates.
"${pytest[@]}" --durations=10 --junitxml "$results/system.junit" tests/system >"$results/system.log" 2>&1 &
system=$!
trap 'kill "$system" 2>/dev/null || true' EXIT

step "ctest"
GTEST_OUTPUT="xml:$results/" ctest --test-dir "$build" --output-on-failure -j "$(nproc)" \
  --output-junit "$results/ctest.junit" || status=1

step "pytest"
"${pytest[@]}" --junitxml "$results/pytest.junit" --ignore tests/system --ignore tests/integration/e2b sdk/python/tests tests || status=1

# In a process of their own: E2B's SDK brings its own httpx, and others of its modules.
step "pytest: E2B's SDKs"
"${pytest[@]}" --junitxml "$results/e2b.junit" tests/integration/e2b || status=1

step "tests/system (ran beside the others)"
wait "$system" || status=1
cat "$results/system.log"

step "totals"
"$venv/bin/python" tests/totals.py "$results" || status=1
exit $status
