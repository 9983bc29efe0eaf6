"""The service as the tests see it: started, asked, ended."""

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "images" / "code-interpreter"
PATIENCE_S = 120


class Answer:
    """What an execution brought."""

    def __init__(self, events):
        self.events = events
        self.types = [one["type"] for one in events]

    def of(self, kind):
        return [one for one in self.events if one["type"] == kind]

    def logged(self, kind):
        return "".join(one["text"] for one in self.of(kind))

    @property
    def stdout(self):
        return self.logged("stdout")

    @property
    def stderr(self):
        return self.logged("stderr")

    @property
    def results(self):
        return self.of("result")

    @property
    def text(self):
        return next((one.get("text") for one in self.results if one["is_main_result"]), None)

    @property
    def error(self):
        return next(iter(self.of("error")), None)

    @property
    def count(self):
        return next(one["execution_count"] for one in self.of("number_of_executions"))


class Stream:
    """A running execution: events as they come; ``close`` goes away as a client does."""

    def __init__(self, service, body):
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE_S)
        self.connection.request("POST", "/execute", json.dumps(body))
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()

    def __iter__(self):
        return self

    def __next__(self):
        line = self.response.readline()
        if not line:
            raise StopIteration
        assert line.endswith(b"\n") and line.strip(), line
        return json.loads(line)

    def until(self, kind):
        return next(one for one in self if one["type"] == kind)

    def close(self):
        self.response.close()
        self.connection.close()


class Service:
    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harena_interpreter", "--host", "127.0.0.1", "--port", "0", "--home", str(folder), *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder,
            # ipykernel looks for pytest's variable and then leaves the output of children alone.
            env={**{name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}, "PYTHONPATH": str(PACKAGE), "FROM_THE_START": "yes", "IPYTHONDIR": str(folder / "ipython")})
        self.home = folder
        self.port = int(self.process.stdout.readline().rsplit(" ", 1)[1])
        deadline = time.monotonic() + PATIENCE_S
        while self.call("GET", "/health")[0] != 200:
            assert self.process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body if isinstance(body, (bytes, type(None))) else json.dumps(body))
            response = connection.getresponse()
            raw = response.read().decode()
            return response.status, json.loads(raw) if response.getheader("content-type") == "application/json" else raw
        finally:
            connection.close()

    def run(self, code, **body):
        return Answer(list(Stream(self, {"code": code, **body})))

    def stream(self, code, **body):
        return Stream(self, {"code": code, **body})

    def context(self, **body):
        status, made = self.call("POST", "/contexts", body)
        assert status == 200, made
        return made["id"]

    def stop(self):
        self.process.terminate()
        code = self.process.wait(timeout=PATIENCE_S)
        self.process.stdout.close()
        return code
