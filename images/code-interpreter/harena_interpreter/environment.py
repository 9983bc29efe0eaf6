"""Environment variables inside a running kernel, in each kernel's own language.

``set_code`` sets them for good. ``push_code`` sets them and remembers what was there, ``pop_code`` puts that back. They run silently:
no history, no count, no names among the caller's variables but one with a leading underscore where the language has no better place.
"""

import json
import re

from .errors import Refused

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def checked(variables, field="env_vars"):
    """``variables`` as a dict of texts, or Refused that names the first bad one. None is none."""
    if variables is None:
        return {}
    if not isinstance(variables, dict):
        raise Refused(400, f"{field} is {json.dumps(variables)[:100]}; an object of texts is right")
    for name, value in variables.items():
        if not NAME.match(name):
            raise Refused(400, f"{field} has the name '{name[:100]}'; letters, digits and '_' are right, and no digit at the beginning")
        if not isinstance(value, str):
            raise Refused(400, f"{field}.{name} is {json.dumps(value)[:100]}; a text is right")
        if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
            raise Refused(400, f"{field}.{name} has a character that no variable can hold: zero, or half of a surrogate pair")
    return dict(variables)


def text_literal(value):
    """Valid in JavaScript and in R."""
    return json.dumps(value, ensure_ascii=False)


BASH_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "'": "\\'", "\\": "\\\\"}


def bash_literal(value):
    """In one line, whatever it holds: the kernel gives Bash line after line."""
    escaped = (BASH_ESCAPES.get(one) or (f"\\x{ord(one):02x}" if ord(one) < 32 or ord(one) == 127 else one) for one in value)
    return "$'" + "".join(escaped) + "'"


class Python:
    MODULE = "__import__('harena_interpreter.variables', fromlist=['_'])"

    def set_code(self, variables):
        return f"{self.MODULE}.put({variables!r})"

    def push_code(self, variables):
        return f"{self.MODULE}.push({variables!r})"

    def pop_code(self, variables):
        return f"{self.MODULE}.pop()"


class JavaScript:
    """Deno's kernel or one that runs in Node."""

    ENV = ("const env = globalThis.Deno ? {get: n => Deno.env.get(n), set: (n, v) => Deno.env.set(n, v), drop: n => Deno.env.delete(n)}"
           " : {get: n => process.env[n], set: (n, v) => { process.env[n] = v; }, drop: n => { delete process.env[n]; }};")
    KEY = "Symbol.for('harena.variables')"

    def set_code(self, variables):
        return f"(() => {{ {self.ENV} for (const [n, v] of Object.entries({text_literal(variables)})) env.set(n, v); }})()"

    def push_code(self, variables):
        return (f"(() => {{ {self.ENV} const wanted = {text_literal(variables)}; "
                f"globalThis[{self.KEY}] = Object.keys(wanted).map(n => [n, env.get(n)]); "
                "for (const [n, v] of Object.entries(wanted)) env.set(n, v); })()")

    def pop_code(self, variables):
        return (f"(() => {{ {self.ENV} for (const [n, v] of globalThis[{self.KEY}] ?? []) "
                f"{{ if (v === undefined) env.drop(n); else env.set(n, v); }} delete globalThis[{self.KEY}]; }})()")


class Bash:
    def set_code(self, variables):
        return "; ".join(f"export {name}={bash_literal(value)}" for name, value in variables.items())

    def push_code(self, variables):
        save = "; ".join(
            f"if [[ -v {name} ]]; then _harena_{name}=${name}; else unset _harena_{name}; fi" for name in variables)
        return save + "; " + self.set_code(variables)

    def pop_code(self, variables):
        return "; ".join(
            f"if [[ -v _harena_{name} ]]; then export {name}=$_harena_{name}; else unset {name}; fi; unset _harena_{name}" for name in variables)


class R:
    def arguments(self, variables):
        return ", ".join(f"{name} = {text_literal(value)}" for name, value in variables.items())

    def set_code(self, variables):
        return f"invisible(Sys.setenv({self.arguments(variables)}))"

    def push_code(self, variables):
        names = ", ".join(text_literal(name) for name in variables)
        return f"options(harena.variables = Sys.getenv(c({names}), unset = NA, names = TRUE)); {self.set_code(variables)}"

    def pop_code(self, variables):
        return ("local({ old <- getOption('harena.variables'); for (n in names(old)) "
                "if (is.na(old[[n]])) Sys.unsetenv(n) else do.call(Sys.setenv, as.list(old[n])); options(harena.variables = NULL) })")


OF_LANGUAGE = {"python": Python(), "javascript": JavaScript(), "typescript": JavaScript(), "bash": Bash(), "r": R()}


def of_language(name):
    """None: variables of a running kernel of that language can't be set."""
    return OF_LANGUAGE.get(name)
