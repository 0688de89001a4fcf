"""Whether a clause says a thing or denies it: English negations and reversals, counted.

"Never skip flossing" has two, hence says it; "Skip flossing" has one, hence denies it. Turns of
phrase whose negation denies nothing ("no charge", "why not", "not only") are not counted.
"""

from __future__ import annotations

from gatt.verifiers.phrases import Patterns

_RE = Patterns("polarity")


def clauses_around(sentence: str, start: int, end: int) -> list[str]:
    """Return the clauses of a folded sentence from the one that holds `start` to that before `end`."""
    stops = [(m.start(), m.end()) for m in _RE.CLAUSE_END.finditer(sentence)]
    lefts = [0, *(right for _, right in stops)]
    rights = [*(left for left, _ in stops), len(sentence)]
    return [
        sentence[left:right]
        for left, right in zip(lefts, rights, strict=True)
        if right > start and left < end
    ]


def num_negations(clause: str) -> int:
    """Return how many negations and reversals a folded clause has, turns of phrase left out."""
    rest = _RE.NEITHER.sub(r"not\1or", _RE.NEUTRAL.sub(" ", clause))
    return len(_RE.NEGATION.findall(rest)) + len(_RE.REVERSAL.findall(rest))


def is_denied(clause: str) -> bool:
    """Whether a folded clause denies what it names, or calls it needless."""
    return calls_needless(clause) or num_negations(clause) % 2 == 1


def calls_needless(clause: str) -> bool:
    """Whether a folded clause says that something need not be: "you don't have to", "no need"."""
    return bool(_RE.NEEDLESS.search(_RE.NEUTRAL.sub(" ", clause)))


def takes_back(text: str) -> bool:
    """Whether a folded text that follows a thing takes it back: "Late check-out? Not here."."""
    return bool(_RE.TAKEN_BACK.search(text))
