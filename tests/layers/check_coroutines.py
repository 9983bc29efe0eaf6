#!/usr/bin/env python3
"""Finds what gcc 12 miscompiles in coroutines: inside a co_await's own expression it destroys twice the temporaries of a
conditional operator and of a braced list (each was a crash here). Name the value first.

    check_coroutines.py [ROOT]    prints one line a place, exit 1 if there is any
"""
import pathlib
import re
import sys

CODE = ("*.cpp", "*.hpp")
ROOMS = ("sdk", "core", "plugins", "shim", "tests", "bench")
COMMENT = re.compile(r"//[^\n]*")
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
STATEMENT = re.compile(r"co_await\b[^;{}]*(?:\{[^;{}]*\}[^;{}]*)*;")
LAMBDA = re.compile(r"\[[^\]\[]*\]\s*(?:\([^()]*\))?[^{}();,]*\{")
# f(cond ? g() : h() + "x"): a branch that makes a temporary of a class. Plain values and names are fine.
CONDITIONAL = re.compile(r"\?[^:;]*[\w\])]\s*[({][^:;]*:|\?[^:;]*:[^;,)]*(?:\w\s*\(|\+)")
BRACED = re.compile(r"(?:\(|,|\b[A-Z]\w*)\s*\{[^{}]*[.\w\"][^{}]*\}")


def problems_of(text):
    text = TEXT.sub('""', COMMENT.sub("", text))
    for match in STATEMENT.finditer(text):
        statement = match.group(0)
        if LAMBDA.search(statement):
            continue  # what a lambda's body does is not in the expression
        line = text.count("\n", 0, match.start()) + 1
        if CONDITIONAL.search(statement):
            yield line, "a ?: that makes a temporary inside a co_await"
        if BRACED.search(statement):
            yield line, "a braced list inside a co_await"


def main(root):
    found = False
    for room in ROOMS:
        for pattern in CODE:
            for path in sorted((root / room).rglob(pattern)):
                for line, what in problems_of(path.read_text(errors="replace")):
                    print(f"{path.relative_to(root)}:{line}: {what}; give it a name first")
                    found = True
    return 1 if found else 0


def selftest():
    bad = ['co_await write(a ? f() : g() + "x");', "co_await dial(Request{.port = 1});", "co_await fetch({.method = 1});"]
    good = ["co_await send(ok ? 200 : 201, body);", "co_await blocking(pool, [&] { return T{1}; });", "co_await x(std::move(y));"]
    assert all(list(problems_of(text)) for text in bad), [list(problems_of(text)) for text in bad]
    assert not any(list(problems_of(text)) for text in good), [list(problems_of(text)) for text in good]


if __name__ == "__main__":
    selftest()
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
