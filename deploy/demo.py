"""The demo of quickstart: one container by hand, then real work in twenty.

Prints a transcript with the time of each step. Exit status 0 only if every step did what it should.
"""

import asyncio
import sys
import time

import harena

IMAGE = "root/base:v1"
TESTSUITE = "root/python-testsuite:v1"
# Five modules of CPython's own regression tests that need no network and measure no time.
MODULES = ["test_dict", "test_json", "test_string", "test_struct", "test_textwrap"]
SANDBOXES = 20
STARTED = time.monotonic()


def say(text):
    print(f"  {time.monotonic() - STARTED:7.2f} s  {text}", flush=True)


async def one_by_hand(client):
    sandbox = await client.create(harena.ContainerArgs(image=IMAGE))
    say(f"created {sandbox.id}")
    result = await sandbox.commands.run(["python3", "-c", "print(6*7)"])
    say(f"python3 -c 'print(6*7)' -> {result.stdout.strip()}")
    assert result.stdout == "42\n", result
    await sandbox.files.write("/root/note.txt", b"written from outside\n")
    text = await sandbox.files.read("/root/note.txt")
    say(f"wrote and read back /root/note.txt -> {text.decode().strip()}")
    assert text == b"written from outside\n"
    await sandbox.stop()
    say("stopped it")


async def run_tests(sandbox):
    outcome = {}
    for module in MODULES:
        begun = time.monotonic()
        result = await sandbox.commands.run(["python3", "-m", "test", "-q", module], timeout=300)
        outcome[module] = (result.exit_code, time.monotonic() - begun)
        if result.exit_code != 0:
            say(f"{module} failed in {sandbox.id}; its last words:\n{(result.stdout + result.stderr)[-2000:]}")
    return outcome


async def real_work(client):
    args = harena.ContainerArgs(image=IMAGE, workspaces=[TESTSUITE], task="quickstart-demo")
    begun = time.monotonic()
    sandboxes = [sandbox async for sandbox in client.create_batch(args, count=SANDBOXES)]
    say(f"{len(sandboxes)} sandboxes created as one batch in {time.monotonic() - begun:.2f} s")
    outcomes = await asyncio.gather(*(run_tests(sandbox) for sandbox in sandboxes))
    failed = 0
    for module in MODULES:
        times = [outcome[module][1] for outcome in outcomes]
        passed = sum(outcome[module][0] == 0 for outcome in outcomes)
        failed += SANDBOXES - passed
        say(f"{module:12} passed in {passed:2} of {SANDBOXES}; {min(times):.2f} to {max(times):.2f} s")
    await asyncio.gather(*(sandbox.stop() for sandbox in sandboxes))
    say("everything stopped")
    return failed


async def main():
    async with harena.AsyncClient() as client:
        await one_by_hand(client)
        images = {image.reference for image in await client.images.list()}
        if TESTSUITE not in images:
            say(f"no {TESTSUITE}: the second part of the demo needs the base that mmdebstrap makes")
            return 0
        return await real_work(client)


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main()) else 0)
