"""The names of the published DSec design, so that its examples run with another import and another image name.

In the paper everything on the client is awaited, so ``DSecClient`` is asynchronous, in both styles: ``await
client.open()`` with ``await client.close()``, or ``async with DSecClient() as client``. For code without ``await`` there
is ``harena.Client``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Union

from ._async._client import AsyncClient
from ._async._sandbox import AsyncSandbox
from .args import BackendArgs, ContainerArgs, SandboxArgs, Size
from .errors import FailedPrecondition, InvalidArgument, Unimplemented

_MIB = 1024 * 1024


@dataclass
class DSecContainerRunArgs:
    """A container, in the paper's words."""

    container_image: str
    memory_limit_mb: Optional[int] = None
    cpu_cores_limit: Optional[float] = None
    #: Seconds without an operation after which the sandbox is stopped; 0 never.
    ttl_running_stop: Optional[int] = None
    #: Name of a destination (``"pypi"``) -> open or not. All False, or none, until networks are there.
    network_rules: Optional[Mapping[str, bool]] = None
    #: Whom commands run as when a call doesn't say.
    init_user: Optional[str] = None
    project: Optional[str] = None
    labels: Dict[str, str] = field(default_factory=dict)

    def to_args(self) -> ContainerArgs:
        refuse_open_network(self.network_rules)
        return ContainerArgs(
            image=self.container_image,
            memory=None if self.memory_limit_mb is None else _positive(self.memory_limit_mb, "memory_limit_mb") * _MIB,
            cpu=None if self.cpu_cores_limit is None else _positive(self.cpu_cores_limit, "cpu_cores_limit"),
            user=self.init_user,
            idle_ttl_s=self.ttl_running_stop,
            project=self.project,
            labels=dict(self.labels),
        )


@dataclass
class DSecRunArgs:
    """Any backend by its name."""

    backend: str
    image: Optional[str] = None
    memory_limit_mb: Optional[int] = None
    cpu_cores_limit: Optional[float] = None
    ttl_running_stop: Optional[int] = None
    network_rules: Optional[Mapping[str, bool]] = None
    init_user: Optional[str] = None
    project: Optional[str] = None
    labels: Dict[str, str] = field(default_factory=dict)
    params: Dict[str, Any] = field(default_factory=dict)

    def to_args(self) -> BackendArgs:
        refuse_open_network(self.network_rules)
        params = dict(self.params)
        if self.memory_limit_mb is not None:
            params["memory"] = _positive(self.memory_limit_mb, "memory_limit_mb") * _MIB
        if self.cpu_cores_limit is not None:
            params["cpu"] = _positive(self.cpu_cores_limit, "cpu_cores_limit")
        return BackendArgs(
            self.backend, params, image=self.image, idle_ttl_s=self.ttl_running_stop, project=self.project,
            labels=dict(self.labels))


class DSecClient:
    """``DSecClient(url=..., token=...)``; both are found as by ``AsyncClient`` when left out."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, **options: Any) -> None:
        self._url, self._token, self._options = url, token, options
        self._client: Optional[AsyncClient] = None

    async def open(self) -> "DSecClient":
        """Connects, and checks the token by asking who it belongs to. Calling it twice does nothing more."""
        if self._client is None:
            client = AsyncClient(self._url, self._token, **self._options)
            try:
                await client.whoami()
            except BaseException:
                await client.aclose()
                raise
            self._client = client
        return self

    async def close(self) -> None:
        """The sandboxes stay; stop them, or let their TTL."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def __aenter__(self) -> "DSecClient":
        return await self.open()

    async def __aexit__(self, *exc: Any) -> None:
        await self.close()

    @property
    def client(self) -> AsyncClient:
        """The client of Harena's own API beneath."""
        if self._client is None:
            raise FailedPrecondition("the client isn't open: await client.open() first, or use 'async with DSecClient()'")
        return self._client

    async def run_container(self, args: DSecContainerRunArgs, timeout: Optional[float] = None) -> AsyncSandbox:
        """Makes a container and returns when it runs, within ``timeout`` seconds."""
        return await self._run(args, timeout)

    async def run_sandbox(self, args: Union[DSecRunArgs, DSecContainerRunArgs], timeout: Optional[float] = None) -> AsyncSandbox:
        """Makes a sandbox of the backend that ``args`` names."""
        return await self._run(args, timeout)

    async def _run(self, args: Union[DSecRunArgs, DSecContainerRunArgs], timeout: Optional[float]) -> AsyncSandbox:
        wanted: SandboxArgs = args.to_args()
        return await self.client.create(wanted, timeout=timeout, default_user=args.init_user)


def refuse_open_network(rules: Optional[Mapping[str, bool]]) -> None:
    for name, value in (rules or {}).items():
        if not isinstance(value, bool):
            raise InvalidArgument(f"network_rules[{name!r}] is {value!r}; True opens the destination, False keeps it closed")
        if value:
            raise Unimplemented(
                f"network_rules[{name!r}]=True would open the network, which this version can't: a sandbox reaches only"
                " its own loopback. Set it to False or leave it out")


def _positive(value: Any, name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise InvalidArgument(f"{name}={value!r}: it is a number above 0")
    return value
