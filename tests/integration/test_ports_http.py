"""HTTP to a port in a container, compared raw: what is sent arrives, what is answered comes back."""

import pytest

from port_tools import ports, python_image, service_sandbox  # noqa: F401

OURS = {b"host", b"connection"}


def own(fields):
    """Without what concerns one connection and what every request of Ports carries."""
    return [one for one in fields if one[0].lower() not in OURS]


@pytest.mark.parametrize("rest", [
    "", "/", "//", "//double//slashes//", "/a%2Fb/%2e%2e/../x", "/%00%ff%zz%", "/raw?a=b&a=c&&=&x", "/raw?", "/raw??", "/raw?%2520+%26",
    "/raw/;p=1,2/@:!$&'()*+=~", "/raw?q=http://x/?y#frag", b"/raw/\xe6\x96\x87?\xff", '/raw?"<>\\^`{|}', "/raw/" + "x" * 8000,
])
def test_targets_arrive_as_they_were_sent(ports, rest):
    line, _, _ = ports.arrived("GET", rest)
    sent = rest if isinstance(rest, bytes) else rest.encode()
    assert line == b"GET " + (sent if sent.startswith(b"/") else b"/" + sent) + b" HTTP/1.1"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH", "brew", "X!#$%&'*+-.^_`|~9"])
def test_any_method_with_any_body(ports, method):
    body = bytes(range(256)) * 3
    if method == "HEAD":
        assert ports.exchange("HEAD", "/raw").status == 200
        return
    line, fields, got = ports.arrived(method, "/raw", [("Content-Length", str(len(body)))], body)
    assert line == method.encode() + b" /raw HTTP/1.1" and got == body
    assert own(fields) == [(b"Content-Length", str(len(body)).encode())]
    _, fields, got = ports.arrived(method, "/raw")
    assert got == b"" and own(fields) in ([], [(b"Content-Length", b"0")])


def test_fields_keep_order_number_and_spelling(ports):
    sent = [("x-lower", "1"), ("X-UPPER", "2"), ("Cookie", "a=1"), ("cookie", "b=2"), ("x-lower", "again"), ("X-Empty", ""),
            ("X-Latin", "caf\xe9"), ("X-Tabs", "a\tb"), ("X-Quotes", '"a, b", c'), ("Accept-Encoding", "gzip, br"), ("content-length", "2"),
            ("Range", "bytes=0-1"), ("If-None-Match", '"x"'), ("Via", "1.1 a"), ("X-Forwarded-For", "1.2.3.4"), ("User-Agent", ""),
            ("Max-Forwards", "3"), ("X" * 200, "y" * 8000)]
    _, fields, body = ports.arrived("PUT", "/raw", sent, b"ab")
    assert own(fields) == [(name.encode(), value.encode("latin-1")) for name, value in sent] and body == b"ab"
    assert (b"Host", b"inside.test:80") in fields


