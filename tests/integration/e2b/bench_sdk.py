"""What E2B's JavaScript SDK costs, measured: bench/run.sh e2b runs it (no test by its name). BENCH_CASES="run files" picks some."""

import os
import subprocess

from e2b_paths import NODE_MODULES
from python_image import SOURCE


def test_bench(e2b_env, harenad):
    env = dict(os.environ, NODE_PATH=str(NODE_MODULES), HARENA_URL=harenad.url, HARENA_TOKEN=harenad.token, HARENAD_PID=str(harenad.process.pid), **e2b_env)
    subprocess.run(["node", str(SOURCE / "bench" / "e2b" / "sdk_bench.cjs"), *os.environ.get("BENCH_CASES", "").split()], env=env, check=True)
