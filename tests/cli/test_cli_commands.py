"""Everything else that `harena` does, and how it says that it can't."""

import io
import json
import os
import socket
import subprocess
import tarfile
import threading

import pytest


def test_create_types_params_by_the_schema(cli, fake):
    box = cli.out("create", "--backend", "container", "--image", "root/base:v1", "-p", "cpu=2", "--memory", "1GiB", "-p", "hosts=a,b",
                  "-p", "readonly=true", "-l", "run=7", "--task", "t", "--idle-ttl", "10m", "--lifetime", "2h").strip()
    sandbox = fake.sandboxes[box]
    assert sandbox["params"] == {"cpu": 2, "memory": "1GiB", "hosts": ["a", "b"], "readonly": True}
    assert sandbox["labels"] == {"run": "7"} and sandbox["idle_ttl_s"] == 600 and sandbox["lifetime_s"] == 7200


@pytest.mark.parametrize("args, words", [
    (["create", "-p", "memroy=1"], "did you mean 'memory'"),
    (["create", "-p", "cpu=fast"], "isn't of type number"),
    (["create", "--cpu", "fast"], "isn't of type number"),
    (["create", "--io-weight", "7"], "no parameter 'io_weight'"),
    (["create", "-p", "cpu"], "key=value"),
    (["create", "--backend", "contaner", "-p", "cpu=1"], "did you mean 'container'"),
    (["create", "--idle-ttl", "-5"], "--idle-ttl is '-5'"),
    (["create", "root/base:missing"], "root/base:missing"),
    (["creat"], "did you mean 'create'"),
    (["create", "--ttl", "5", "root/base:v1"], "there is no option '--ttl', did you mean '--idle-ttl'"),
    (["exec", "--tiemout=3", "x", "--", "ls"], "there is no option '--tiemout', did you mean '--timeout'"),
    (["ls", "--stat"], "--stat"),
    (["ls", "--", "x"], "takes no command"),
    (["port", "x", "0"], "0"),
    (["images", "import", "root/a:b"], "one source"),
    (["images", "import", "root/a:b", "--docker", "docker://x", "--upload", "y.tar"], "2 were given"),
    (["images", "import", "root/a:b", "folder"], "see harena images import --help"),
    ([], "subcommand"),
])
def test_bad_input_is_one_sentence(cli, args, words):
    assert words in cli.err(*args)


def test_errors_as_json(cli):
    done = cli("inspect", "nosuch", "--json", code=125)
    assert json.loads(done.stderr)["error"]["code"] == "not_found" and not done.stdout


def test_who_and_where(cli, fake):
    assert "the token isn't known" in cli.err("ls", env={"HARENA_TOKEN": "wrong"})
    assert b"HARENA_URL or --url" in cli("ls", env={"HARENA_URL": "http://127.0.0.1:1"}, code=125).stderr
    assert "set HARENA_TOKEN" in cli.err("ls", env={"HARENA_URL": "http://far.example", "HARENA_TOKEN": ""})
    assert "isn't the URL" in cli.err("ls", "--url", "7300")
    assert cli.out("ls", "-q", "--url", fake.url, env={"HARENA_URL": "http://127.0.0.1:1"}) == ""


def test_lists_and_verbs(cli, box):
    other = cli.out("create", "-l", "run=7", "--task", "t").strip()
    assert cli.out("ls", "-q").split() == sorted([box, other])
    assert cli.out("ls", "-q", "-l", "run=7").split() == [other] == cli.out("ls", "-q", "--task", "t").split()
    assert json.loads(cli.out("ls", "--json"))[0]["state"] == "running"
    assert cli.out("pause", box).strip() == box
    assert json.loads(cli.out("inspect", box))[0]["state"] == "paused"
    cli("resume", box)
    done = cli("stop", box, "nosuch", other, code=125)
    assert done.stdout.split() == [box.encode(), other.encode()] and b"nosuch" in done.stderr
    assert cli.out("ls", "-q") == "" and len(cli.out("ls", "-a", "-q").split()) == 2
    assert cli.out("ls").split() == ["ID", "BACKEND", "STATE", "AGE", "IMAGE", "PROJECT", "TASK"]


def test_a_lost_reply_never_makes_two(cli, fake):
    fake.fault("POST", "/sandboxes$", "after")
    cli("create")
    assert len(fake.sandboxes) == 1 and fake.count("POST", "/sandboxes$") == 2


def test_hostile_texts_cant_drive_the_terminal(cli, fake):
    box = cli.out("create", "--task", "x\x1b[2Jy").strip()
    assert "\x1b" not in cli.out("ls") and "x?[2Jy" in cli.out("ls") and box


