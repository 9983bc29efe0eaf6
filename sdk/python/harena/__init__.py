"""Harena: sandboxes for agents and for code that nobody vouches for.

    from harena import Client, ContainerArgs

    with Client() as client, client.create(ContainerArgs(image="root/base:v1", cpu=2, memory="1GiB")) as sandbox:
        print(sandbox.run("python3 -c 'print(6*7)'").stdout)

``AsyncClient`` is the same with ``await``. ``DSecClient`` has the names of the published DSec design.
"""

from ._async._client import AsyncBatchItem, AsyncClient
from ._async._commands import AsyncCommand, AsyncCommands
from ._async._files import AsyncFiles
from ._async._images import AsyncImages
from ._async._ports import AsyncPorts, AsyncTcpStream
from ._async._sandbox import AsyncSandbox
from ._async._snapshots import AsyncSnapshots
from ._sync._client import BatchItem, Client
from ._sync._commands import Command, Commands
from ._sync._files import Files
from ._sync._images import Images
from ._sync._ports import Ports, TcpStream
from ._sync._sandbox import Sandbox
from ._sync._snapshots import Snapshots
from ._version import __version__
from .args import BackendArgs, ContainerArgs, FnCallArgs, MicroVMArgs, QemuArgs, SandboxArgs
from .dsec import DSecClient, DSecContainerRunArgs, DSecRunArgs
from .errors import (
    Aborted,
    AgentError,
    AlreadyExists,
    BatchFailed,
    Cancelled,
    CommandError,
    CommandFailed,
    CommandLimit,
    CommandLost,
    CommandNoOutputTimeout,
    CommandTimeout,
    ConnectError,
    ConnectionLost,
    ConnectTimeout,
    DataLoss,
    DeadlineExceeded,
    FailedPrecondition,
    HarenaError,
    InfrastructureError,
    InternalError,
    InvalidArgument,
    LimitError,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ReadTimeout,
    ResourceExhausted,
    TransportError,
    Unauthenticated,
    Unavailable,
    Unimplemented,
    UnknownError,
    WriteTimeout,
)
from .types import (
    BackendInfo,
    CommandInfo,
    CommandResult,
    Ending,
    ExitStatus,
    FileEvent,
    FileStat,
    ImageInfo,
    OutputChunk,
    Progress,
    RetryPolicy,
    SandboxInfo,
    SnapshotInfo,
    Timeouts,
)

__all__ = [name for name in globals() if not name.startswith("_") and name not in ("args", "dsec", "errors", "types")] + [
    "__version__"
]
