"""The Python SDK against a real harenad and real containers."""

import asyncio
import hashlib
import os

import pytest

import harena


def test_the_whole_path(sandbox):
    assert sandbox.state == "running" and len(sandbox.id) == 20
    assert sandbox.run("echo $((6*7))").stdout == "42\n"
    sandbox.files.write("/root/note.txt", b"written from outside\n")
    assert sandbox.run(["cat", "/root/note.txt"]).stdout == "written from outside\n"
    assert sandbox.files.read("/root/note.txt") == b"written from outside\n"
    assert sandbox.stop().state == "stopped"
    assert sandbox.stop().state == "stopped"
    with pytest.raises(harena.FailedPrecondition):
        sandbox.run("true")


def test_every_field_of_the_argument_class_is_a_parameter_of_the_backend(client):
    import dataclasses

    schema = {one.name: one.params_schema for one in client.backends()}["container"]
    fields = {one.name for one in dataclasses.fields(harena.ContainerArgs) if one.metadata.get("param")}
    assert fields <= set(schema["properties"])


def test_limits_arrive(client, image):
    with client.create(harena.ContainerArgs(image=image, cpu=0.5, memory="64MiB", pids=32, env={"X": "from the image's maker"})) as sandbox:
        assert sandbox.run('echo "$X"').stdout == "from the image's maker\n"
        assert sandbox.usage()["pids"] == 0  # the platform's own init doesn't count
        sandbox.start("sleep 60")
        sandbox.start("sleep 63")
        assert sandbox.usage()["pids"] >= 1 and sandbox.usage()["memory_bytes"] > 0


def test_an_idempotency_key_makes_one(client, args):
    first = client.create(args, idempotency_key="it-key")
    assert client.create(args, idempotency_key="it-key").id == first.id
    first.stop()
    assert client.create(args, idempotency_key="it-key").id == first.id
    with pytest.raises(harena.AlreadyExists):
        client.create(harena.ContainerArgs(image=args.image), idempotency_key="it-key")


def test_bad_input_is_typed_and_named(client, args):
    with pytest.raises(harena.NotFound, match="root/nope:v1"):
        client.create(harena.ContainerArgs(image="root/nope:v1"))
    with pytest.raises(harena.HarenaError, match="acme"):
        client.create(harena.BackendArgs("acme"))
    with pytest.raises(harena.InvalidArgument, match="memroy"):
        client.create(harena.ContainerArgs(image=args.image, params={"memroy": 1}))
    for params in ({"cpu": 0}, {"cpu": -1}, {"cpu": "x"}, {"memory": "1"}, {"pids": 10**12}):
        with pytest.raises(harena.InvalidArgument, match=next(iter(params))):
            client.create(harena.ContainerArgs(image=args.image, params=params))
    with pytest.raises(harena.NotFound):
        client.get("local000000000000000")
    with harena.Client(client._transport.config.base_url, "wrong") as other, pytest.raises(harena.Unauthenticated):
        other.whoami()


def test_batch(client, args):
    made = list(client.create_batch(args, count=6))
    assert len({one.id for one in made}) == 6
    assert {one.run("echo $HOSTNAME; true").exit_code for one in made} == {0}
    for one in made:
        one.stop()
    mixed = [args, harena.ContainerArgs(image="root/nope:v1")]
    with pytest.raises(harena.BatchFailed) as caught:
        for one in client.create_batch(mixed):
            one.stop()
    assert list(caught.value.errors) == [1] and isinstance(caught.value.errors[1], harena.NotFound)


def test_pause_and_labels_and_lists(client, args):
    with client.create(harena.ContainerArgs(image=args.image, labels={"it": "7"}, task="it-task")) as sandbox:
        assert sandbox.pause().state == "paused" and sandbox.pause().state == "paused"
        assert sandbox.run("echo awake").stdout == "awake\n"
        assert sandbox.refresh().state == "running"
        sandbox.update(labels={"it": "8"})
        assert [one.id for one in client.list(labels={"it": "8"})] == [sandbox.id] == [one.id for one in client.list(task="it-task")]
        assert not list(client.list(labels={"it": "7"}))