@pytest.mark.parametrize("how", [[], ["--parallel", "8"]])
def test_folders_both_ways(cli, box, tmp_path, fake, how):
    source = tmp_path / "source"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (source / "sub" / "run.sh").chmod(0o751)
    (source / "link").symlink_to("sub/run.sh")
    (source / "not utf8 \udcff 'x\n").write_bytes(os.urandom(300_000))
    for number in range(30):
        (source / f"f{number}").write_bytes(b"%d" % number)
    os.link(source / "f1", source / "sub" / "same")
    for _ in range(2):
        report = json.loads(cli.out("cp", "--json", *how, str(source), f"{box}:/dest"))
        assert report["files"] == 33
    # The second time /dest was there: as with cp -r, it went into it.
    assert json.loads(cli.out("cp", "--json", *how, f"{box}:/dest", str(tmp_path / "back")))["files"] == 66
    same = os.path.samefile(tmp_path / "back" / "f1", tmp_path / "back" / "sub" / "same")
    assert same == (not how) and fake.count("GET", "/archive") == (0 if how else 1)  # a stream keeps hard links
    assert subprocess.run(["diff", "-r", "--no-dereference", source, tmp_path / "back" / "source"]).returncode == 0
    assert (tmp_path / "back" / "sub" / "run.sh").stat().st_mode & 0o777 == 0o751
    assert os.readlink(tmp_path / "back" / "link") == "sub/run.sh"
    cli("cp", *how, f"{box}:/dest/source/.", str(tmp_path / "content"))
    assert subprocess.run(["diff", "-r", "--no-dereference", source, tmp_path / "content"]).returncode == 0


def test_a_cut_stream_of_a_folder_begins_again(cli, box, tmp_path, fake):
    source = tmp_path / "source"
    source.mkdir()
    for number in range(20):
        (source / f"f{number}").write_bytes(os.urandom(50_000))
    fake.fault("PUT", "/archive", "before", times=2)
    assert json.loads(cli.out("cp", "--json", str(source), f"{box}:/dest")) == {"files": 20, "bytes": 1_000_000}
    fake.fault("GET", "/archive", "middle", times=2, bytes=500_000)
    assert json.loads(cli.out("cp", "--json", f"{box}:/dest", str(tmp_path / "back"))) == {"files": 20, "bytes": 1_000_000}
    assert subprocess.run(["diff", "-r", source, tmp_path / "back"]).returncode == 0
    assert fake.count("PUT", "/archive") == 3 == fake.count("GET", "/archive")


