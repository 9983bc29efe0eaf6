"""Where the server is and who asks: arguments, then the environment, then this machine's own installation."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import Mapping, Optional
from urllib.parse import urlsplit

from .errors import Unauthenticated

DEFAULT_URL = "http://127.0.0.1:7300"
ADMIN_TOKEN_FILE = "/var/lib/harena/admin.token"


@dataclass(frozen=True)
class Config:
    #: with ``/v1``, without a slash at its end
    base_url: str
    token: str

    @property
    def loopback(self) -> bool:
        return is_loopback(self.base_url)


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def discover(
    url: Optional[str],
    token: Optional[str],
    environ: Optional[Mapping[str, str]] = None,
    token_file: str = ADMIN_TOKEN_FILE,
) -> Config:
    """``url=``/``token=``, then HARENA_URL/HARENA_TOKEN, then loopback and the admin token file, if it can be read.

    The file's token is only ever sent to this machine: with a URL of another one, a token must be given.
    """
    environ = os.environ if environ is None else environ
    url = url or environ.get("HARENA_URL") or DEFAULT_URL
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} isn't the URL of a server; it looks like {DEFAULT_URL}")
    base = url.rstrip("/")
    if not base.endswith("/v1"):
        base += "/v1"
    token = token or environ.get("HARENA_TOKEN") or (_read(token_file) if is_loopback(url) else None)
    if not token:
        hint = f"or run as the user who may read {token_file}" if is_loopback(url) else "the server is another machine"
        raise Unauthenticated(f"no token: pass token=, or set HARENA_TOKEN ({hint})")
    return Config(base, token.strip())


def _read(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip() or None
    except OSError:
        return None
