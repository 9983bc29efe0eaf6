"""What docs/http-api.md knows, and how the double says no."""

from __future__ import annotations

import base64
import re


TOKEN = "test-token"
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "cpu": {"type": "number", "exclusiveMinimum": 0},
        "memory": {"type": ["integer", "string"], "description": "bytes, or text such as 1GiB"},
        "pids": {"type": "integer", "minimum": 1},
        "readonly": {"type": "boolean"},
        "hosts": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
        "user": {"type": "string"},
    },
}
CREATE_KEYS = {
    "image", "workspaces", "toolkits", "project", "task", "labels", "idle_ttl_s", "idle_action", "lifetime_s", "lifetime_action",
    "lifetime_when_paused", "resume_on_use", "annotations", "params",
    "idempotency_key",
}
COMMAND_KEYS = {
    "argv", "shell", "env", "cwd", "user", "stdin", "stdin_data", "stdin_data_b64", "pty", "timeout_ms",
    "no_output_timeout_ms", "output_limit_bytes", "on_output_limit", "op", "on_disconnect", "wait", "trusted_tools",
}


class ApiError(Exception):
    def __init__(self, status, code, message, cause="none", retry="never", **details):
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message, "cause": cause, "retry": retry, "details": details}


class Drop(Exception):
    """Ends the connection without an answer."""


class Fault:
    """One planned failure: the ``times`` next requests that match are broken.

    ``when``: ``before`` (not acted on), ``after`` (acted on, the answer is lost), ``answer`` (``error`` is sent instead),
    ``middle`` (a streamed answer is cut after ``bytes`` bytes).
    """

    def __init__(self, method, pattern, when, times=1, error=None, bytes=0):
        self.method, self.pattern, self.when = method, re.compile(pattern), when
        self.times, self.error, self.bytes = times, error, bytes


def put(body, key, data):
    try:
        body[key] = data.decode()
    except UnicodeDecodeError:
        body[key + "_b64"] = base64.b64encode(data).decode()


def fits(value, kinds):
    types = {"number": (int, float), "integer": int, "string": str, "boolean": bool, "array": list, "object": dict}
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if isinstance(value, types[kind]) and (kind == "boolean") == isinstance(value, bool):
            return True
    return False


def check_keys(body, known, prefix=""):
    for key in body:
        if key not in known:
            raise ApiError(400, "invalid_argument", f"unknown key {prefix + key!r}; known: {', '.join(sorted(known))}")
