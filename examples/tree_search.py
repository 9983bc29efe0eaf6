"""A search by forking a running machine: at each step every kept state is forked, each child tries one move, and the best child goes on.

The state of the search is the memory of a process in the machine: a shell that holds a number in a variable and is asked through a pipe. Nothing
is replayed or saved: a fork has the process as it is, in the middle of its loop. Each move adds to the number or multiplies it; the
search looks for the sequence of moves that comes nearest to a target.

    python3 examples/tree_search.py [IMAGE] [TARGET] [STEPS]

Needs the backend microvm (docs/microvm.md).
"""

import sys

from harena import Client, MicroVMArgs

MOVES = ["value + 7", "value * 3", "value * value % 101"]
PLAYER = """mkfifo /tmp/move /tmp/value
(value=1; while read move < /tmp/move; do value=$(( $move )); echo $value > /tmp/value; done) > /dev/null 2>&1 &"""


def play(machine, move):
    """One move in the machine's living process; the value that it has then."""
    return int(machine.run_shell(f"echo '{move}' > /tmp/move; cat /tmp/value", check=True).stdout)


def search(client, image, target, steps):
    best = client.create(MicroVMArgs(image=image, memory="192MiB", disk="64MiB"))
    best.run_shell(PLAYER, check=True)
    path = []
    for step in range(steps):
        children = best.fork(count=len(MOVES))
        values = [play(child, move) for child, move in zip(children, MOVES)]
        chosen = min(range(len(MOVES)), key=lambda i: abs(values[i] - target))
        path.append(MOVES[chosen])
        print(f"step {step + 1}: " + ", ".join(f"{move} = {value}" for move, value in zip(MOVES, values)) + f"; keeps {MOVES[chosen]}")
        for number, child in enumerate(children):
            if number != chosen:
                child.stop()
        best.stop()
        best = children[chosen]
        if values[chosen] == target:
            break
    value = play(best, "value + 0")
    best.stop()
    return value, path


def main(image="root/base:v1", target="50", steps="5"):
    with Client() as client:
        value, path = search(client, image, int(target), int(steps))
    print(f"found {value} for {target}: {' -> '.join(path)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
