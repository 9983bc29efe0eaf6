"""Programs of real life that go on in every fork of a machine: a transaction that is open, an interpreter with what it was told."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import harena
from microvm_support import census, microvm_daemon, remove_groups
from tiny_image import make_tiny_image

LONG = os.environ.get("HARENA_LONG_TESTS") == "1"
SQLITE, PYTHON = "root/sqlite:v1", "root/python:v1"


def copy_program(name, root):
    """The host's program and the libraries that it names."""
    path = shutil.which(name)
    linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    files = [word for line in linked.splitlines() for word in line.split() if word.startswith("/")]
    shutil.copy(path, root / "bin" / Path(name).name)
    for file in files:
        target = root / file.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


def copy_python(root):
    copy_program("/usr/bin/python3", root)
    library = f"usr/lib/python{sys.version_info.major}.{sys.version_info.minor}"
    unused = shutil.ignore_patterns("test", "idlelib", "lib2to3", "tkinter", "distutils", "ensurepip", "config-*", "dist-packages")
    shutil.copytree(f"/{library}", root / library, ignore=unused, symlinks=True, ignore_dangling_symlinks=True)


@pytest.fixture(scope="module")
def vms():
    folder = tempfile.mkdtemp(prefix="harena-vmk-")
    try:
        daemon = microvm_daemon(folder)
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.stop()
        left = census()
        assert left["processes"] == [] and left["mounts"] == [], left
        remove_groups()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def api(vms):
    with vms.client() as client:
        yield client
        for sandbox in client.list(states=["running", "paused"]):
            sandbox.stop()


def make(vms, client, image, fill):
    root = make_tiny_image(Path(vms.folder) / image.split("/")[1].split(":")[0])
    fill(root)
    client.images.import_image(image, folder=str(root))
    return client.create(harena.MicroVMArgs(image=image, memory="256MiB", disk="64MiB"))


def lines(sandbox, text):
    return sandbox.run_shell(text, check=True).stdout


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 here; apt-get install sqlite3")
def test_a_transaction_goes_on_in_every_fork(vms, api):
    source = make(vms, api, SQLITE, lambda root: copy_program("sqlite3", root))
    lines(source, "sqlite3 /root/db 'create table t(x)'; mkfifo /tmp/sql; (sleep 100000 > /tmp/sql &) > /dev/null 2>&1;"
                  "(sqlite3 /root/db < /tmp/sql > /tmp/said 2>&1 &); echo 'begin immediate; insert into t values (1); select 7;' > /tmp/sql;"
                  "until grep -q . /root/db-journal 2>/dev/null; do sleep 0.05; done")
    everyone = [source, *source.fork(count=2)]
    for number, one in enumerate(everyone):
        # It is open here: nobody else may write, nobody sees the row.
        other = one.run_shell("sqlite3 /root/db 'insert into t values (99)'")
        assert other.exit.code != 0 and "locked" in other.stderr + other.stdout
        assert lines(one, "sqlite3 /root/db 'select count(*) from t'") == "0\n"
        lines(one, f"echo 'insert into t values ({number + 10}); commit;' > /tmp/sql;"
                   "i=0; until [ $(sqlite3 /root/db 'select count(*) from t') = 2 ]; do i=$((i+1)); [ $i -lt 200 ] || exit 9; sleep 0.05; done")
        assert lines(one, "sqlite3 /root/db 'select x from t order by x; pragma integrity_check'") == f"1\n{number + 10}\nok\n"


def ask(sandbox, number, *statements):
    """What the interpreter says until it has said that the question with this number is done."""
    text = "\n".join([*statements, f"print('done', {number})"])
    return lines(sandbox, f"cat > /tmp/in <<'END'\n{text}\nEND\n"
                          f"i=0; until grep -q '^done {number}$' /tmp/said; do i=$((i+1)); [ $i -lt 600 ] || exit 9; sleep 0.05; done;"
                          f"sed -n '/^done {number - 1}$/,/^done {number}$/p' /tmp/said | sed '/^done/d'")


def has_own_python():
    """The one that the library in the image is of."""
    version = subprocess.run(["/usr/bin/python3", "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return version.returncode == 0 and version.stdout.split() == [str(part) for part in sys.version_info[:2]]


@pytest.mark.skipif(not has_own_python(), reason="/usr/bin/python3 isn't the Python that runs the tests")
def test_an_interpreter_goes_on_with_its_variables_in_every_fork(vms, api):
    """As a kernel of a notebook does: a process that has imported, computed and opened something, and is asked again."""
    source = make(vms, api, PYTHON, copy_python)
    lines(source, "mkfifo /tmp/in; (sleep 100000 > /tmp/in &) > /dev/null 2>&1;"
                  "(/bin/python3 -i -u < /tmp/in > /tmp/said 2>/dev/null &); echo \"print('done', 0)\" > /tmp/in;"
                  "i=0; until grep -q 'done 0' /tmp/said; do i=$((i+1)); [ $i -lt 900 ] || exit 9; sleep 0.05; done")
    ask(source, 1, "import uuid, random", "table = {n: n * n for n in range(20000)}", "notes = open('/root/notes', 'w')",
        "_ = notes.write('from before')", "random.seed(7)")
    everyone = [source, *source.fork(count=16 if LONG else 2)]
    identities = set()
    for number, one in enumerate(everyone):
        assert ask(one, 2, "print(sum(table.values()), table[19999])") == "2666466670000 399960001\n"
        identities |= set(ask(one, 3, "print(uuid.uuid4())", f"table[0] = {number}", "notes.flush()").split())
        # What an interpreter's own generator drew its seed from is its memory: it is the same until it is seeded anew.
        assert ask(one, 4, "print(table[0], random.random())") == f"{number} 0.32383276483316237\n"
        assert lines(one, "cat /root/notes") == "from before"
    assert len(identities) == len(everyone)
