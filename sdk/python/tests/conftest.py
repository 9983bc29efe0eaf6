import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

pytest.importorskip("httpx", reason="the Python package httpx isn't installed, and the SDK stands on it")

from fake_server import TOKEN, FakeHarena  # noqa: E402

import harena  # noqa: E402


@pytest.fixture
def fake():
    with FakeHarena() as server:
        yield server


QUICK = harena.RetryPolicy(attempts=4, first_delay=0.001, max_delay=0.01)


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
