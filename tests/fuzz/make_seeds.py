"""The seeds of the fuzz targets, written anew: make_seeds.py [FOLDER]. What a fuzzer found is added beside them by hand.

Small inputs that reach every corner once: a request of every route, a frame of every type, a path of every kind, an archive of every
format. Deterministic: the same bytes in every run.
"""

import io
import struct
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SANDBOX = "edge1000000000000001"


def write(folder, name, data):
    (folder / name).write_bytes(data)


def attribute(key, data):
    return struct.pack("<HI", key, len(data)) + data


def frame(kind, payload=b"", flags=0, stream=0):
    return struct.pack("<IHHI", len(payload), kind, flags, stream) + payload


def pair(first, second):
    return struct.pack("<I", len(first)) + first + second


def session_seeds(folder):
    start = (attribute(1, b"sh") + attribute(1, b"-c") + attribute(1, b"echo $A") + attribute(3, pair(b"A", b"b c\n")) +
             attribute(4, b"/tmp") + attribute(5, b"root"))
    write(folder, "start", frame(0x40, start))
    write(folder, "continued", frame(0x40, start[:7], flags=2) + frame(0x40, start[7:]))
    write(folder, "hello", frame(0x01, attribute(1, b"\x01") + attribute(2, b"\x01") + attribute(0x8003, b"0.1.0") +
                                 attribute(0x8004, b"dial-fd")))
    write(folder, "output", frame(0x14, struct.pack("<Q", 5) + b"hello") + frame(0x17, attribute(1, b"\x07")))
    write(folder, "error", frame(0x04, attribute(1, b"\x05") + attribute(2, b"no such command") + attribute(3, b"\x02")))
    write(folder, "too_long", struct.pack("<IHHI", 1 << 21, 0x40, 0, 0))
    write(folder, "numbers", b"".join(attribute(key, b"\xff" * size) for key in range(1, 24) for size in (1, 2, 8)))
    write(folder, "nested", attribute(1, attribute(1, attribute(1, attribute(2, b"x")))))
    for kind in [*range(0x01, 0x1d), *range(0x40, 0x49), *range(0x60, 0x78), 0x80, 0x81, 0x82]:
        write(folder, f"type_{kind:02x}", frame(kind, attribute(1, b"/tmp/x") + attribute(2, b"\x01") + attribute(3, b"ab")))


def tunnel_seeds(folder):
    def piece(kind, data):
        return bytes([kind, len(data)]) + data

    def record(kind, stream, payload):
        return piece(1, bytes([kind, stream]) + payload)

    both = {"host": b"\x00" + piece(4, b"abc") * 2, "guest": b"\x01" + record(1, 1, b"\x01") + record(1, 2, b"\x02")}
    window = struct.pack("<I", 1000)
    for side, begin in both.items():
        write(folder, f"{side}_exchange", begin + record(2, 1, b"hello") + piece(5, b"\x01world") + piece(7, b"") + record(5, 1, window) +
              record(3, 1, b"") + piece(4, b"\x01\x01"))
        write(folder, f"{side}_bulk", begin + record(2, 1, b"x" * 200) * 40 + piece(4, b"\x01ab") + piece(7, b""))
        write(folder, f"{side}_reset", begin + record(4, 1, attribute(1, b"\x05")) + record(2, 1, b"late") + record(3, 2, b"") * 2)
        write(folder, f"{side}_again", begin + piece(5, b"\x01" + b"y" * 99) + piece(6, b"") + piece(7, b"") + piece(6, b"\x01") +
              record(1, 1, b"\x01"))
        write(folder, f"{side}_ack", begin + piece(5, b"\x01data") + piece(7, b"") + record(0x80, 0, struct.pack("<Q", 1)))
        write(folder, f"{side}_raw", begin + piece(0, b"\x04\x00\x02\x00\x01\x00\x00\x00evil\x01\x02\x03\x04") + piece(0, bytes(250)))


