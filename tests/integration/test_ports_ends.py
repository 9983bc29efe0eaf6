"""Where a port is, and what is said when it isn't there: listeners of all kinds, closed ports, stopped sandboxes."""

import json
import threading

import pytest

from port_tools import Ports, SERVICE, ports, python_image, service_sandbox, start_service  # noqa: F401


@pytest.mark.parametrize("port, address", [(8101, "127.0.0.1"), (8102, "::1"), (8103, "0.0.0.0"), (8104, "::"), (8105, "127.0.0.7"), (1, "127.0.0.1"), (65535, "::1")])
def test_listeners_of_every_kind(harenad, service_sandbox, port, address):  # noqa: F811
    command = start_service(service_sandbox, port, address)
    try:
        there = Ports(harenad, service_sandbox, port)
        assert there.arrived("GET", "/raw")[0] == b"GET /raw HTTP/1.1"
        with there.tcp(b"ECHO\nx") as connection:
            assert connection.exactly(1) == b"x"
    finally:
        command.kill()


def refusal(there, fields=()):
    got = there.exchange("GET", "/x", fields)
    return got.status, json.loads(got.body)["error"]


def test_a_closed_port(harenad, service_sandbox):  # noqa: F811
    there = Ports(harenad, service_sandbox, 9)
    for fields in ((), [("Connection", "Upgrade"), ("Upgrade", "tcp")], [("Connection", "Upgrade"), ("Upgrade", "websocket")]):
        status, error = refusal(there, fields)
        assert status == 502 and error["code"] == "unavailable" and error["details"]["reason"] == "port_closed" and error["details"]["port"] == 9
        assert "9" in error["message"] and error["cause"] == "agent"
    for bad in ("0", "65536", "-1", "http", "80x", "%38%30x"):
        there.port = bad
        status, error = refusal(there)
        assert status == 400 and error["code"] == "invalid_argument"


def test_a_stopped_sandbox_and_an_unknown_one(harenad, client, args):
    sandbox = client.create(args)
    sandbox.stop()
    status, error = refusal(Ports(harenad, sandbox, 80))
    assert status == 409 and error["code"] == "failed_precondition"
    sandbox.info = type(sandbox.info)(**{**sandbox.info.__dict__, "id": sandbox.id[:5] + "0" * 15})
    status, error = refusal(Ports(harenad, sandbox, 80))
    assert status == 404 and error["code"] == "not_found"


def test_a_paused_sandbox_is_resumed_by_a_call(ports):
    ports.sandbox.pause()
    assert ports.arrived("GET", "/raw")[0] == b"GET /raw HTTP/1.1"
    assert ports.sandbox.refresh().state == "running"


@pytest.mark.parametrize("way", ["length", "tcp", "websocket"])
def test_a_sandbox_that_is_stopped_in_the_middle(harenad, client, python_image, way):  # noqa: F811
    import harena

    with client.create(harena.ContainerArgs(image=python_image)) as sandbox:
        sandbox.files.write("/port_service.py", SERVICE.read_bytes())
        start_service(sandbox, 8000)
        there = Ports(harenad, sandbox, 8000)
        if way == "tcp":
            connection = there.tcp(b"ECHO\nx")
        elif way == "websocket":
            from test_ports_streams import open_websocket

            connection, _ = open_websocket(there)
            connection.send(b"x")
        else:
            connection = there.connect()
            connection.send(there.request("GET", f"/flood?{1 << 40}"))
        connection.until(b"x" if way in ("tcp", "websocket") else b"\x00\x01\x02")
        stopper = threading.Thread(target=sandbox.stop)
        stopper.start()
        try:
            connection.rest()  # ends; never with the look of a whole answer, for the length is far away
        except ConnectionResetError:
            pass
        stopper.join()
        status, error = refusal(there)
        assert status == 409 and error["code"] == "failed_precondition"
        connection.socket.close()
