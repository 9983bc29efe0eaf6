"""What an attached stream that waits costs harenad: its anonymous memory with so many, per stream, against 64 KiB.

Usage: idle_streams.py [STREAMS], with HARENA_BUILD_DIR and PYTHONPATH set (bench/run.sh idle does). Starts a daemon of its own and
leaves nothing behind. Exit status 1 when a stream costs more than the promise.
"""

import resource
import socket
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "tests" / "integration"), str(SOURCE / "bench")]

from harenad_process import IMAGE, Harenad  # noqa: E402
from running_daemon import clear_away, stop_everything  # noqa: E402
from http_api import Api, resident_bytes, shim_of  # noqa: E402
from service_bench import import_tiny_image  # noqa: E402

PROMISE = 64 << 10


def attach(api, box, command):
    """A socket whose answer has begun: the stream waits for output."""
    one = socket.create_connection(("127.0.0.1", api.daemon.about["api_port"]))
    one.sendall((f"GET /v1{box.path}/commands/{command}/output HTTP/1.1\r\nHost: x\r\n"
                 f"Authorization: Bearer {api.daemon.token}\r\n\r\n").encode())
    assert one.recv(12) == b"HTTP/1.1 200"
    return one


def measure(daemon, count):
    """(bytes a stream in harenad, bytes a stream in the shim)."""
    api = Api(daemon)
    box = api.create(IMAGE)
    command = box.start("read -r x; echo woken", stdin="pipe")["id"]
    pids = [daemon.process.pid, shim_of(box.id)]
    streams = [attach(api, box, command) for _ in range(20)]  # what is made once
    before = [resident_bytes(pid) for pid in pids]
    streams += [attach(api, box, command) for _ in range(count)]
    cost = [(resident_bytes(pid) - then) / count for pid, then in zip(pids, before)]
    box.stdin(command, b"\n")
    for one in streams:
        got = b""
        while b'"exit"' not in got:
            part = one.recv(65536)
            assert part, "a stream was cut"
            got += part
        assert b"woken" in got
        one.close()
    box.stop()
    return cost


def main(count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    folder = tempfile.mkdtemp(prefix="harena-bench-")
    daemon = Harenad(folder)
    try:
        daemon.start()
        with daemon.client() as client:
            import_tiny_image(client, folder)
        edge, shim = measure(daemon, count)
        print(f"{count} idle attached streams: {edge / 1024:.1f} KiB each in harenad (promised: {PROMISE >> 10}), {shim / 1024:.1f} KiB in the shim")
        stop_everything(daemon)
    finally:
        clear_away(daemon)
    return 0 if edge < PROMISE else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000))