REQUESTS = [
    ("GET", "/v1/version", None), ("GET", "/v1/whoami", None), ("GET", "/v1/openapi.json", None), ("GET", "/v1/backends", None),
    ("GET", "/v1/nodes", None), ("GET", "/v1/plugins", None), ("GET", "/v1/doctor", None), ("GET", "/v1/tokens?limit=5", None),
    ("GET", "/v1/projects?limit=5&cursor=root%2Fa", None), ("GET", "/v1/images?prefix=root/&limit=3", None),
    ("GET", "/v1/images/root%2Fbase:v1", None), ("DELETE", "/v1/images/root%2Fbase:v1", None),
    ("POST", "/v1/images/tag", '{"reference":"root/base:v1","target":"root/base:v2"}'),
    ("GET", "/v1/sandboxes?state=running&label=a%3Db&limit=2", None), ("GET", f"/v1/sandboxes/{SANDBOX}", None),
    ("PATCH", f"/v1/sandboxes/{SANDBOX}", '{"labels":{"a":"b"},"idle_ttl_s":60}'),
    ("POST", f"/v1/sandboxes/{SANDBOX}/pause", ""), ("POST", f"/v1/sandboxes/{SANDBOX}/resume", ""),
    ("POST", f"/v1/sandboxes/{SANDBOX}/stop?grace_ms=5", ""), ("GET", f"/v1/sandboxes/{SANDBOX}/usage", None),
    ("POST", "/v1/backends/fake/sandboxes", '{"params":{"cpu":1},"labels":{"a":"b"},"idempotency_key":"k1"}'),
    ("POST", "/v1/backends/fake/sandboxes:batch", '{"count":2,"request":{"params":{}}}'),
    ("POST", f"/v1/sandboxes/{SANDBOX}/commands", '{"argv":["true"],"wait":true,"env":{"A":"b"},"timeout_ms":5,"op":"o1"}'),
    ("POST", f"/v1/sandboxes/{SANDBOX}/commands", '{"shell":"x","pty":{"rows":24,"cols":80},"stdin":"pipe"}'),
    ("POST", f"/v1/sandboxes/{SANDBOX}/commands", '{"argv":["cat"],"stdin_data_b64":"aGk=","user":"root","cwd":"/"}'),
    ("GET", f"/v1/sandboxes/{SANDBOX}/commands", None), ("GET", f"/v1/sandboxes/{SANDBOX}/commands/c1", None),
    ("GET", f"/v1/sandboxes/{SANDBOX}/commands/c1/output?stdout_offset=5&follow=true", None),
    ("POST", f"/v1/sandboxes/{SANDBOX}/commands/c1/stdin?offset=0&eof=true", "data"),
    ("POST", f"/v1/sandboxes/{SANDBOX}/commands/c1/signal", '{"signal":"TERM","target":"tree"}'),
    ("POST", f"/v1/sandboxes/{SANDBOX}/commands/c1/resize", '{"rows":24,"cols":80}'),
    ("DELETE", f"/v1/sandboxes/{SANDBOX}/commands/c1", None),
    ("GET", f"/v1/sandboxes/{SANDBOX}/files?path=/a%2Fb&user=root", None),
    ("PUT", f"/v1/sandboxes/{SANDBOX}/files?path=/x&mode=0644&parents=true", "content"),
    ("DELETE", f"/v1/sandboxes/{SANDBOX}/files?path=/x&recursive=true", None),
    ("GET", f"/v1/sandboxes/{SANDBOX}/files/stat?path=/x", None),
    ("GET", f"/v1/sandboxes/{SANDBOX}/files/list?path=/&recursive=true&limit=3&cursor=YWJj", None),
    ("GET", f"/v1/sandboxes/{SANDBOX}/files/watch?path=/&recursive=true", None),
    ("GET", f"/v1/sandboxes/{SANDBOX}/files/xattrs?path=/x", None),
    ("GET", f"/v1/sandboxes/{SANDBOX}/files/archive?path=/x", None),
    ("POST", f"/v1/sandboxes/{SANDBOX}/files/mkdir", '{"path":"/d","mode":"0755","parents":true}'),
    ("POST", f"/v1/sandboxes/{SANDBOX}/files/move", '{"from":"/a","to":"/b"}'),
    ("GET", f"/v1/sandboxes/{SANDBOX}/ports/8080/a/b?c=%2F", None), ("PURGE", f"/v1/sandboxes/{SANDBOX}/ports/1/", None),
    ("GET", "/v1/..%2f/%00/\\x", None), ("OPTIONS", "*", None), ("GET", "http://h/v1/version", None),
]


