"""A strict double of the HTTP API (docs/http-api.md), in process, for tests of clients.

It runs commands for real, on this machine, in a temporary folder, and refuses what the document doesn't know: unknown
keys, missing tokens, gaps in stdin. ``faults`` breaks connections where a test wants: before a request was acted on, after
it, or in the middle of an answer.
"""

from .contract import TOKEN, ApiError
from .fake_harena import FakeHarena

__all__ = ["TOKEN", "ApiError", "FakeHarena"]