def test_argv_env_and_bytes_are_exact(sandbox):
    odd = ["printf", "%s|", "a b", "'", '"', "$HOME", "-n", "\u2603", "new\nline", ""]
    assert sandbox.run(odd).stdout == "a b|'|\"|$HOME|-n|\u2603|new\nline||"
    value = "a\\b'c\"$HOME\n-n \u2603"
    assert sandbox.run(["sh", "-c", 'printf "%s|" "$X"'], env={"X": value}).stdout == value + "|"
    result = sandbox.run(r"printf '\377\000x\n\n'; printf err >&2; exit 7")
    assert result.stdout_bytes == b"\xff\0x\n\n" and result.stderr == "err" and result.exit_code == 7


def test_endings(sandbox):
    assert sandbox.run("kill -9 $$").exit.signal == "KILL"
    result = sandbox.run("echo partial; sleep 60 & sleep 60", timeout=1)
    assert result.exit.cause == "timeout" and result.stdout == "partial\n"
    # "[sleep]" is one that is dead and that init hasn't reaped yet.
    assert "sleep 60" not in sandbox.run(["ps"]).stdout
    for command, reason in ((["no-such-program"], "no_such_program"), (["/etc/passwd"], "not_executable")):
        with pytest.raises(harena.HarenaError) as caught:
            sandbox.run(command)
        assert caught.value.details["reason"] == reason, caught.value.details
    with pytest.raises(harena.HarenaError, match="/nowhere"):
        sandbox.run("true", cwd="/nowhere")
    with pytest.raises(harena.HarenaError, match="nobody-here"):
        sandbox.run("true", user="nobody-here")
    assert sandbox.run("id -u", user="user").stdout == "1000\n"


def test_streams_resume_and_many_readers(sandbox):
    command = sandbox.start("for i in $(seq 1 2000); do echo line $i; done; sleep 0.3; echo END")
    expected = "".join(f"line {n}\n" for n in range(1, 2001)) + "END\n"
    assert command.result().stdout == expected
    assert command.result().stdout == expected
    tail = b"".join(chunk.data for chunk in sandbox.commands.get(command.id).stream(stdout_offset=len(expected) - 4))
    assert tail == b"END\n"


def test_stdin_large_and_closed(sandbox):
    data = os.urandom(5_000_000)
    assert sandbox.run(["sha256sum"], input=data).stdout.split()[0] == hashlib.sha256(data).hexdigest()
    assert sandbox.run(["cat"]).stdout == ""
    assert sandbox.run(["head", "-c", "3"], input=data).stdout_bytes == data[:3]


def test_pty(sandbox):
    command = sandbox.start(["sh", "-c", "stty size; read x; stty size; echo got $x"], pty=(24, 80))
    seen = b""
    for chunk in command.stream():
        seen += chunk.data
        if b"24 80" in seen and b"resized" not in seen:
            command.resize(50, 132)
            command.write_stdin("hello\n")
            seen += b"resized"
    assert b"50 132" in seen and b"got hello" in seen


def test_ops_signals_and_kill(sandbox):
    first = sandbox.start("echo x", op="it-op")
    assert sandbox.start("echo x", op="it-op").id == first.id
    with pytest.raises(harena.AlreadyExists):
        sandbox.start("echo y", op="it-op")
    sleeper = sandbox.start("sleep 60")
    sleeper.signal("TERM")
    assert sleeper.wait().signal == "TERM"
    nested = sandbox.start("sleep 61 & sleep 61")
    nested.kill()
    assert nested.wait().signal == "KILL"
    nested.forget()


