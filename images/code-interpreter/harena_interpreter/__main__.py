"""python3 -m harena_interpreter [--host ADDRESS] [--port N] [--home FOLDER]"""

import argparse
import asyncio
import os
import sys
import tempfile

import uvicorn

from .app import App
from .contexts import Contexts
from .errors import KernelFailed
from .languages import Languages


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="harena_interpreter", description="Runs code in Jupyter kernels for clients of port 49999.")
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=49999, help="port; 0 takes any free one and prints it (%(default)s)")
    parser.add_argument("--home", default="/home/user", help="folder of contexts that name none (%(default)s)")
    return parser.parse_args(arguments)


class Server(uvicorn.Server):
    """Prints where it listens, which tests wait for. A signal ends it without waiting for streams, which may be open for ever."""

    def handle_exit(self, sig, frame):
        self.force_exit = True
        super().handle_exit(sig, frame)

    async def startup(self, sockets=None):
        await super().startup(sockets=sockets)
        if self.servers:
            print("listening on port", self.servers[0].sockets[0].getsockname()[1], flush=True)


async def serve(options):
    contexts = Contexts(Languages(), home=options.home)
    config = uvicorn.Config(
        App(contexts), host=options.host, port=options.port, loop="asyncio", http="h11", ws="none", lifespan="off", log_level="warning",
        access_log=False, timeout_keep_alive=75)
    server = Server(config)
    serving = asyncio.ensure_future(server.serve())
    try:
        await contexts.start()
    except KernelFailed as problem:
        print(f"error: {problem}", file=sys.stderr, flush=True)
        server.should_exit = True
        await serving
        return 1
    await serving
    await contexts.close()
    return 0


def main(arguments=None):
    options = parsed(arguments)
    with tempfile.TemporaryDirectory(prefix="harena-interpreter-") as folder:
        os.environ["JUPYTER_RUNTIME_DIR"] = folder  # connection files with their keys: for this user alone
        return asyncio.run(serve(options))


if __name__ == "__main__":
    sys.exit(main())