def test_single_files_and_places(cli, box, tmp_path, fake):
    local = tmp_path / "a.txt"
    local.write_text("text")
    cli("cp", str(local), f"{box}:/b.txt")
    cli("exec", box, "--", "mkdir", "d")
    cli("cp", str(local), f"{box}:/d")
    fake.fault("GET", r"/files\?", "middle", bytes=2)
    cli("cp", f"{box}:/d/a.txt", str(tmp_path))
    cli("cp", f"{box}:/b.txt", str(tmp_path / "c.txt"))
    assert (tmp_path / "c.txt").read_text() == "text" == local.read_text()
    assert "one of the two" in cli.err("cp", str(local), "/elsewhere")
    assert "absolute" in cli.err("cp", str(local), f"{box}:b.txt")
    assert "nope" in cli.err("cp", str(tmp_path / "nope"), f"{box}:/x")
    assert "isn't there" in cli.err("cp", f"{box}:/nope", str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    assert "can't be copied" in cli.err("cp", str(tmp_path), f"{box}:/x")


def test_stdin_and_stdout_of_a_copy(cli, box, fake):
    data = os.urandom(300_000)
    cli("cp", "-", f"{box}:/in.bin", input=data)
    assert cli("cp", f"{box}:/in.bin", "-").stdout == data
    cli("exec", box, "--", "mkdir", "d")
    cli("cp", "-", f"{box}:/d/f", input=b"text")
    with tarfile.open(fileobj=io.BytesIO(cli("cp", f"{box}:/d", "-").stdout)) as tar:
        assert tar.extractfile("f").read() == b"text"
    assert "/d/NAME" in cli.err("cp", "-", f"{box}:/d", input=b"x")
    assert "one of the two" in cli.err("cp", "-", "-", input=b"x")
    assert "want stdout" in json.loads(cli("cp", "--json", f"{box}:/in.bin", "-", code=125).stderr)["error"]["message"]


def test_nothing_is_written_outside(cli, box, fake, tmp_path):
    cli("exec", box, "--", "mkdir", "loot")
    outside = tmp_path / "outside"
    outside.mkdir()
    file_by_file = ["--parallel", "2"]
    fake.evil_entries = [{"type": "file", "size": 1, "mode": "0644", "name": "x", "path": "/loot/../../evil"}]
    assert "isn't a plain path" in cli.err("cp", *file_by_file, f"{box}:/loot/.", str(tmp_path / "here"))
    fake.evil_entries = []
    fake.evil_members = [tarfile.TarInfo("../evil")]
    assert "isn't a plain path" in cli.err("cp", f"{box}:/loot/.", str(tmp_path / "here"))
    fake.evil_members = []
    cli("exec", box, "--", "ln", "-s", str(outside), "loot/a")
    cli("cp", f"{box}:/loot/.", str(tmp_path / "here"))
    cli("exec", box, "--", "sh", "-c", "rm loot/a; mkdir loot/a; echo mine > loot/a/passwd")
    for how in ([], file_by_file):
        assert "isn't a folder here" in cli.err("cp", *how, f"{box}:/loot/.", str(tmp_path / "here"))
    assert not list(outside.iterdir())


def test_port_forward(cli, box, fake):
    listener = socket.create_server(("127.0.0.1", 0))
    fake.ports[80] = listener.getsockname()[1]

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                got = b""
                while data := peer.recv(65536):
                    got += data
                peer.sendall(b"%d:" % len(got) + got[::-1])
    threading.Thread(target=serve, daemon=True).start()
    process = cli.start("port-forward", box, "0:80", "0:81", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        addresses = [process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1) for _ in range(2)]
        for _ in range(3):
            payload = os.urandom(1_000_000)
            with socket.create_connection((addresses[0][0], int(addresses[0][1]))) as peer:
                peer.sendall(payload)
                peer.shutdown(socket.SHUT_WR)  # the answer comes only if the half-close is passed on
                got = b""
                while data := peer.recv(65536):
                    got += data
            assert got == b"1000000:" + payload[::-1]
        with socket.create_connection((addresses[1][0], int(addresses[1][1]))) as peer:
            assert peer.recv(1) == b""
        assert b"nothing listens on port 81" in process.stderr.readline()
    finally:
        process.terminate()
        process.wait()
        listener.close()


def test_images(cli, tmp_path, fake):
    done = cli("images", "import", "root/base:v1", "--docker", "docker://python:3.12")
    assert done.stdout.startswith(b"root/base:v1 sha256:") and b"copying layer 1 of 1" in done.stderr
    archive = tmp_path / "a.tar"
    archive.write_bytes(os.urandom(2_000_000))
    assert json.loads(cli.out("images", "import", "root/up:v1", "--upload", str(archive), "--json"))["size"] == 2_000_000
    cli("images", "tag", "root/base:v1", "root/base:latest")
    assert [one["reference"] for one in json.loads(cli.out("images", "--json"))] == ["root/base:latest", "root/base:v1", "root/up:v1"]
    assert "root/up:v1" in cli.out("images", "--prefix", "root/u")
    assert json.loads(cli.out("images", "inspect", "root/base:v1"))["reference"] == "root/base:v1"
    cli("images", "rm", "root/base:v1")
    assert "root/base:v1" in cli.err("images", "rm", "root/base:v1")
    done = cli("images", "import", "root/base:broken", "--folder", "/x", code=125)
    assert b"error: the archive is cut off" in done.stderr


def test_the_installation(cli, fake):
    assert "container" in cli.out("backends") and "cpu" in cli.out("backends")
    assert "org.harena.container" in cli.out("plugins") and "healthy" in cli.out("nodes")
    assert "Linux" in cli.out("doctor")
    fake.findings = [{"id": "x", "level": "error", "what": "no cgroups", "why": "no limits", "fix": "mount them"}]
    assert "fix: mount them" in cli.out("doctor", code=1)
    assert "server 0.1.0" in cli.out("version")
    assert "server unknown" in cli.out("version", env={"HARENA_URL": "http://127.0.0.1:1"})


def test_tokens_and_projects(cli):
    assert cli.out("token", "create", "ci", "--permission", "sandbox_use", "--expires", "30d") == "s3cret\n"
    listed = json.loads(cli.out("token", "ls", "--json"))
    assert "s3cret" not in cli.out("token", "ls")
    cli("token", "rm", listed[0]["id"])
    assert cli.out("project", "create", "root/rl") == "root/rl\n" and "root/rl" in cli.out("project", "ls")
    cli("project", "rm", "root/rl")
    assert "subcommand" in cli.err("token")
    assert "--permission" in cli.err("token", "create", "ci")


def test_completion_in_bash(cli, box):
    script = cli.out("completion", "bash")

    def complete(*words):
        program = script + f"\nCOMP_WORDS=(harena {' '.join(words)} ''); COMP_CWORD={len(words) + 1}; _harena; echo ${{COMPREPLY[@]}}"
        env = {**cli.env, "PATH": os.path.dirname(cli.binary) + ":" + os.environ["PATH"]}
        return subprocess.run(["bash", "-c", program], env=env, capture_output=True, text=True, check=True).stdout.split()

    assert {"create", "exec", "images", "--json"} <= set(complete())
    assert {"--env", "--tty", box} <= set(complete("exec"))
    assert {"import", "tag", "--prefix"} <= set(complete("images"))
    assert {"--docker", "--kind"} <= set(complete("images", "import"))
    assert "_harena" in cli.out("completion", "zsh")
