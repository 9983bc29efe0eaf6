"""How long `run_code` takes from the beginning of create, in a sandbox that was ready (docs/code-interpreter.md promises 1 s), and in one that wasn't.

    python -m pytest tests/integration/e2b/bench_run_code.py -s      in the environment of tests/run.sh
"""

import statistics
import time

from own_daemon import ready_members, until
from test_run_code import WARM, code_env, code_sdk, daemon, make  # noqa: F401

ROUNDS = 10


def measured(make, **options):  # noqa: F811
    began = time.monotonic()
    box = make(**options)
    created = time.monotonic()
    assert box.run_code("6 * 7").text == "42"
    ended = time.monotonic()
    box.kill()
    return created - began, ended - began


def test_run_code_from_create(daemon, make):  # noqa: F811
    rows = []
    for _ in range(ROUNDS):
        with daemon.client() as client:
            until(lambda: len(ready_members(client)) == WARM, "the pool isn't filled")
        rows.append(measured(make))
    with_variables = measured(make, envs={"MINE": "1"})
    cold = measured(make, headers={"Idempotency-Key": "cold"})  # such a create is never given a ready one
    told = [f"{statistics.median(one) * 1000:.0f} ms (worst {max(one) * 1000:.0f})" for one in zip(*rows)]
    print(f"\ncreate {told[0]}; create and run_code {told[1]}; with envs {with_variables[1] * 1000:.0f} ms; not warm: {cold[1] * 1000:.0f} ms")
    assert statistics.median([row[1] for row in rows]) < 1
