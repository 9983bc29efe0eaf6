"""A context: a language, a folder and a kernel, in which executions run one after the other."""

import asyncio
import contextlib
import uuid
from datetime import datetime, timezone

from . import environment
from .errors import KernelFailed, Refused
from .kernel import Kernel
from .limits import INTERRUPT_GRACE_S, MAX_QUEUED, QUIET_CALL_S
from .output import Output
from .results import error_event


def now():
    return datetime.now(timezone.utc).isoformat()


class Execution:
    def __init__(self, code, variables):
        self.code, self.variables = code, variables
        self.output = Output()
        self.abandoned = False
        self.kernel = None


class Context:
    """``env()`` gives the environment of a new kernel. The kernel is started by the first execution, or by ``warm_up``."""

    def __init__(self, language, cwd, env):
        self.id = str(uuid.uuid4())
        self.language, self.cwd, self._env = language, cwd, env
        self._kernel = None
        self._starting = asyncio.Lock()
        self._queue = asyncio.Queue()
        self._current = None
        self._told = None  # what the next execution has to be told on its stderr
        self._closed = False
        self._worker = asyncio.ensure_future(self._work())
        self._background = set()

    def describe(self):
        return {"id": self.id, "language": self.language.name, "cwd": self.cwd}

    async def warm_up(self):
        """Starts the kernel if there is none. KernelFailed when it doesn't come up."""
        async with self._starting:
            if self._closed:
                raise KernelFailed("the context was removed")
            if self._kernel is None or not self._kernel.alive:
                if self._kernel:
                    await self._kernel.end()
                self._kernel = None
                self._kernel = await Kernel.start(self.language, self.cwd, self._env(), self._kernel_died)
            return self._kernel

    def submit(self, code, variables):
        """Queues an execution; its Output tells how it goes. Refused when too many wait, or its variables can't be set."""
        if self._queue.qsize() >= MAX_QUEUED:
            raise Refused(429, f"{MAX_QUEUED} executions wait in context {self.id}; wait for one of them, or use another context")
        if variables and not environment.of_language(self.language.name):
            raise Refused(400, f"env_vars can't be set in a running {self.language.name} kernel; set them when the sandbox is created")
        execution = Execution(code, variables)
        self._queue.put_nowait(execution)
        return execution

    async def abandon(self, execution):
        """Its reader has gone: what waits is dropped, what runs is interrupted, and a kernel that goes on all the same is replaced."""
        execution.abandoned = True
        execution.output.discard()
        if execution is self._current:
            self._spawn(self._interrupt(execution))

    async def interrupt(self):
        """Interrupts what runs; its reader hears of it as of any error. False: nothing runs."""
        if self._current is None:
            return False
        self._spawn(self._interrupt(self._current))
        return True

    async def set_variables(self, variables):
        """In the running kernel, after the executions that wait. New kernels get them from ``env``."""
        calls = environment.of_language(self.language.name)
        if variables and calls and self._kernel and self._kernel.alive:
            execution = Execution(calls.set_code(variables), {})
            execution.quiet = asyncio.get_running_loop().create_future()
            self._queue.put_nowait(execution)
            await execution.quiet

    async def restart(self):
        """A new kernel at once; what runs and what waits ends with an error that says so."""
        self._fail_waiting("the context was restarted")
        async with self._starting:
            old, self._kernel, self._told = self._kernel, None, None
            if old:
                old.replaced = "the context was restarted"
                await old.end()
        await self.warm_up()

    async def close(self):
        self._closed = True
        self._fail_waiting("the context was removed")
        async with self._starting:
            old, self._kernel = self._kernel, None
            if old:
                old.replaced = "the context was removed"
                await old.end()
        for task in (self._worker, *self._background):
            task.cancel()
        if self._current:
            self._current.output.end()

    def _spawn(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _fail_waiting(self, reason):
        while not self._queue.empty():
            execution = self._queue.get_nowait()
            execution.output.put(error_event("ExecutionAborted", reason))
            execution.output.end()
            self._settle_quiet(execution)

    @staticmethod
    def _settle_quiet(execution):
        quiet = getattr(execution, "quiet", None)
        if quiet and not quiet.done():
            quiet.set_result(None)

    def _kernel_died(self, kernel):
        if kernel is not self._kernel or self._closed:
            return
        heard = self._current is not None and self._current.kernel is kernel and not self._current.abandoned
        if not heard:
            self._told = f"{kernel.death()}; a new one was started, and what it had in memory is gone\n"
        self._spawn(self._replace_dead())

    async def _replace_dead(self):
        with contextlib.suppress(KernelFailed):  # the next execution tries again, and its caller hears why not
            await self.warm_up()

    async def _work(self):
        while True:
            execution = await self._queue.get()
            if execution.abandoned:
                continue
            self._current = execution
            try:
                await self._run(execution)
            except KernelFailed as problem:
                execution.output.put(error_event("KernelDied", self._last_words(execution, problem)))
            except Exception as problem:  # a context must outlive any surprise; the caller is told
                execution.output.put(error_event(type(problem).__name__, f"the code interpreter failed: {problem}"))
            finally:
                self._current = None
                execution.output.end()
                self._settle_quiet(execution)

    @staticmethod
    def _last_words(execution, problem):
        replaced = getattr(execution.kernel, "replaced", None)
        return replaced or f"{problem}; the next execution gets a new one, and what it had in memory is gone"

    async def _run(self, execution):
        kernel = execution.kernel = await self.warm_up()
        if hasattr(execution, "quiet"):
            return await self._quietly(kernel, execution.code)
        execution.output.bind(kernel.hold, kernel.go_on)
        if self._told:
            execution.output.put({"type": "stderr", "text": self._told, "timestamp": now()})
            self._told = None
        calls = environment.of_language(self.language.name)
        if execution.variables:
            await self._quietly(kernel, calls.push_code(execution.variables))
        if execution.abandoned:
            return
        try:
            await kernel.run(execution.code, execution.output.put)
        finally:
            execution.output.bind()
            if execution.variables and kernel.alive:
                await self._quietly(kernel, calls.pop_code(execution.variables))

    @staticmethod
    async def _quietly(kernel, code):
        try:
            await asyncio.wait_for(kernel.run(code, lambda event: None, silent=True), QUIET_CALL_S)
        except asyncio.TimeoutError:
            raise KernelFailed(f"the {kernel.language.name} kernel doesn't answer") from None

    async def _interrupt(self, execution):
        kernel = execution.kernel
        if kernel is None:
            return
        await kernel.interrupt()
        await asyncio.sleep(INTERRUPT_GRACE_S)
        if self._current is execution and kernel.alive:
            self._told = "the execution before didn't end when it was interrupted; its kernel was ended and a new one started\n"
            kernel.replaced = "it went on after an interrupt; its kernel was ended, and what it had in memory is gone"
            await kernel.end()
            await self._replace_dead()