def test_cancelling_kills(harenad, args):
    async def main():
        async with harenad.async_client() as client, await client.create(args) as sandbox:
            task = asyncio.ensure_future(sandbox.run("sleep 62"))
            while "sleep 62" not in (await sandbox.run(["ps"])).stdout:
                await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The kill is under way when the cancellation returns.
            await asyncio.wait_for(gone(sandbox), 5)

    async def gone(sandbox):
        while "sleep 62" in (await sandbox.run(["ps"])).stdout:
            await asyncio.sleep(0.02)

    asyncio.run(main())


def test_many_at_once(harenad, args):
    async def main():
        async with harenad.async_client() as client, await client.create(args) as sandbox:
            results = await asyncio.gather(*(sandbox.run(["sh", "-c", f"exit {n % 8}"]) for n in range(100)))
            assert [result.exit_code for result in results] == [n % 8 for n in range(100)]

    asyncio.run(main())


@pytest.mark.parametrize("name", ["plain", "文件 \"a'b.txt", "new\nline", "%2F%", "?a=b&c#d", "x" * 255, os.fsdecode(b"bad-\xff")])
def test_any_file_name(sandbox, name):
    path = "/work/" + name
    sandbox.files.write(path, b"body \0\xff", parents=True)
    assert sandbox.files.read(path) == b"body \0\xff" and sandbox.files.stat(path).path == path
    assert name in [entry.name for entry in sandbox.files.list("/work")]
    sandbox.files.remove(path)
    assert not sandbox.files.exists(path)


def test_folders_both_ways(sandbox, tmp_path):
    source = tmp_path / "source"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "run.sh").chmod(0o751)
    (source / "link").symlink_to("sub")
    (source / "big").write_bytes(os.urandom(3_000_000))
    sandbox.files.upload(source, "/dest")
    assert sandbox.run(["/dest/run.sh"]).stdout == "ran\n"
    sandbox.files.download("/dest", tmp_path / "back")
    assert (tmp_path / "back" / "big").read_bytes() == (source / "big").read_bytes()
    assert os.readlink(tmp_path / "back" / "link") == "sub" and (tmp_path / "back" / "sub" / "empty").is_dir()
    assert (tmp_path / "back" / "run.sh").stat().st_mode & 0o777 == 0o751


def test_a_download_follows_the_link_that_is_named_and_replaces_files_only(sandbox, tmp_path):
    import os

    import harena

    sandbox.run("mkdir -p /srv; echo text > /srv/f; chmod 640 /srv/f; ln -s f /srv/link", check=True)
    assert sandbox.files.stat("/srv/link").type == "symlink" and sandbox.files.stat("/srv/link", follow=True).size == 5
    seen = []
    sandbox.files.download("/srv/link", tmp_path / "got", progress=lambda at: seen.append((at.done_bytes, at.total_bytes)))
    assert (tmp_path / "got").read_text() == "text\n" and (tmp_path / "got").stat().st_mode & 0o777 == 0o640 and seen[-1] == (5, 5)
    (tmp_path / "by-link").symlink_to("got")
    sandbox.files.download("/etc/passwd", tmp_path / "by-link")
    assert (tmp_path / "by-link").is_symlink() and "root:" in (tmp_path / "got").read_text()
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(harena.InvalidArgument, match="fifo"):
        sandbox.files.download("/srv/f", tmp_path / "fifo")
    with pytest.raises(harena.InvalidArgument, match="folder"):
        sandbox.files.download("/srv/f", tmp_path)


def test_what_is_below_a_file_does_not_exist(sandbox):
    assert not sandbox.files.exists("/etc/passwd/x") and not sandbox.files.exists("/no/such") and sandbox.files.exists("/etc/passwd")
    with pytest.raises(TypeError, match="upload"):
        sandbox.files.write("/srv/x", 5)


