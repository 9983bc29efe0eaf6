"""E2B's control API with nothing between."""

import json
import urllib.error
import urllib.request


class Raw:
    """One request without an SDK: (status, headers, body as JSON or None)."""

    def __init__(self, env):
        self.url, self.key = env["E2B_API_URL"], env["E2B_API_KEY"]

    def __call__(self, method, path, body=None, key=True, headers=None):
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**({"X-API-KEY": self.key} if key is True else {"X-API-KEY": key} if key else {}), **(headers or {})}
        request = urllib.request.Request(self.url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, found, text = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refused:
            status, found, text = refused.code, refused.headers, refused.read()
        return status, found, json.loads(text) if text and "json" in found.get("Content-Type", "") else text or None


def kill_all(env):
    raw = Raw(env)
    for one in raw("GET", "/v2/sandboxes")[2]:
        raw("DELETE", "/sandboxes/" + one["sandboxID"])
