"""harena e2b env."""

import json
import re


def test_without_a_key_it_says_how_to_make_one(cli, e2b_env):
    lines = cli.out("e2b", "env").splitlines()
    assert lines[0] == "export E2B_API_URL=" + e2b_env["E2B_API_URL"]
    assert lines[1] == "export E2B_SANDBOX_URL=" + e2b_env["E2B_API_URL"]
    assert lines[2].startswith("# no key yet: harena e2b env --create-key NAME")


def test_a_key_that_is_one_is_printed(cli, e2b_env):
    cli.env["HARENA_TOKEN"] = cli.out("e2b", "env", "--create-key", "x", "--json").split('"E2B_API_KEY"')[1].split('"')[1]
    lines = cli.out("e2b", "env", "--frontend-url", "https://e2b.example.org").splitlines()
    assert lines == ["export E2B_API_URL=https://e2b.example.org", "export E2B_SANDBOX_URL=https://e2b.example.org",
                     "export E2B_API_KEY=" + cli.env["HARENA_TOKEN"]]


def test_json(cli, e2b_env):
    document = json.loads(cli.out("e2b", "env", "--create-key", "x", "--expires", "1h", "--json"))
    assert document["E2B_API_URL"] == document["E2B_SANDBOX_URL"] == e2b_env["E2B_API_URL"]
    assert re.fullmatch("e2b_[0-9a-f]{64}", document["E2B_API_KEY"])


def test_plugins_say_where_they_listen(cli):
    listed = json.loads(cli.out("plugins", "--json"))
    assert [one["listen"] for one in listed if one["id"] == "dev.harena.e2b"], "where it listens is listed"