def test_file_errors(sandbox):
    with pytest.raises(harena.NotFound):
        sandbox.files.read("/nope")
    sandbox.run("mkfifo /tmp/pipe; ln -s /etc/passwd /tmp/link")
    with pytest.raises(harena.HarenaError):
        sandbox.files.read("/tmp/pipe")
    assert sandbox.files.stat("/tmp/link").target == "/etc/passwd"
    with pytest.raises(harena.HarenaError):
        sandbox.files.read("/etc")


def test_ports(sandbox):
    sandbox.files.write("/www/index.html", "hello from inside", parents=True)
    sandbox.start(["httpd", "-f", "-p", "127.0.0.1:8080", "-h", "/www"])
    sandbox.run("until wget -q -O /dev/null http://127.0.0.1:8080/; do sleep 0.05; done", timeout=20, check=True)
    assert sandbox.ports.request("GET", 8080, "/index.html").text == "hello from inside"
    assert sandbox.ports.request("GET", 8080, "/nope").status_code == 404
    with sandbox.ports.tcp(8080) as stream:
        stream.write(b"GET /index.html HTTP/1.0\r\n\r\n")
        answer = b""
        while data := stream.read():
            answer += data
    assert answer.endswith(b"hello from inside")
    with pytest.raises(harena.Unavailable) as caught:
        sandbox.ports.tcp(8081)
    assert caught.value.details["reason"] == "port_closed"


def test_images(client, image, tmp_path):
    import tarfile

    (tmp_path / "hello").write_text("from a tar\n")
    with tarfile.open(tmp_path / "layer.tar", "w") as tar:
        tar.add(tmp_path / "hello", "srv/hello")
    steps = []
    client.images.import_image("root/hello:v1", kind="workspace", upload=tmp_path / "layer.tar", progress=steps.append)
    assert "root/hello:v1" in [one.reference for one in client.images.list("root/")] and steps
    with client.create(harena.ContainerArgs(image=image, workspaces=["root/hello:v1"])) as sandbox:
        assert sandbox.run("cat /srv/hello").stdout == "from a tar\n"
    client.images.tag("root/hello:v1", "root/hello:latest")
    client.images.delete("root/hello:v1")
    assert client.images.manifest("root/hello:latest")
    with pytest.raises(harena.HarenaError, match="no/such|/no/such"):
        client.images.import_image("root/x:v1", folder="/no/such")


def test_the_installation(client):
    assert client.version()["version"] and client.whoami()["project"] == "root"
    assert {"container"} <= {one.name for one in client.backends()}
    assert client.nodes() and client.plugins() and client.doctor()
    assert client.openapi()["openapi"].startswith("3.1")
    client.create_project("root/it")
    token = client.create_token("it", ["sandbox_read"], project="root/it")
    with harena.Client(client._transport.config.base_url, token["secret"]) as other:
        assert other.whoami()["project"] == "root/it"
    client.delete_token(token["id"])
    client.delete_project("root/it")


def test_the_published_examples(harenad, image, monkeypatch):
    monkeypatch.setenv("HARENA_URL", harenad.url)
    monkeypatch.setenv("HARENA_TOKEN", harenad.token)

    async def listing_one():
        client = harena.DSecClient()
        await client.open()
        sandbox = await client.run_container(harena.DSecContainerRunArgs(
            container_image=image, memory_limit_mb=256, cpu_cores_limit=1, ttl_running_stop=300,
            network_rules={"npm": False, "pypi": False}, init_user="root"), timeout=120)
        result = await sandbox.run_shell("echo hello world")
        await sandbox.stop()
        await client.close()
        return result.stdout

    async def the_other():
        async with harena.DSecClient() as client:
            sb = await client.run_sandbox(harena.DSecRunArgs(backend="container", image=image))
            result = await sb.run_shell("echo hi")
            for child in await sb.fork(count=2):
                assert (await child.run_shell("echo hi")).stdout == "hi\n"
                await child.stop()
            await sb.stop()
            return result.stdout

    assert asyncio.run(listing_one()) == "hello world\n" and asyncio.run(the_other()) == "hi\n"
