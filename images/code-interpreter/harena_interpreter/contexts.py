"""All contexts of this sandbox, and the environment that their kernels begin with."""

import asyncio
import contextlib
import os
from pathlib import Path

from . import environment
from .context import Context
from .errors import KernelFailed, Refused
from .languages import LISTED, PRESTARTED
from .limits import MAX_CONTEXTS


class Contexts:
    def __init__(self, languages, home="/home/user", base_env=None):
        """``home``: the folder of contexts that name none; "/" where it isn't there."""
        self.languages = languages
        self.home = home if Path(home).is_dir() else "/"
        self._env = dict(os.environ if base_env is None else base_env)
        self._all = {}
        self._defaults = {}
        self.ready = False

    async def start(self):
        """The default contexts; Python's kernel runs when this returns. KernelFailed when it doesn't."""
        for name in LISTED:
            if name in self.languages.known:
                self.default(name)
        await self.default(PRESTARTED).warm_up()
        self.ready = True

    async def close(self):
        self.ready = False
        await asyncio.gather(*(one.close() for one in self._all.values()), return_exceptions=True)
        self._all.clear()

    def list(self):
        return list(self._all.values())

    def default(self, language=None):
        found = self.languages.find(language)
        if found.name not in self._defaults:
            self._defaults[found.name] = self._add(found, self.home)
        return self._defaults[found.name]

    def find(self, context_id):
        if context_id in ("default", *self.languages.known):  # names that clients of old use
            return self.default(None if context_id == "default" else context_id)
        if context_id not in self._all:
            raise Refused(404, f"Context {context_id} not found")
        return self._all[context_id]

    async def create(self, language, cwd):
        """With its kernel running."""
        found = self.languages.find(language)
        folder = self.home if cwd is None else cwd
        if not os.path.isabs(folder):
            raise Refused(400, f"cwd is '{folder}'; an absolute path is right")
        if not os.path.isdir(folder):
            raise Refused(400, f"cwd is '{folder}', which isn't a folder in this sandbox")
        made = self._add(found, folder)
        try:
            await made.warm_up()
        except (KernelFailed, asyncio.CancelledError):
            await self.remove(made.id)
            raise
        return made

    async def remove(self, context_id):
        context = self.find(context_id)
        del self._all[context.id]
        self._defaults = {name: one for name, one in self._defaults.items() if one is not context}
        await context.close()

    async def set_variables(self, variables):
        """For kernels to come and, once their executions are through, for those that run."""
        self._env.update(variables)
        with contextlib.suppress(KernelFailed):
            await asyncio.gather(*(one.set_variables(variables) for one in self._all.values()))

    def _add(self, language, cwd):
        if len(self._all) >= MAX_CONTEXTS:
            raise Refused(429, f"there are {MAX_CONTEXTS} contexts, as many as may be; remove one that isn't needed any more")
        made = Context(language, cwd, lambda: dict(self._env))
        self._all[made.id] = made
        return made
