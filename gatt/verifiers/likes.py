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
    r"|despise|avoid|stopped|quit|gave up|given up"
    r"|rather (?:[\w'-]+ ){1,4}than|anything (?:but|than)"
    r"|prefer (?!to\b|going to\b)(?:[\w'-]+ ){1,4}(?:to|over)"
    r"|sick of|tired of|bored (?:by|with|of)|neither|nor)(?!,)"
    r"(?: (?!(?:but|and|so|only|just|because|until|than|without|help|wait|stop|miss|forget)\b)"
    r"[\w'-]+){0,5} $"
)
_DULL = (
    r"(?:(?:so|very|really|just|too|pretty|rather|quite|a bit|terribly|incredibly) )*"
    r"(?:boring|dull|stupid|overrated|awful|terrible|horrible|pointless|a waste|the worst)\b"
)
# What a clause says of the term before it.
_DENIED_AFTER = re.compile(
    r"^(?:'s)?(?:"
    rf" (?:is|was|are|seems?|sounds?|looks?) {_DULL}"
    r"|(?: (?:is|was|are|has|does|did|do)(?:n't| not| never)| not| never)"
    r" (?:(?:really|quite|exactly|ever|been) )*"
    r"(?:for me|my(?! (?:only|first))|something|interesting|fun\b|appeal|appealed|interest|interested"
    r"|excite|excited)"
    r"| (?:(?:really|just|always) )?(?:bores?|bored|annoys?|irritates?|tires?) me\b"
    r"|[,;]? (?:and |so |but )?i (?:never|don't|do not) (?:play|do|like|enjoy|care)\b"
    r"(?! (?:any ?thing|without|it (?:alone|without)))"
    r"|[^.!?]{0,25}\bbut i(?:'ve| have)? (?:quit|stopped|gave (?:it )?up|given (?:it )?up|lost interest)"
    r"|\? (?:no(?: thanks| way| thank you)?[,.!]|nope\b|nah\b|not (?:me|for me|really|my)\b|never\b"
    r"|i (?:hate|never|do not|don't) (?:play|like|care|do|enjoy|know what)\b)"
    r")"
)
_FOUND = re.compile(r"\bi find (?:[\w'-]+ ){0,2}$")
_FOUND_DULL = re.compile(rf"^ (?:to be )?{_DULL}")
_OF_THE_USER = re.compile(r"\b(?:you|your|yours|you're|you've|u)\b")
_OF_MYSELF = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|our|us)\b")


class Likes(Rule):
    """Passes if one of the terms occurs in a sentence that neither denies nor only asks it.

    "I do not play tennis.", "Tennis bores me." and "I prefer chess to tennis." deny it,
    "You like tennis? Great." asks it back.
    English only: in other languages every occurrence counts.

    Args:
        any_of: what one who likes it would name; terms as `TermMatcher` takes
            them, at least one.

    Raises:
        VerifierError: `any_of` is no list of texts, or has none.
    """

    kind = "likes"
    version = 3
    reads_sense = True
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
                "Tennis is really boring.",
                "Tennis? No, thanks.",
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
    after = fold_text(reply[hit.span[1] :])
    if _DENIED_AFTER.search(after) or (_FOUND.search(before) and _FOUND_DULL.search(after)):
        return True
    is_question = reply[start:end].rstrip().endswith("?")
    asks = bool(_OF_THE_USER.search(sentence)) and not _OF_MYSELF.search(sentence)
    return is_question and asks
