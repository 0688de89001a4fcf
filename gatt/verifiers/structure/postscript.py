"""`postscript`: something added under the reply, behind "P.S."."""

from __future__ import annotations

import re
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.rule import Rule, quote
from gatt.verifiers.text.blocks import has_word

_ABBREVIATION = re.compile(r"(?:[^\W\d_]\.?\s?){1,4}")
# Behind a sentence on the same line, as in "I like tea! P.S. Bring milk." A letter alone in front
# of the full stop is part of another marker: "P. P.S.".
_ON_LINE = r"(?P<on_line>(?<=\w\w[.!?…])[.!?…]*[\"'”’)*_]*[ \t]+[*_(\[]*)"
_ON_NEW_LINE = r"^[ \t>*_#\[(]*"


class Postscript(Rule):
    """Passes if the marker starts a postscript, with something before and something behind it.

    It starts a line, or stands behind a sentence on the same line and in front of what
    starts like another ("P.S. is what comes last" adds nothing). Markdown in front of the
    marker makes no difference; in an abbreviation ("P.S.", "PS", "P. S.") full stops and
    spaces make none.

    Args:
        marker: what the postscript starts with.

    Raises:
        VerifierError: a blank marker.
    """

    kind = "postscript"
    version = 2
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"marker": "P.S."},
            good=(
                "I like tea.\n\nP.S. Bring some milk.",
                "I like tea.\n**P. S.:** bring\nsome milk",
                "I like tea.\nPS: I like milk too.",
                "I like tea! P.S. Bring some milk.",
            ),
            bad=(
                "I like tea.",
                "I like tea. P.S. is what comes last.",
                "I like tea, and the P.S. Bring milk.",
                "I like tea.\n\nP.S.",
                "P.S. I like tea.",
                "I like tea.\nPSALMS are songs.",
            ),
        ),
        Examples(
            {"marker": "P.P.S"},
            good=("I like tea.\nP.S. You too.\nP.P.S. Bring milk.", "Tea.\n\nPPS: milk"),
            bad=("I like tea.\n\nP.S. Bring some milk.", "P.P.S. I like tea."),
        ),
    )

    def __init__(self, *, marker: str) -> None:
        if not isinstance(marker, str) or not has_word(marker):
            raise VerifierError(
                f"verifier {self.kind!r}: 'marker' is {marker!r}: expected a text such as 'P.S.'"
            )
        plain = marker.strip()
        if _ABBREVIATION.fullmatch(plain) and "." in plain:
            letters = [c for c in plain if c.isalpha()]
            spelt = r"\.?[ \t]?".join(map(re.escape, letters)) + r"\.?"
        else:
            spelt = r"\s+".join(map(re.escape, plain.rstrip(":. ").split()))
        self._marker = plain
        self._regex = re.compile(
            rf"(?:{_ON_NEW_LINE}|{_ON_LINE})(?P<marker>{spelt})(?![^\W_])",
            re.MULTILINE | re.IGNORECASE,
        )

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        found = [m for m in self._regex.finditer(reply) if _opens(m)]
        if not found:
            return self.failed(f"no line or sentence starts with {self._marker!r}")
        match = found[-1]
        if not has_word(reply[match.end() :]):
            return self.failed(f"nothing behind {self._marker!r}", match.span("marker"))
        if not has_word(reply[: found[0].start()]):
            return self.failed(f"starts with {self._marker!r}", found[0].span("marker"))
        start = match.start("marker")
        return self.passed(f"adds {quote(reply[start:])}", (start, len(reply.rstrip())))


def _opens(match: re.Match[str]) -> bool:
    """Whether what follows the marker may be a postscript: on a line of its own, anything."""
    behind = match.string[match.end() :].lstrip(" \t:.,*_)]")
    return match["on_line"] is None or not behind[:1].islower()
