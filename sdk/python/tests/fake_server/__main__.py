"""``python -m fake_server``, for trying a client by hand."""

import threading

from . import TOKEN, FakeHarena

with FakeHarena() as server:
    print(f"export HARENA_URL={server.url} HARENA_TOKEN={TOKEN}", flush=True)
    threading.Event().wait()
