"""Readers that don't read, results that are too large, more messages than a queue holds."""

import asyncio
import os
import re
import time
from pathlib import Path

import pytest

from interpreter_service import PACKAGE, PATIENCE_S


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) >> 10


def state(pid):
    return re.search(r"State:\s+(\w)", Path(f"/proc/{pid}/status").read_text())[1]


def test_a_reader_that_doesnt_read_stops_its_kernel_and_loses_nothing(service, fresh):
    pid = int(service.run("import os; os.getpid()", **fresh).text)
    before = resident_mib(service.process.pid)
    stream = service.stream("line = 'x' * 999\nfor i in range(120_000): print(line)", **fresh)
    deadline = time.monotonic() + PATIENCE_S
    while state(pid) != "T":
        assert time.monotonic() < deadline, "the kernel was never stopped"
        time.sleep(0.01)
    assert resident_mib(service.process.pid) - before < 150
    assert service.run("'others go on'").text == "others go on"
    total = sum(len(one["text"]) for one in stream if one["type"] == "stdout")
    assert total == 120_000 * 1000


def test_a_reader_that_goes_away_lets_its_kernel_go_on(service, fresh):
    pid = int(service.run("import os; os.getpid()", **fresh).text)
    stream = service.stream("line = 'x' * 999\nwhile True: print(line)", **fresh)
    deadline = time.monotonic() + PATIENCE_S
    while state(pid) != "T":
        assert time.monotonic() < deadline, "the kernel was never stopped"
        time.sleep(0.01)
    stream.close()
    assert service.run("os.getpid()", **fresh).text == str(pid)


def test_many_results_all_arrive_in_order(service, fresh):
    got = service.run("for i in range(5000): display(i)", **fresh)
    assert [one["text"] for one in got.results] == [str(i) for i in range(5000)]


def test_what_is_too_large_is_left_out_and_said(service, fresh):
    got = service.run("class Big:\n  def __repr__(self): return 'x' * (65 << 20)\nBig()", **fresh)
    assert re.fullmatch(r"<\d+ MiB were left out here: one message may have 64 MiB>", got.text)
    assert service.run("1", **fresh).text == "1"


def test_a_body_that_is_too_large(service):
    status, said = service.call("POST", "/execute", b" " * ((64 << 20) + 1))
    assert status == 413 and "64 MiB" in said


@pytest.fixture
def limits(monkeypatch):
    """The service's modules in this process, where a test can make a limit small."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    import harena_interpreter.context as context
    import harena_interpreter.contexts as contexts

    monkeypatch.setattr(context, "MAX_QUEUED", 2)
    monkeypatch.setattr(contexts, "MAX_CONTEXTS", 2)
    return contexts


def test_no_more_contexts_and_no_more_waiting_than_may_be(limits):
    from harena_interpreter.errors import Refused
    from harena_interpreter.languages import Languages

    async def scenario():
        all_of_them = limits.Contexts(Languages({}), home="/", base_env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        first = await all_of_them.create("python", "/")
        await all_of_them.create("python", "/")
        with pytest.raises(Refused, match="as many as may be") as refused:
            await all_of_them.create("python", "/")
        assert refused.value.status == 429
        for _ in range(2):
            first.submit("1", {})
        with pytest.raises(Refused, match="2 executions wait") as refused:
            first.submit("1", {})
        assert refused.value.status == 429
        await all_of_them.close()

    asyncio.run(scenario())
