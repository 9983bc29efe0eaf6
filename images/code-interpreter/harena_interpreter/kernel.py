"""One Jupyter kernel: its process, its channels, and the one execution that runs in it."""

import asyncio
import os
import signal

from jupyter_client import AsyncKernelManager

from .errors import KernelFailed
from .languages import FENCE_MARK
from .limits import FENCE_S, KERNEL_START_S, LATE_REPLY_S, MESSAGES_AHEAD
from .process_watch import ProcessWatch
from .results import event_of

# The kernel goes before this service when the sandbox's memory is full.
OOM_SCORE = "500"


class Run:
    """One execution inside the kernel: ``on_event`` gets its events; ``done`` becomes true at its regular end."""

    def __init__(self, on_event):
        self.on_event = on_event
        self.done = asyncio.get_running_loop().create_future()
        self.marked = asyncio.get_running_loop().create_future()
        self.replied = self.idle = False

    def check(self):
        if self.replied and self.idle:
            self.finish()

    def finish(self):
        if not self.done.done():
            self.done.set_result(True)


class Kernel:
    """Made by ``start``; of no use after ``end`` or after its process has ended. For one event loop."""

    def __init__(self, language, cwd, env, on_death):
        self.language = language
        self._on_death = on_death
        self._manager = AsyncKernelManager()
        self._manager._kernel_spec = language.spec  # not by name: Python's own spec isn't installed anywhere
        self._cwd, self._env = cwd, env
        self._client = self._watch = None
        self._tasks = []
        self._runs = {}
        self._pid = None
        self.alive = False
        self.ended_by = None

    @classmethod
    async def start(cls, language, cwd, env, on_death):
        """``on_death(kernel)`` is called when the process ends without having been told to. KernelFailed says why it didn't start."""
        kernel = cls(language, cwd, env, on_death)
        try:
            await kernel._start()
        except (Exception, asyncio.CancelledError) as problem:
            await kernel.end()
            if isinstance(problem, asyncio.CancelledError):
                raise
            raise KernelFailed(f"the {language.name} kernel didn't start: {problem or type(problem).__name__}") from problem
        return kernel

    async def _start(self):
        await self._manager.start_kernel(cwd=self._cwd, env=self._env)
        self._pid = self._manager.provisioner.process.pid
        self._spare_service()
        self.alive = True
        self._watch = ProcessWatch(self._pid, self._died)
        self._client = self._manager.client()
        # What a kernel publishes is taken at once and bounded here (output.py). The Python kernel waits when the way there is full; others
        # would drop, so for them it is wide.
        self._client.context.rcvhwm = MESSAGES_AHEAD if self.language.name == "python" else 0
        self._client.start_channels(shell=True, iopub=True, stdin=False, hb=False, control=True)
        await self._client.wait_for_ready(timeout=KERNEL_START_S)
        self._tasks = [asyncio.ensure_future(self._read_iopub()), asyncio.ensure_future(self._read_shell())]

    def _spare_service(self):
        try:
            with open(f"/proc/{self._pid}/oom_score_adj", "w") as file:
                file.write(OOM_SCORE)
        except OSError:
            pass  # it has ended, which is seen elsewhere, or this sandbox has no such file

    async def run(self, code, on_event, silent=False):
        """Runs ``code`` to its end. KernelFailed when the kernel ended before it did. One at a time."""
        if not self.alive:
            raise KernelFailed(self.death())
        run = Run(on_event)
        message = self._client.execute(code, silent=silent, store_history=not silent, allow_stdin=False, stop_on_error=False)
        self._runs[message] = run
        try:
            await run.done
            if self.language.fence and not silent:
                await self._pass_fence()
        finally:
            self._runs.pop(message, None)

    async def _pass_fence(self):
        """For a kernel that may say it is idle before all that it published is out: asks it to publish a mark, and waits for that."""
        fence = Run(lambda event: None)
        message = self._client.execute(self.language.fence, silent=True, store_history=False, allow_stdin=False, stop_on_error=False)
        self._runs[message] = fence
        try:
            await fence.done
            if not fence.marked.done():
                await asyncio.wait({fence.marked}, timeout=FENCE_S)
        finally:
            self._runs.pop(message, None)

    async def interrupt(self):
        if self.alive:
            await self._manager.interrupt_kernel()

    def hold(self):
        self._signal(signal.SIGSTOP)

    def go_on(self):
        self._signal(signal.SIGCONT)

    def death(self):
        """Why it isn't there, in a sentence."""
        code = self.ended_by
        if code is None:
            how = "has ended"
        elif code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            how = f"was ended by signal {-code} ({name})" + (", perhaps for want of memory" if -code == signal.SIGKILL else "")
        else:
            how = f"has ended with exit status {code}"
        return f"the {self.language.name} kernel {how}"

    async def end(self):
        """Ends the process with all of its group. May be called again."""
        self.alive = False
        if self._watch:
            self._watch.close()
        for task in self._tasks:
            task.cancel()
        if self._client:
            self._client.stop_channels()
            self._client = None
        self._signal(signal.SIGKILL)
        if self._manager.has_kernel:
            await self._manager.shutdown_kernel(now=True)
        self._fail_runs()

    def _signal(self, number):
        if self._pid is None:
            return
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def _died(self):
        self.alive = False
        process = self._manager.provisioner.process if self._manager.provisioner else None
        self.ended_by = process.poll() if process else None
        # What it said before its end may still be on the way.
        asyncio.get_running_loop().call_later(0.2, self._fail_runs)
        self._on_death(self)

    def _fail_runs(self):
        for run in self._runs.values():
            if not run.done.done():
                run.done.set_exception(KernelFailed(self.death()))

    async def _read_iopub(self):
        while True:
            message = await self._client.iopub_channel.get_msg()
            run = self._runs.get(message["parent_header"].get("msg_id"))
            if run is None:
                continue
            kind = message["header"]["msg_type"]
            if kind == FENCE_MARK and not run.marked.done():
                run.marked.set_result(True)
            elif kind == "status" and message["content"].get("execution_state") == "idle":
                run.idle = True
                run.check()
                # A kernel that is idle and never replies, since it couldn't put its reply together, has ended all the same.
                asyncio.get_running_loop().call_later(LATE_REPLY_S, run.finish)
            elif event := event_of(message):
                run.on_event(event)

    async def _read_shell(self):
        while True:
            message = await self._client.shell_channel.get_msg()
            run = self._runs.get(message["parent_header"].get("msg_id"))
            if run and message["header"]["msg_type"] == "execute_reply":
                run.replied = True
                run.check()
