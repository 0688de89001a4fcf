"""`likes`: the reply brings up what its speaker likes, and not only to deny it or to ask back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from gatt.errors import VerifierError
from gatt.verifiers.base import Examples, Verdict
from gatt.verifiers.folding import fold_text
from gatt.verifiers.matching import Hit, TermMatcher
from gatt.verifiers.rule import Rule, quote, require_texts
from gatt.verifiers.sentence_split import sentence_spans

# What a clause says of the term behind it: at most five words lie between.
_DENIES = re.compile(
    r"\b(?:(?:do|does|did|am|is|are|was|were|have|has|had|would|will|can|could)(?:n't| not)"
    r"|cannot|can't|won't|never|no longer|not|nothing(?! like| beats| better)|no|hate|dislike"
    r"|despise|stopped|quit|sick of|tired of|bored (?:by|with|of)|neither|nor)(?!,)"
    r"(?: (?!(?:but|and|so|only|just|because|until|than|without|help|wait|stop|miss|forget)\b)"
    r"[\w'-]+){0,5} $"
)
_OF_THE_USER = re.compile(r"\b(?:you|your|yours|you're|you've|u)\b")
_OF_MYSELF = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|our|us)\b")


class Likes(Rule):
    """Passes if one of the terms occurs in a sentence that neither denies nor only asks it.

    "I do not play tennis." denies it, "You like tennis? Great." asks it back.
    English only: in other languages every occurrence counts.

    Args:
        any_of: what one who likes it would name; terms as `TermMatcher` takes
            them, at least one.

    Raises:
        VerifierError: `any_of` is no list of texts, or has none.
    """

    kind = "likes"
    examples: ClassVar[tuple[Examples, ...]] = (
        Examples(
            {"any_of": ["tennis", "racket"]},
            good=(
                "A quiet weekend suits me, and on Sunday I play tennis.",
                "I can't wait to play tennis again.",
                "Not much happened today, but my racket broke.",
                "Do you want to join me for tennis?",
                "I never miss a tennis match.",
                "There is nothing like tennis, and I never go out without my racket.",
            ),
            bad=(
                "I don't play tennis.",
                "I have never heard of tennis.",
                "You like tennis? Great.",
                "I do not really know much about tennis, sorry.",
                "Do you play tennis?",
            ),
        ),
    )

    def __init__(self, *, any_of: Sequence[str]) -> None:
        self._terms = require_texts(self.kind, "any_of", any_of)
        if not self._terms:
            raise VerifierError(f"verifier {self.kind!r}: 'any_of' is empty: expected a term")
        self._matcher = TermMatcher(self._terms)

    def judge(self, reply: str) -> Verdict:
        """Return the verdict on a reply that is not degenerate."""
        hits = self._matcher.hits(reply)
        if not hits:
            asked = ", ".join(self._terms[:4]) + (", …" if len(self._terms) > 4 else "")
            return self.failed(f"says none of: {asked}")
        for hit in hits:
            if not _is_denied_or_asked(reply, hit):
                return self.passed(f"says {quote(hit.text)}", hit.span)
        return self.failed(f"only denies or asks {quote(hits[0].text)}", hits[0].span)


def _is_denied_or_asked(reply: str, hit: Hit) -> bool:
    start, end = next(
        (s, e) for s, e in sentence_spans(reply) if s <= hit.span[0] < e
    )  # fmt: skip
    sentence = fold_text(reply[start:end])
    before = fold_text(reply[start : hit.span[0]])
    if _DENIES.search(before if before.endswith(" ") else f"{before} "):
        return True
    is_question = reply[start:end].rstrip().endswith("?")
    asks = bool(_OF_THE_USER.search(sentence)) and not _OF_MYSELF.search(sentence)
    return is_question and asks
