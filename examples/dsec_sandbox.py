"""The other published style: the backend by its name, `async with`, and a fork where the backend has it.

    python3 examples/dsec_sandbox.py [BACKEND]
"""

import asyncio
import sys

from harena import DSecClient, DSecRunArgs, Unimplemented


async def main(backend):
    async with DSecClient() as client:
        args = DSecRunArgs(backend=backend, image="root/base:v1")
        sb = await client.run_sandbox(args)
        result = await sb.run_shell("python3 -c 'print(6*7)'")
        print(result.stdout, end="")
        try:
            children = await sb.fork(count=2)
        except Unimplemented as error:
            print(f"no fork: {error}")
        else:
            for child in children:
                print((await child.run_shell("hostname")).stdout, end="")
                await child.stop()
        await sb.stop()


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "container"))
