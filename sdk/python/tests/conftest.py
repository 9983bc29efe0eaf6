import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

try:
    import httpx  # noqa: F401
except ImportError:  # test_requirements.py says so, in a sentence
    collect_ignore_glob = ["test_[!r]*.py"]
else:
    import harena
    from fake_server import TOKEN, FakeHarena

    QUICK = harena.RetryPolicy(attempts=4, first_delay=0.001, max_delay=0.01)


@pytest.fixture
def fake():
    with FakeHarena() as server:
        yield server


@pytest.fixture
def client(fake):
    with harena.Client(fake.url, TOKEN, retry=QUICK) as one:
        yield one


@pytest.fixture
def sandbox(client):
    return client.create(harena.ContainerArgs(image="root/base:v1"))


@pytest.fixture
def open_async(fake):
    """``async with open_async() as client``"""
    return lambda **options: harena.AsyncClient(fake.url, TOKEN, **{"retry": QUICK, **options})
