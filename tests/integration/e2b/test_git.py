"""`sandbox.git`: git inside, through E2B's Python SDK."""

import pytest


@pytest.fixture
def sandbox(sdk):
    made = sdk.Sandbox.create(timeout=120)
    made.git.configure_user("Ada", "ada@example.org")
    return made


@pytest.fixture
def repository(sandbox):
    sandbox.git.init("/home/user/repo", initial_branch="main")
    sandbox.files.write("/home/user/repo/README.md", "first\n")
    sandbox.git.add("/home/user/repo")
    sandbox.git.commit("/home/user/repo", "The first")
    return "/home/user/repo"


def test_init_add_commit(sandbox, repository):
    log = sandbox.commands.run("git log --format='%an %s'", cwd=repository)
    assert log.stdout == "Ada The first\n"


def test_status(sandbox, repository):
    assert sandbox.git.status(repository).is_clean
    sandbox.files.write(f"{repository}/new.txt", "x")
    status = sandbox.git.status(repository)
    assert not status.is_clean and [one.name for one in status.file_status] == ["new.txt"]
    assert status.current_branch == "main"


def test_branches(sandbox, repository):
    sandbox.git.create_branch(repository, "side")
    found = sandbox.git.branches(repository)
    assert found.current_branch == "side" and set(found.branches) == {"main", "side"}
    sandbox.git.checkout_branch(repository, "main")
    assert sandbox.git.branches(repository).current_branch == "main"
    sandbox.git.delete_branch(repository, "side", force=True)
    assert set(sandbox.git.branches(repository).branches) == {"main"}


def test_clone_push_pull(sandbox, repository):
    sandbox.commands.run(f"git clone --bare {repository} /home/user/bare.git")
    sandbox.git.clone("/home/user/bare.git", path="/home/user/copy")
    assert sandbox.files.read("/home/user/copy/README.md") == "first\n"
    sandbox.files.write("/home/user/copy/README.md", "second\n")
    sandbox.git.add("/home/user/copy")
    sandbox.git.commit("/home/user/copy", "The second")
    sandbox.git.push("/home/user/copy", remote="origin", branch="main")
    sandbox.git.remote_add(repository, "origin", "/home/user/bare.git")
    sandbox.git.pull(repository, remote="origin", branch="main")
    assert sandbox.files.read(f"{repository}/README.md") == "second\n"


def test_remotes(sandbox, repository):
    sandbox.git.remote_add(repository, "origin", "https://git.example.org/x.git")
    assert sandbox.git.remote_get(repository, "origin") == "https://git.example.org/x.git"
    assert sandbox.git.remote_get(repository, "other") is None


def test_credentials_are_kept(sandbox):
    sandbox.git.dangerously_authenticate("ada", "secret", host="git.example.org", protocol="https")
    asked = sandbox.commands.run("printf 'protocol=https\\nhost=git.example.org\\n\\n' | git credential fill")
    assert "username=ada\npassword=secret" in asked.stdout


def test_restore_and_reset(sandbox, repository):
    sandbox.files.write(f"{repository}/README.md", "changed\n")
    sandbox.git.restore(repository, paths=["README.md"])
    assert sandbox.files.read(f"{repository}/README.md") == "first\n"
    sandbox.files.write(f"{repository}/README.md", "changed\n")
    sandbox.git.reset(repository, mode="hard")
    assert sandbox.files.read(f"{repository}/README.md") == "first\n"


def test_configuration(sandbox, repository):
    sandbox.git.set_config("core.editor", "vi", scope="local", path=repository)
    assert sandbox.git.get_config("core.editor", scope="local", path=repository) == "vi"


def test_a_repository_that_is_not_there(sdk, sandbox):
    with pytest.raises(Exception):
        sandbox.git.clone("/home/user/never-was", path="/home/user/x")
