"""The code interpreter of a sandbox: HTTP on port 49999 in front of Jupyter kernels. docs/code-interpreter.md is its manual.

    python3 -m harena_interpreter            what an image's start command runs

Rooms: ``app`` (HTTP) -> ``contexts`` -> ``context`` (a queue of executions) -> ``kernel`` (one Jupyter kernel) ; ``languages`` and
``environment`` know what differs between kernels; ``python_kernel`` and ``charts`` run inside the Python kernel.
"""
