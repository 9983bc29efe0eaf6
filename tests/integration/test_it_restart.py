"""harenad dies by SIGKILL and comes back: sandboxes and commands don't notice, clients go on."""

import threading

import harena


def test_commands_and_streams_outlive_the_daemon(harenad, args):
    patient = harena.RetryPolicy(attempts=30, first_delay=0.05, max_delay=0.5)
    before = harenad.url
    with harenad.client(retry=patient) as client:
        sandbox = client.create(args)
        command = sandbox.start("for i in $(seq 1 300); do echo line $i; sleep 0.01; done; echo END")
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(chunk.data for chunk in command.stream()))
        reader.start()
        harenad.kill()
        harenad.restart()
        assert harenad.url == before
        reader.join(timeout=60)
        assert not reader.is_alive()
        assert b"".join(lines).decode() == "".join(f"line {n}\n" for n in range(1, 301)) + "END\n"
        assert command.exit.code == 0
        assert sandbox.refresh().state == "running" and sandbox.run("echo still here").stdout == "still here\n"
        sandbox.stop()
