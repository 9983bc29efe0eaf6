"""The languages that this sandbox has kernels for, found as Jupyter finds them."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from .errors import Refused

ALIASES = {
    "python3": "python", "py": "python", "js": "javascript", "node": "javascript", "ts": "typescript", "sh": "bash", "shell": "bash",
}
# By the language that a kernel's spec names, in the order in which they are tried.
SPEC_LANGUAGES = {
    "javascript": ("javascript", "typescript"),  # what runs TypeScript runs JavaScript
    "typescript": ("typescript",),
    "bash": ("bash",),
    "r": ("r",),
    "java": ("java",),
}
PRESTARTED = "python"
LISTED = ("python", "javascript")  # whose default contexts exist from the start


# Deno says that it is idle from another thread than the one that publishes results: this goes behind them (kernel.py).
FENCE_MARK = "harena_fence"
DENO_FENCE = f"await Deno.jupyter.broadcast('{FENCE_MARK}', {{}})"


@dataclass
class Language:
    name: str
    spec: KernelSpec = field(repr=False)

    @property
    def fence(self):
        """Code that publishes FENCE_MARK, for kernels that need it; None for those that keep the order."""
        return DENO_FENCE if Path(self.spec.argv[0]).name == "deno" else None


def python_spec():
    """Our own launcher instead of the installed spec: it runs in the interpreter of this service."""
    return KernelSpec(
        argv=[sys.executable, "-P", "-Xfrozen_modules=off", "-m", "harena_interpreter.python_kernel", "-f", "{connection_file}"], display_name="Python", language="python",
        env={"PYDEVD_DISABLE_FILE_VALIDATION": "1"})


class Languages:
    def __init__(self, specs=None):
        """``specs``: kernel specs by name; the installed ones by default."""
        if specs is None:
            manager = KernelSpecManager()
            specs = {name: manager.get_kernel_spec(name) for name in sorted(manager.find_kernel_specs())}
        by_language = {}
        for spec in specs.values():
            by_language.setdefault(spec.language.lower(), spec)
        self.known = {"python": Language("python", python_spec())}
        for name, wanted in SPEC_LANGUAGES.items():
            spec = next((by_language[one] for one in wanted if one in by_language), None)
            if spec:
                self.known[name] = Language(name, spec)

    @property
    def names(self):
        return list(self.known)

    def find(self, name):
        """The language of a name or an alias, without regard to case; None is Python."""
        wanted = (name or PRESTARTED).strip().lower()
        wanted = ALIASES.get(wanted, wanted)
        if wanted not in self.known:
            raise Refused(400, f"language '{name}' has no kernel in this sandbox; there are: {', '.join(self.names)}")
        return self.known[wanted]
