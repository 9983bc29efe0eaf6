"""An agent's loop: clone, test, edit, test again. See README.md. Usage: agent_loop.py [REPOSITORY]"""

import subprocess
import sys
import tempfile
from pathlib import Path

from e2b import CommandExitException, Sandbox

REPOSITORY = "/home/user/repository"
CALC = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\nassert add(2, 3) == 5, f'add(2, 3) is {add(2, 3)}, not 5'\nprint('all tests pass')\n"


def make_repository(folder):
    """What to work on when no repository is named: a function with a mistake, and its test."""
    Path(folder, "calc.py").write_text(CALC)
    Path(folder, "test_calc.py").write_text(TEST)
    git = ["git", "-C", folder, "-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "A function and its test"]):
        subprocess.run(git + command, check=True)
    return folder


def clone_into(sandbox, repository):
    """A bundle is a repository in one file: no network is needed, and only what is committed goes in."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder, "repository.bundle")
        subprocess.run(["git", "-C", repository, "bundle", "create", "-q", str(bundle), "HEAD"], check=True)
        sandbox.files.write("/tmp/repository.bundle", bundle.read_bytes())
    sandbox.commands.run(f"git clone -q /tmp/repository.bundle {REPOSITORY}")


def run_tests(sandbox):
    try:
        done = sandbox.commands.run("python3 -B test_calc.py", cwd=REPOSITORY)
        return True, done.stdout
    except CommandExitException as failed:
        return False, failed.stdout + failed.stderr


def model(text, complaint):
    """Your model's place: it sees a file and what the tests said, and answers with the file as it should be."""
    return text.replace("return a - b", "return a + b")


def main(repository):
    with Sandbox.create(timeout=300, metadata={"example": "agent_loop"}) as sandbox:
        clone_into(sandbox, repository)
        for round_number in range(1, 4):
            passed, said = run_tests(sandbox)
            print(f"round {round_number}: {said.strip().splitlines()[-1]}")
            if passed:
                break
            path = f"{REPOSITORY}/calc.py"
            sandbox.files.write(path, model(sandbox.files.read(path), said))
        print(sandbox.commands.run("git diff", cwd=REPOSITORY).stdout)
        return 0 if passed else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else make_repository(scratch)))