def test_what_concerns_one_connection_stays_behind(ports):
    _, fields, _ = ports.arrived("GET", "/raw", [
        ("Connection", "keep-alive, X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "close"), ("TE", "trailers"), ("X-Stays", "1")])
    assert [one for one in fields if one[0] != b"Host"] == [(b"X-Stays", b"1"), (b"Connection", b"close, TE"), (b"TE", b"trailers")]


def test_the_platforms_credential_never_enters(ports):
    _, fields, _ = ports.arrived("GET", "/raw")
    assert not any(ports.daemon.token.encode() in value for _, value in fields)
    # A call that brings ours in its own field leaves Authorization to the sandbox.
    request = ports.request("GET", "/raw", [("Authorization", "Basic inside")]).replace(b"Authorization: Bearer", b"Harena-Authorization: Bearer", 1)
    with ports.connect() as connection:
        connection.send(request)
        got = connection.answer().body
    assert b"\r\nAuthorization: Basic inside\r\n" in got and ports.daemon.token.encode() not in got


def test_chunked_bodies_with_trailers_both_ways(ports):
    chunked = b"3\r\nabc\r\n5;ext=1\r\ndefgh\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\n\r\n"
    _, fields, body = ports.arrived("DELETE", "/raw", [("Transfer-Encoding", "chunked"), ("Trailer", "X-Sum")], chunked)
    assert own(fields) == [(b"Trailer", b"X-Sum"), (b"Transfer-Encoding", b"chunked")]
    pieces, rest = b"", body
    while True:
        size, _, rest = rest.partition(b"\r\n")
        if int(size, 16) == 0:
            break
        pieces, rest = pieces + rest[:int(size, 16)], rest[int(size, 16) + 2:]
    assert pieces == b"abcdefgh" and rest == b"X-Sum: 1\r\nx-sum: 2\r\n\r\n"
    with ports.script(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n4\r\nwiki\r\n0\r\nX-End: yes\r\n\r\n") as connection:
        got = connection.answer()
    assert got.body == b"wiki" and got.trailers == b"X-End: yes\r\n" and got.all(b"Trailer") == [b"X-End"]


def test_answers_keep_phrase_fields_and_body(ports):
    with ports.script(b"HTTP/1.1 299 Quite Fine (really)\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nX-eMPTY: \r\nLocation: http://elsewhere.test/\r\n"
                      b"Date: yesterday\r\nServer: s\r\ncontent-LENGTH: 4\r\nWWW-Authenticate: Basic\r\n\r\nbody") as connection:
        got = connection.answer()
    assert got.line == b"HTTP/1.1 299 Quite Fine (really)" and got.body == b"body"
    assert [one for one in got.fields if one[0] != b"Connection"] == [
        (b"set-cookie", b"a=1"), (b"Set-Cookie", b"b=2"), (b"X-eMPTY", b""), (b"Location", b"http://elsewhere.test/"), (b"Date", b"yesterday"),
        (b"Server", b"s"), (b"content-LENGTH", b"4"), (b"WWW-Authenticate", b"Basic")]


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_redirects_are_answers(ports, status):
    before = int(ports.exchange("GET", "/count").body)
    with ports.script(b"HTTP/1.1 %d Moved\r\nLocation: /raw\r\nContent-Length: 0\r\n\r\n" % status) as connection:
        assert connection.answer().status == status
    assert int(ports.exchange("GET", "/count").body) == before + 2  # the one that answered and this one


def test_bodiless_answers(ports):
    head = b"Content-Length: 123\r\nETag: \"x\"\r\n\r\n"
    with ports.script(b"HTTP/1.1 304 Not Modified\r\n" + head) as connection:
        got = connection.answer()
        assert got.status == 304 and got.all(b"Content-Length") == [b"123"]
    with ports.script(b"HTTP/1.1 204 No Content\r\n\r\n") as connection:
        got = connection.answer()
        assert got.status == 204 and not got.all(b"Content-Length") and not got.all(b"Transfer-Encoding")
    with ports.script(b"HTTP/1.1 200 OK\r\n" + head, method="HEAD") as connection:
        got = connection.answer(bodiless=True)
        assert got.status == 200 and got.all(b"Content-Length") == [b"123"]
        connection.send(ports.request("GET", "/raw"))  # the connection goes on, without stray bytes
        assert connection.answer().status == 200
    with ports.script(b"HTTP/1.1 200 OK\r\nX-No: length\r\n\r\n", method="HEAD") as connection:
        got = connection.answer(bodiless=True)
        assert not got.all(b"Content-Length") and not got.all(b"Transfer-Encoding")


def test_interim_answers_come_through(ports):
    with ports.script(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as connection:
        assert connection.head() == b"HTTP/1.1 102 Processing"
        assert connection.head() == b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>"
        assert connection.answer().body == b"ok"


def test_expect_continue_is_the_services_to_answer(ports):
    expecting = [("Expect", "100-continue"), ("Content-Length", "4")]
    for path in ("/continue", "/silent"):  # a service that says nothing is asked on its behalf, after a second
        with ports.connect() as connection:
            connection.send(ports.request("POST", path, expecting))
            assert connection.head() == b"HTTP/1.1 100 Continue"
            connection.send(b"body")
            got = connection.answer()
            assert got.status == 200 and got.body.endswith(b"\r\n\r\nbody") and b"\r\nExpect: 100-continue\r\n" in got.body
    with ports.connect() as connection:  # one that refuses gets no body
        connection.send(ports.request("POST", "/refuse", expecting))
        got = connection.answer()
        assert got.line == b"HTTP/1.1 417 Rather Not" and got.body == b"no" and got.all(b"Connection") == [b"close"]
        assert connection.rest() == b""
    line, _, body = ports.arrived("POST", "/continue-not", expecting, b"body")  # one that doesn't wait
    assert body == b"body"


def test_answers_of_old_servers_and_cut_ones(ports):
    with ports.script(b"HTTP/1.0 200 OK\r\nX-Old: 1\r\n\r\nuntil the end") as connection:
        assert connection.answer().body == b"until the end"
    for cut in (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"):
        with ports.script(cut) as connection:
            raw = connection.rest()
            assert b"half" in raw and not raw.endswith(b"0\r\n\r\n")  # never made to look whole
    for bad in (b"SSH-2.0-x\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", b"HTTP/1.1 200 OK\r\nBad Field: x\r\n\r\n"):
        with ports.script(bad) as connection:
            got = connection.answer()
            assert got.status == 502 and b'"reason":"bad_answer"' in got.body, bad


def test_one_connection_of_the_client_carries_many_requests(ports):
    before = int(ports.exchange("GET", "/count").body)
    with ports.connect() as connection:
        for number in range(500):
            connection.send(ports.request("POST", f"/raw?{number}", [("Content-Length", "3")], b"%03d" % number))
            got = connection.answer()
            assert got.status == 200 and got.body.endswith(b"\r\n\r\n%03d" % number) and not got.all(b"Connection")
        connection.send(ports.request("GET", "/raw?a") + ports.request("GET", "/raw?b"))  # pipelined: in order
        assert [connection.answer().body.split(b" ")[1] for _ in range(2)] == [b"/raw?a", b"/raw?b"]
        connection.send(ports.request("GET", "/raw", [("Connection", "close")]))
        assert connection.answer().all(b"Connection") == [b"close"] and connection.rest() == b""
    assert int(ports.exchange("GET", "/count").body) == before + 504  # inside, one each


def test_http_1_0_clients(ports):
    with ports.connect() as connection:
        connection.send(ports.request("GET", "/raw", version=b"1.0"))
        assert b"GET /raw HTTP/1.1\r\n" in connection.rest()
