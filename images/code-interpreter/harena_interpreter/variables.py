"""Inside the Python kernel: the environment for the length of one execution (environment.py)."""

import os

_saved = {}


def put(variables):
    os.environ.update(variables)


def push(variables):
    _saved.clear()
    _saved.update({name: os.environ.get(name) for name in variables})
    put(variables)


def pop():
    for name, value in _saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _saved.clear()
