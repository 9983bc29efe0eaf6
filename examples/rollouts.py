"""Rollouts as a trainer makes them: one batch of sandboxes, a few steps in each, a reward, and bad agents told from bad machines.

    python3 examples/rollouts.py [COUNT]
"""

import asyncio
import sys
import time

import harena

TASK = "Write /root/answer.txt with the sum of the squares of the numbers from 1 to 100."
# What a model would have said: two good agents, one wrong, one that never ends, one that eats memory.
AGENTS = [
    "python3 -c 'print(sum(n*n for n in range(1, 101)))' > /root/answer.txt",
    "seq 1 100 | awk '{s += $1*$1} END {print s}' > /root/answer.txt",
    "echo 42 > /root/answer.txt",
    "while :; do :; done",
    "python3 -c 'x = bytearray(2**31); print(len(x))'",
]


async def rollout(sandbox, number):
    """The reward, and a word on how it came about."""
    try:
        async with sandbox:
            step = await sandbox.run_shell(AGENTS[number % len(AGENTS)], timeout=5)
            if not step.ok:
                return 0.0, f"agent: {step.exit.describe()}"
            # The same op never runs twice, whatever happens to the connection.
            check = await sandbox.run(["cat", "/root/answer.txt"], op=f"check-{number}")
            return (1.0, "right") if check.stdout.strip() == "338350" else (0.0, f"wrong: {check.stdout.strip()!r}")
    except harena.InfrastructureError as error:
        return None, f"machine: {error}"  # no reward: this rollout is to be made again


async def main(count):
    begun = time.monotonic()
    args = harena.ContainerArgs(image="root/base:v1", cpu=1, memory="512MiB", task="rollouts-example", idle_ttl_s=120)
    async with harena.AsyncClient() as client:
        running = []
        try:
            async for sandbox in client.create_batch(args, count=count):
                running.append(asyncio.ensure_future(rollout(sandbox, len(running))))  # begins while others are being made
        except harena.BatchFailed as failed:
            print(failed)  # those that were made go on
        results = await asyncio.gather(*running)
    for number, (reward, why) in enumerate(results):
        print(f"{number:3}  reward {reward}  {why}")
    print(f"{len(results)} rollouts of {TASK!r} in {time.monotonic() - begun:.1f} s")


asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
