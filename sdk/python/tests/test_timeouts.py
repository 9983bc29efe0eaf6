"""Time limits are told apart: no connection, no answer, nothing taken, and the command's own two."""

import contextlib
import socket
import threading
import time

import pytest

import harena

ONCE = harena.RetryPolicy(attempts=1, stream_attempts=1)
SHORT = harena.Timeouts(connect=0.3, read=0.3, write=0.3)


@contextlib.contextmanager
def silent_server(accepts):
    """Listens and says nothing. Without ``accepts`` its queue is full, so that no connection comes about."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    held = []
    if accepts:
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    held.append(listener.accept()[0])
        threading.Thread(target=accept, daemon=True).start()
    else:
        for _ in range(3):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
            held.append(one)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()
        for one in held:
            one.close()


def client_of(url):
    return harena.Client(url, "t", timeouts=SHORT, retry=ONCE)


def test_no_connection():
    with silent_server(accepts=False) as url, client_of(url) as client, pytest.raises(harena.ConnectTimeout, match="no connection") as caught:
        client.version()
    assert not isinstance(caught.value, harena.ReadTimeout) and caught.value.not_sent
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    with client_of(url) as client, pytest.raises(harena.ConnectError) as caught:
        client.version()
    assert not isinstance(caught.value, harena.DeadlineExceeded)


def test_no_answer():
    with silent_server(accepts=True) as url, client_of(url) as client:
        with pytest.raises(harena.ReadTimeout, match="silent for 0.3 s") as caught:
            client.version()
        assert not isinstance(caught.value, (harena.ConnectTimeout, harena.WriteTimeout))
        begun = time.monotonic()
        with pytest.raises(harena.ReadTimeout, match="silent for 0.8 s"):
            client.create(harena.ContainerArgs(), timeout=0.8)
        assert time.monotonic() - begun > 0.7


def test_nothing_taken(fake):
    with silent_server(accepts=True) as url, client_of(url) as client:
        sandbox = client_of_sandbox(client)
        with pytest.raises(harena.WriteTimeout, match="took nothing") as caught:
            sandbox.files.write("/x", b"x" * 50_000_000)
        assert not isinstance(caught.value, harena.ReadTimeout)


def client_of_sandbox(client):
    from harena._sync._sandbox import Sandbox

    return Sandbox(client._transport, harena.SandboxInfo.from_json({"id": "local000000000000000", "backend": "container", "state": "running"}))


def test_the_commands_own():
    from harena._sync._commands import _judge

    def judged(cause):
        with pytest.raises(harena.CommandError) as caught:
            _judge(harena.CommandResult(harena.ExitStatus(None, "KILL", cause), b"partial", b""), check=True)
        assert caught.value.result.stdout == "partial" and not isinstance(caught.value, harena.TransportError)
        return type(caught.value)

    assert judged("timeout") is harena.CommandTimeout and judged("no_output_timeout") is harena.CommandNoOutputTimeout
    assert judged("oom") is harena.CommandLimit and judged("signal") is harena.CommandFailed
    assert issubclass(harena.CommandNoOutputTimeout, harena.CommandTimeout)
