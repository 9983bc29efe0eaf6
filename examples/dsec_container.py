"""The minimal session of the published DSec design (its Listing 1), with another import and another image name.

`network_rules` that open something are refused until networks are there, so `pypi` is False here.

    python3 examples/dsec_container.py
"""

import asyncio

from harena import DSecClient, DSecContainerRunArgs


async def main():
    client = DSecClient()
    await client.open()
    args = DSecContainerRunArgs(
        container_image="root/base:v1",
        memory_limit_mb=4096, cpu_cores_limit=4,
        ttl_running_stop=300,   # idle timeout
        network_rules={"npm": False, "pypi": False},
        init_user="root",
    )
    sandbox = await client.run_container(args, timeout=120)
    result = await sandbox.run_shell("echo hello world")
    print(result.stdout, end="")
    await sandbox.stop()
    await client.close()


asyncio.run(main())
