"""Files in exactly the shapes of SEQUOR's, with content made up."""

import json

DUTCH = ("t-1", "Answer in Dutch")
FUNNY = ("t-2", "Be funny")
SHORT = ("t-3", "Use two sentences")
SHANTY = ("t-4", "Write as a sea shanty")


NUM_TURNS = 126
LEGS = {
    1: (DUTCH,),
    20: (DUTCH, SHORT),
    40: (DUTCH, SHORT, FUNNY, SHANTY),
    60: (SHORT,),
    80: (DUTCH, SHORT),
    90: (SHORT, SHANTY),
    100: (FUNNY, SHANTY),
}
"""One further constraint, two, replaced by one, one further, replaced in part, replaced by others."""


def long_testset():
    """A test set as long as SEQUOR's, with changes of every kind at the turns of `LEGS`."""
    rows, held = [], ()
    for number in range(1, NUM_TURNS + 1):
        before, held = held, LEGS.get(number, held)
        words = None
        if held != before:
            is_added = set(before) < set(held)
            words = "As well: " if is_added else "Only: "
            words += " ".join(text for _, text in held if not is_added or (_, text) not in before)
        rows.append(turn(number, *held, announced=words))
    return rows


def turn(number, *constraints, announced=None, **extra):
    task = f"Question {number}?"
    prompt = f"{announced}\n\n\n{task}" if announced else task
    data = [{"id": name, "text": text} for name, text in constraints]
    return {"prompt": prompt, "constraints_data": data, **extra}


def start(number, *constraints):
    """The first turn, with its announcement."""
    if len(constraints) == 1:
        return turn(number, *constraints, announced=f"In every reply: {constraints[0][1]}")
    rules = "\n".join(f"{n}. {text}" for n, (_, text) in enumerate(constraints, start=1))
    return turn(number, *constraints, announced=f"In every reply:\n{rules}")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
