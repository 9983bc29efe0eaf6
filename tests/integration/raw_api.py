"""Calls of the HTTP API as bytes, for tests of what SDKs would smooth over."""

import http.client
import json
import threading


def call(daemon, method, path, body=None, headers=None, timeout=120):
    """(status, fields, body as JSON or text)."""
    connection = open_call(daemon, method, path, body, headers, timeout)
    with connection:
        return connection.status, connection.fields, connection.json()


class open_call:
    """One call whose answer is read when the test wants: ``lines()`` of a stream, or ``json()``."""

    def __init__(self, daemon, method, path, body=None, headers=None, timeout=120):
        self.connection = http.client.HTTPConnection("127.0.0.1", daemon.about["api_port"], timeout=timeout)
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request(method, "/v1" + path, data, {"Authorization": f"Bearer {daemon.token}", **(headers or {})})
        self.answer = None

    def _begin(self):
        if self.answer is None:
            self.answer = self.connection.getresponse()
        return self.answer

    @property
    def status(self):
        return self._begin().status

    @property
    def fields(self):
        return self._begin().headers

    def json(self):
        data = self._begin().read()
        try:
            return json.loads(data)
        except ValueError:
            return data.decode()

    def lines(self):
        """Of a whole stream; http.client.IncompleteRead when it was broken off."""
        for line in self._begin():
            if line.strip():
                yield json.loads(line)

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class beside:
    """``with beside(function, ...) as work: ...; work.result()``: runs it in a thread."""

    def __init__(self, function, *args):
        self.value = self.error = None
        self.thread = threading.Thread(target=self._run, args=(function, args), daemon=True)
        self.thread.start()

    def _run(self, function, args):
        try:
            self.value = function(*args)
        except BaseException as error:
            self.error = error

    def result(self, timeout=120):
        self.thread.join(timeout)
        assert not self.thread.is_alive(), "it hasn't ended"
        if self.error is not None:
            raise self.error
        return self.value
