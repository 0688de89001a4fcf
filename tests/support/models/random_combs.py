"""Random combs for property tests: any number of turns, gaps, lengths, trunk labels."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from gatt.comb.comb import IGNORE, Branch, Comb

VOCABULARY = 97


@st.composite
def combs(draw: st.DrawFn, *, max_turns: int = 8) -> Comb:
    """Draw a comb of 1 to `max_turns` turns; some have no target (a gap).

    The shape is drawn, the ids come from one drawn seed, so that shrinking is quick.
    """
    num_turns = draw(st.integers(1, max_turns))
    has_trunk_labels = draw(st.booleans())
    rng = random.Random(draw(st.integers(0, 2**32)))

    def ids(length: int) -> tuple[int, ...]:
        return tuple(rng.randrange(VOCABULARY) for _ in range(length))

    trunk: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    branches = []
    for turn in range(num_turns):
        prompt = ids(draw(st.integers(1, 5)))
        trunk, labels = trunk + prompt, labels + (IGNORE,) * len(prompt)
        if draw(st.booleans()):
            target = ids(draw(st.integers(1, 4)))
            branches.append(Branch(len(trunk), target, target))
        if turn < num_turns - 1:
            reply = ids(draw(st.integers(1, 4)))
            trunk += reply
            labels += reply if has_trunk_labels else (IGNORE,) * len(reply)
    return Comb(trunk, labels, tuple(branches))
