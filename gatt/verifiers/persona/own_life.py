"""The life that a reply claims for its speaker, beside the terms of the role. English only.

A figure of history has no printer and went to no high school. A speaker with a bench, a shop or a class
of its own may be the one that was asked for, although no term of the role is named: a rule cannot tell.
"""

from __future__ import annotations

from gatt.verifiers.phrases import Patterns

_RE = Patterns("own_life")
WORKS_IN = _RE.WORKS_IN
"""Of a folded reply: a field of work of today."""


def modern_claim(folded: str) -> tuple[int, int] | None:
    """Return where the speaker claims a life of today, None if it does not.

    Args:
        folded: of `gatt.verifiers.text.folding.fold`.
    """
    for found in (*_RE.MODERN.finditer(folded), *WORKS_IN.finditer(folded)):
        if not _RE.STRANGE.search(found[0]):
            return found.span()
    return None


def speaks_of_own_life(folded: str) -> bool:
    """Whether the speaker tells of things or deeds of its own, as an assistant does not."""
    return _RE.OWN_LIFE.search(folded) is not None and not _RE.ASSISTS.search(folded)
