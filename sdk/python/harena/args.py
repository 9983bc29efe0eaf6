"""What a sandbox is created with: one class a backend, since backends are different things on purpose.

Fields that are None aren't sent: the server's defaults hold. ``params`` takes what a newer server knows and this
class doesn't; a backend that isn't here at all is ``BackendArgs("its-name", params={...})``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Dict, List, Optional, Tuple, Union

#: Bytes, or a text such as ``"512MiB"``.
Size = Union[int, str]


def _param(doc: str) -> Any:
    return field(default=None, metadata={"param": True, "doc": doc})


@dataclass
class SandboxArgs:
    """What all backends share."""

    backend: ClassVar[str] = ""

    image: Optional[str] = None
    workspaces: List[str] = field(default_factory=list)
    toolkits: List[str] = field(default_factory=list)
    project: Optional[str] = None
    task: Optional[str] = None
    labels: Dict[str, str] = field(default_factory=dict)
    #: Seconds without an operation after which ``idle_action`` happens; 0 never. The server's default: 300.
    idle_ttl_s: Optional[int] = None
    #: ``stop`` or ``pause``
    idle_action: Optional[str] = None
    #: Seconds after which it ends in any case; 0 for no end.
    lifetime_s: Optional[int] = None
    #: What that end does: ``stop`` or ``pause``
    lifetime_action: Optional[str] = None
    #: ``counts``, or ``restarts``: no end while it is paused, and ``lifetime_s`` anew with the resume
    lifetime_when_paused: Optional[str] = None
    #: False: only ``resume`` ends a pause, no command or file does.
    resume_on_use: Optional[bool] = None
    #: Texts that are only kept, 64 KiB together.
    annotations: Dict[str, str] = field(default_factory=dict)
    #: Parameters of the backend that have no field here.
    params: Dict[str, Any] = field(default_factory=dict)
    #: A snapshot's id or name, in place of images; what isn't given is as in the sandbox that it was taken of.
    snapshot: Optional[str] = None

    def backend_name(self) -> str:
        return self.backend

    def body(self) -> Dict[str, Any]:
        """The request's body, as in docs/http-api.md."""
        body: Dict[str, Any] = {}
        params = dict(self.params)
        for name, value, is_param in self._given():
            (params if is_param else body)[name] = value
        if params:
            body["params"] = params
        return body

    def _given(self) -> List[Tuple[str, Any, bool]]:
        found = []
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.name in ("params", "name") or value is None or value == [] or value == {}:
                continue
            found.append((spec.name, value, bool(spec.metadata.get("param"))))
        return found


@dataclass
class ContainerArgs(SandboxArgs):
    backend: ClassVar[str] = "container"

    cpu: Optional[float] = _param("cores, also parts of one")
    cpu_weight: Optional[int] = _param("share among sandboxes that compete for the CPU, 1 to 10000; 100 for each core of cpu if not given")
    cpuset: Optional[str] = _param("CPUs that it may run on, such as 0-1,3")
    cpu_idle: Optional[bool] = _param("runs only when nobody else wants the CPU")
    memory: Optional[Size] = _param("memory limit")
    memory_high: Optional[Size] = _param("above it the sandbox is slowed; on cgroup v1 a soft limit")
    swap: Optional[Size] = _param("swap beside the memory, none by default")
    pids: Optional[int] = _param("processes and threads at once")
    disk: Optional[Size] = _param("what it may write outside of memory file systems")
    inodes: Optional[int] = _param("files and folders on the disk; needs disk")
    io_weight: Optional[int] = _param("share of the host's disk, 1 to 10000")
    io_read_bps: Optional[Size] = _param("bytes a second read from the host's disk")
    io_write_bps: Optional[Size] = _param("bytes a second written to the host's disk")
    io_read_iops: Optional[int] = _param("reads a second")
    io_write_iops: Optional[int] = _param("writes a second")
    open_files: Optional[int] = _param("open files of one process")
    core_size: Optional[Size] = _param("size of a core file, none by default")
    file_size: Optional[Size] = _param("size of one file that a command writes")
    shm: Optional[Size] = _param("size of /dev/shm, charged to memory")
    tmpfs: Optional[Dict[str, Size]] = _param("path to size of memory file systems, charged to memory")
    hostname: Optional[str] = _param("the sandbox's id when not given")
    env: Optional[Dict[str, str]] = _param("environment of every command")
    user: Optional[str] = _param("user of commands that name none")
    readonly_rootfs: Optional[bool] = _param("nothing but memory file systems can be written")


@dataclass
class MicroVMArgs(SandboxArgs):
    backend: ClassVar[str] = "microvm"

    cpu: Optional[float] = _param("cores, also parts of one; as many virtual CPUs, rounded up")
    memory: Optional[Size] = _param("RAM of the machine, 512 MiB when not given")
    disk: Optional[Size] = _param("size of the writable disk, 4 GiB when not given")
    pids: Optional[int] = _param("processes and threads at once")
    open_files: Optional[int] = _param("open files of one process")
    hostname: Optional[str] = _param("the sandbox's id when not given")
    env: Optional[Dict[str, str]] = _param("environment of every command")
    user: Optional[str] = _param("user of commands that name none")
    readonly_rootfs: Optional[bool] = _param("the root file system can't be written")


@dataclass
class QemuArgs(SandboxArgs):
    backend: ClassVar[str] = "qemu"

    cpu: Optional[float] = _param("cores, also parts of one; as many virtual CPUs, rounded up")
    memory: Optional[Size] = _param("RAM of the machine, 1 GiB when not given")
    cpu_max: Optional[int] = _param("the most that cpu may become while it runs; cpu when not given")
    memory_max: Optional[Size] = _param("the most that memory may become while it runs; memory when not given")
    firmware: Optional[str] = _param("bios or uefi")
    disks: Optional[List[Dict[str, Any]]] = _param("1 to 8 of image, format (qcow2, raw) and size; the first is booted")
    iso: Optional[str] = _param("a CD-ROM, booted before the disks")
    kernel: Optional[str] = _param("booted in place of what is on the disk")
    initramfs: Optional[str] = _param("with kernel")
    command_line: Optional[str] = _param("with kernel")
    display: Optional[bool] = _param("virtio-gpu, USB tablet and VNC; true when not given")
    cloud_init: Optional[Dict[str, str]] = _param("a NoCloud seed: user_data, meta_data, network_config")


@dataclass
class FnCallArgs(SandboxArgs):
    backend: ClassVar[str] = "fncall"

    cpu: Optional[float] = _param("CPUs of the worker")
    memory: Optional[Size] = _param("memory of the worker")


@dataclass
class BackendArgs(SandboxArgs):
    """Any backend by its name: ``BackendArgs("acme-wasm", params={"fuel": 10**9}, image="root/tools:v1")``."""

    name: str = ""

    def __init__(self, name: str, params: Optional[Dict[str, Any]] = None, **common: Any) -> None:
        super().__init__(params=dict(params or {}), **common)
        if not name:
            raise ValueError("BackendArgs needs the backend's name, as in GET /v1/backends")
        self.name = name

    def backend_name(self) -> str:
        return self.name
