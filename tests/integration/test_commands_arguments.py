"""What a command is given arrives byte for byte: scripts, arguments, environment."""

import base64
import hashlib

VALUES = {
    "QUOTES": "it's \"quoted\" `twice` $(never run)",
    "BACKSLASHES": "\\ \\\\ \\n \\x41 \\0",
    "MINUS_N": "-n",
    "MINUS_E": "-e \\t",
    "NEWLINES": "a\nb\n\n",
    "DOLLAR": "$HOME ${HOME} $$ $(id)",
    "SNOW": "☃ naïve 雪 \U0001f328",
    "EMPTY": "",
    "SPACES": "  lead and trail  ",
    "PERCENT": "%s %d %%",
    "EQUALS": "=a=b=",
    "TAB_CR": "\t\r\b\x1b[31m",
    "LONG": "x" * 100_000,
}


def printed(box, **how):
    """`env -0` of a command, as a dict of bytes."""
    result = box.run(argv=["cat", "/proc/self/environ"], **how)
    text = result["stdout"].encode() if "stdout" in result else base64.b64decode(result["stdout_b64"])
    return dict(entry.split(b"=", 1) for entry in text.split(b"\0") if entry)


def test_environment_is_byte_exact(box):
    got = printed(box, env=VALUES)
    for name, value in VALUES.items():
        assert got[name.encode()] == value.encode(), name


def test_environment_through_the_shell(box):
    result = box.run('printf "%s|" "$QUOTES" "$BACKSLASHES" "$MINUS_N" "$NEWLINES" "$DOLLAR" "$SNOW"', env=VALUES)
    assert result["stdout"] == "|".join(VALUES[n] for n in ("QUOTES", "BACKSLASHES", "MINUS_N", "NEWLINES", "DOLLAR", "SNOW")) + "|"


def test_environment_replaced(box):
    assert printed(box, env={"ONLY": "1"}, replace_env=True) == {b"ONLY": b"1"}


def test_arguments_are_byte_exact(box):
    words = [v for v in VALUES.values() if "\n" not in v]
    result = box.run(argv=["sh", "-c", 'for a in "$@"; do printf "%s\\n" "$a"; done', "sh", *words])
    assert result["stdout"] == "".join(w + "\n" for w in words)


def test_a_script_that_looks_like_an_option_is_a_script(box):
    for text in ("-n", "--version", "-c 'echo no'", "+x"):
        for how in ({}, {"user": "user"}):
            result = box.run(text, **how)
            assert result["exit"]["code"] == 127 and "not found" in result["stderr"], (text, result)


def test_script_of_two_megabytes(box):
    """Over what execve(2) takes as one argument; comments, functions and data in it, and the exit of its last line."""
    lines = [f": {n:060d} '\\'' # snow ☃" for n in range(25_000)]
    script = "f() { echo \"$1\" $#; }\n" + "\n".join(line.replace("'\\''", "\"'\"") for line in lines) + "\nf 'done ☃' x; exit 9"
    assert 1_900_000 < len(script.encode()) < 3_000_000
    result = box.run(script)
    assert (result["stdout"], result["stderr"], result["exit"]["code"]) == ("done ☃ 2\n", "", 9)


def test_script_over_the_inline_size_sees_no_extra_descriptor(box):
    script = "ls /proc/self/fd | tr '\\n' ' '\n" + "# " + "x" * 200_000
    small = box.run("ls /proc/self/fd | tr '\\n' ' '")["stdout"]
    assert box.run(script)["stdout"] == small


def test_heredoc_of_a_megabyte(box):
    body = "".join(f"line {n} $HOME \\ `x`\n" for n in range(40_000))
    result = box.run("sha256sum <<'END_OF_IT'\n" + body + "END_OF_IT\n")
    assert result["stdout"].split()[0] == hashlib.sha256(body.encode()).hexdigest()


def test_working_folder_user_and_groups(box):
    result = box.run("pwd; id -u; id -g; id -G", cwd="/tmp", user="user", groups=["1000", "44"])
    assert result["stdout"] == "/tmp\n1000\n1000\n1000 44\n"
    assert box.run("id -u; id -g", user="1234:77")["stdout"] == "1234\n77\n"