def request(method, target, body, headers=()):
    lines = [f"{method} {target} HTTP/1.1", "Host: fuzz", "Authorization: Bearer hrn_" + "0" * 64, *headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode()


def http_seeds(folder):
    for number, (method, target, body) in enumerate(REQUESTS):
        write(folder, f"request_{number:02d}", request(method, target, body))
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    frames = b"\x81\x85\x00\x00\x00\x00hello" + b"\x88\x82\x00\x00\x00\x00\x03\xe8"
    write(folder, "websocket", request("GET", f"/v1/sandboxes/{SANDBOX}/commands/c1/attach", None, upgrade) + frames)
    write(folder, "tcp", request("GET", f"/v1/sandboxes/{SANDBOX}/ports/80", None, ["Connection: Upgrade", "Upgrade: tcp"]) + b"raw")
    chunked = b"4\r\n{\"a\"\r\n3;x=y\r\n:1}\r\n0\r\nTrailer: t\r\n\r\n"
    write(folder, "chunked", request("POST", "/v1/tokens", None, ["Transfer-Encoding: chunked"]) + chunked)
    write(folder, "range", request("GET", f"/v1/sandboxes/{SANDBOX}/files?path=/x", None, ["Range: bytes=0-4,6-", "If-Range: \"e\""]))
    write(folder, "pipelined", request("GET", "/v1/version", None) * 3)
    write(folder, "expect", request("PUT", f"/v1/sandboxes/{SANDBOX}/files?path=/x", "content", ["Expect: 100-continue"]))
    write(folder, "not_http", b"\x16\x03\x01\x02\x00\x01\x00")


PATHS = [b"/", b"", b"/a/b/c/file", b"a/b", b"/a/../a/./b//c/file", b"/out", b"/up", b"/a/parent/file", b"/abs/c/file", b"/a/rel/file",
         b"/loop1", b"/dangling", b"/magic/etc/passwd", b"/a/b/far/far/file", b"/a/top/a/top/a/top/file", b"/fifo", b"/tofifo",
         b"/../../../etc/passwd", b"/proc/self/root/etc", b"/file/", b"/file/x", b"/missing/x", b"/empty/new", b"\xff\xfe/\x80",
         b"/a\x00b", b"/" + b"x" * 255, b"/" + b"y" * 256, b"/" + b"d/" * 2047, b"/" + b"z/" * 2048, b"/a/b/..", b"/..", b"/."]


def path_seeds(folder):
    for number, path in enumerate(PATHS):
        write(folder, f"path_{number:02d}", path)


def entry(name, kind=tarfile.REGTYPE, **fields):
    info = tarfile.TarInfo(name)
    info.type, info.mtime, info.mode = kind, 1_700_000_000, 0o644
    for key, value in fields.items():
        setattr(info, key, value)
    return info


def archive(form, entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, bufsize=512) as tar:
        for info, data in entries:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_seeds(folder):
    usual = [(entry("d", tarfile.DIRTYPE), b""), (entry("d/file"), b"content\n"), (entry("d/link", tarfile.SYMTYPE, linkname="file"), b""),
             (entry("d/hard", tarfile.LNKTYPE, linkname="d/file"), b""), (entry("empty"), b"")]
    long = [(entry("n" * 300), b"x"), (entry("s", tarfile.SYMTYPE, linkname="t" * 300), b"")]
    rich = [(entry("x", pax_headers={"SCHILY.xattr.user.a": "v", "mtime": "1700000000.123456789", "GNU.sparse.major": "1"}), b"x")]
    hostile = [(entry("/abs"), b"x"), (entry("../up"), b"x"), (entry("fifo", tarfile.FIFOTYPE), b""), (entry("dev", tarfile.CHRTYPE), b"")]
    for name, form in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        write(folder, name, archive(form, usual))
        write(folder, name + "_hostile", archive(form, hostile))
        if form != tarfile.USTAR_FORMAT:
            write(folder, name + "_long", archive(form, long))
    write(folder, "pax_rich", archive(tarfile.PAX_FORMAT, rich))
    sparse = ("22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n24 GNU.sparse.name=file\n30 GNU.sparse.realsize=100000\n")
    pax = entry("PaxHeaders/file", b"x")
    data = b"2\n0\n5\n99995\n5\n".ljust(512, b"\0") + b"begin" + b"ender"
    write(folder, "pax_sparse", archive(tarfile.USTAR_FORMAT, [(pax, sparse.encode()), (entry("GNUSparseFile.0/file"), data)]))
    write(folder, "cut", archive(tarfile.PAX_FORMAT, usual)[:1200])
    write(folder, "zeros", b"\0" * 1024)
    write(folder, "not_a_tar", b"this is no archive\n" * 40)


def envelope(flags, payload):
    return struct.pack(">BI", flags, len(payload)) + payload


def envelope_seeds(folder):
    import gzip
    write(folder, "start", envelope(0, b'{"process":{"cmd":"/bin/bash"}}'))
    write(folder, "stream", envelope(0, b"a") + envelope(0, b"") + envelope(2, b"{}"))
    write(folder, "compressed", envelope(1, gzip.compress(b"hello", mtime=0)) + envelope(1, b"none"))
    write(folder, "too_long", struct.pack(">BI", 0, 1 << 30))
    write(folder, "cut", envelope(0, b"abcdef")[:8])


def multipart_seeds(folder):
    head = b"multipart/form-data; boundary=B\n"
    part = b'--B\r\nContent-Disposition: form-data; name="file"; filename="/a b;c"\r\nContent-Type: text/plain\r\n\r\nx\r\n--\r\n'
    write(folder, "one", head + part + b"--B--\r\n")
    write(folder, "two", head + b"before\r\n" + part + part + b"--B--after")
    write(folder, "empty", head + b'--B\r\nContent-Disposition: form-data; name=file\r\n\r\n\r\n--B--')
    write(folder, "extended", head + b"--B \r\nContent-Disposition: form-data; filename*=UTF-8''%E2%82%AC\r\n\r\n\r\n--B--")
    write(folder, "cut", head + part)
    write(folder, "quoted", b'multipart/form-data; boundary="a b"\n--a b\r\n\r\n')


def e2b_json_seeds(folder):
    write(folder, "start", b'\0{"process":{"cmd":"/bin/bash","args":["-l"],"envs":{"A":"b"},"cwd":"/"},"stdin":false,"pty":{"size":{"cols":80}}}')
    write(folder, "input", b'\x03{"process":{"pid":42},"input":{"stdin":"SGVsbG8="},"unknown":[{"a":null}]}')
    write(folder, "stream", b'\x04{"data":{"input":{"pty":"_-8"}}}')
    write(folder, "signal", b'\x05{"process":{"tag":"x"},"signal":"SIGNAL_SIGKILL"}')
    write(folder, "stat", b'\x0d{"entry":{"size":"5","type":1,"modifiedTime":"2023-11-14T22:13:20.5Z","metadata":{"a":"b"}}}')
    write(folder, "proto", b"\x80" + bytes([10, 5, 10, 3]) + b"cmd" + bytes([32, 0]))


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "seeds"
    for name, make in (("session_decoder", session_seeds), ("tunnel", tunnel_seeds), ("http_routes", http_seeds), ("path_resolver", path_seeds),
                       ("tar_reader", tar_seeds), ("e2b_envelope", envelope_seeds), ("e2b_multipart", multipart_seeds),
                       ("e2b_json", e2b_json_seeds)):
        (root / name).mkdir(parents=True, exist_ok=True)
        make(root / name)


if __name__ == "__main__":
    main()
