"""Where a reply says a term, and whether it claims it, denies it ("not eight") or compares with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gatt.verifiers.answers.terms import Term, letter_is_meant
from gatt.verifiers.answers.tokens import Token
from gatt.verifiers.phrases import WordLists
from gatt.verifiers.rule import Span

_WORDS = WordLists("answers")
COMMON_ENGLISH = _WORDS.common_english

_CLAUSE_MARKS: Final = frozenset(".,;:!?()\n|。，、；：！？（）…-") | {"..."}
_SENTENCE_MARKS: Final = frozenset(".!?\n。！？…") | {"..."}
_JAPANESE_DENIAL: Final = re.compile(r".{0,6}?(?:では(?:な|あり)|じゃ(?:な|あり)|でない)")
_DENIED_SUBJECT: Final = re.compile(
    r"['\"”*]*(?: legs?)? (?:(?:is|are|was|were|would be) not|(?:is|are|was|were)n't|cannot be|can't be)"
    r" (?:the|an?|right|correct|true|my|your|it|what|how|in my)\b"
    # "A cat barks and a dog doesn't."
    r"|['\"”*]*s? (?:(?:is|are|was|were|do|does|did|can|could) not|(?:is|are|was|were|do|does|did|ca|could)n't)"
    r"(?:\s*(?:[.,;!]|$)| (?:have|do) (?:one|it|that|so|any)\b)"
)
_COMES_NEXT: Final = re.compile(
    r"['\"”*]* (?:\w+ )?(?:is|are|was|would be|being)(?: the| an?)? (?P<what>\w+)"
)
_MOST_DENIAL_TOKENS: Final = 8
_ENGLISH_SHARE: Final = 0.2
_MIN_FOREIGN_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """A term from token `start` to token `end`."""

    term: Term
    start: int
    end: int
    span: Span


def _is_english(said: tuple[Token, ...]) -> bool:
    spelt = [token.text for token in said if token.kind == "word"]
    num_marks = sum(word in _WORDS.english_marks for word in spelt)
    return num_marks >= 2 and num_marks >= _ENGLISH_SHARE * len(spelt)


def _has_endings(said: tuple[Token, ...]) -> bool:
    """Whether a reply is in a language whose words may have endings that no rule of English makes."""
    return (
        not _is_english(said) and sum(token.kind == "word" for token in said) >= _MIN_FOREIGN_WORDS
    )


def mentions(terms: tuple[Term, ...], reply: str, said: tuple[Token, ...]) -> Iterator[Mention]:
    """Yield where a reply says one of the terms, in order."""
    is_multilingual, is_english, has_endings = len(terms) > 1, _is_english(said), _has_endings(said)
    for start, token in enumerate(said):
        if token.kind == "mark":
            continue
        for term in terms:
            if not term.tokens:
                continue
            word = term.tokens[0].text
            is_known = word in COMMON_ENGLISH or (
                term.is_amount and word in _WORDS.common_english_numbers
            )
            is_common = is_known and word not in _WORDS.yes_no and len(word) > 1
            if is_english and is_multilingual and len(term.tokens) == 1 and is_common:
                continue
            end = term.end_at(said, start, has_endings)
            if end is None:
                continue
            is_letter = (
                len(term.tokens) == 1 and len(word) == 1 and word.isascii() and word.isalpha()
            )
            if is_letter and not letter_is_meant(reply, token):
                continue
            if word in _WORDS.yes_no and said[end : end + 1] and said[end].text in _WORDS.no_no:
                continue
            yield Mention(term, start, end, (token.span[0], said[end - 1].span[1]))
            break


def is_claimed_wrong(mention: Mention, reply: str, said: tuple[Token, ...]) -> bool:
    """Whether a reply says a wrong answer and means it; a wrong "no" has to begin a sentence."""
    if len(mention.term.tokens) == 1 and mention.term.tokens[0].text in _WORDS.yes_no:
        before = said[mention.start - 1] if mention.start else None
        return before is None or before.kind == "mark" or before.text in _WORDS.leads_to_no
    words = [token.text for token in _clause_before(mention, said)]
    # "In the morning, unlike dinner, which is in the evening."
    if not _WORDS.contrasts.isdisjoint(words) or words[-1:] in (["which"], ["who"]):
        return False
    return not is_denied(mention, reply, said)


def _clause_before(mention: Mention, said: tuple[Token, ...]) -> Iterator[Token]:
    """Yield the tokens before a mention in its clause, the nearest first."""
    for token in reversed(said[: mention.start]):
        if token.kind == "mark" and token.text in _CLAUSE_MARKS:
            return
        yield token


def is_denied(mention: Mention, reply: str, said: tuple[Token, ...]) -> bool:
    """Whether a reply says that a term is not the answer, or only compares with it."""
    rest = reply[mention.span[1] : mention.span[1] + 60].lower()
    return bool(
        _is_denied_before(mention, said)
        or _DENIED_SUBJECT.match(rest)
        or _JAPANESE_DENIAL.match(rest)
        or ((next_one := _COMES_NEXT.match(rest)) and next_one["what"] in _WORDS.wrong)
        or any(token.text in _WORDS.denies_behind for token in said[mention.end : mention.end + 2])
        or _is_reported(mention, said)
        or _is_only_asked(mention, said)
    )


def _is_denied_before(mention: Mention, said: tuple[Token, ...]) -> bool:
    """Whether words before a term in its clause deny it, or set it aside."""
    is_denial = any(token.text in _WORDS.denies for token in mention.term.tokens)
    nearer = ""
    for distance, token in enumerate(_clause_before(mention, said)):
        if distance >= _MOST_DENIAL_TOKENS:
            break
        if token.text in _WORDS.set_aside:
            return not _is_bound(mention, said)
        if token.text in _WORDS.limits or (
            token.text in _WORDS.new_clauses and nearer in _WORDS.subjects
        ):
            break
        if token.text == "instead" and nearer == "of":
            return True
        is_answer_no = token.text == "no" and nearer in _WORDS.subjects
        # "Without jokers it has 52 cards" denies the jokers.
        is_of_another = is_answer_no or (token.text == "without" and distance > 1)
        if not is_denial and not is_of_another and token.text in _WORDS.denies:
            return True
        nearer = token.text
    return False


def _is_bound(mention: Mention, said: tuple[Token, ...]) -> bool:
    """Whether "than" names a bound or a best: "no later than 30 days", "nothing is higher than Everest"."""
    before = [token.text for token in _clause_before(mention, said)]
    than = before.index("than") if "than" in before else len(before)
    is_less = before[than + 1 : than + 3] in (["less", "in"], ["less", "within"])
    is_not_more = before[than + 2 : than + 3] in (["no"], ["not"])
    is_best = before[-1:] == ["no"] or not _WORDS.nothing.isdisjoint(before[than:])
    return is_less or is_not_more or is_best


def _is_reported(mention: Mention, said: tuple[Token, ...]) -> bool:
    """Whether others say it, or it was so once, and the sentence goes on: "Many say eight, but it is six."."""
    before = {token.text for token in _clause_before(mention, said)}
    is_of_others = not before.isdisjoint(_WORDS.others) and not before.isdisjoint(_WORDS.reports)
    if not (is_of_others or not before.isdisjoint(_WORDS.once)):
        return False
    behind = {token.text for token in said[mention.end : mention.end + _MOST_DENIAL_TOKENS]}
    return not _WORDS.turned.isdisjoint(before | behind)


def _is_only_asked(mention: Mention, said: tuple[Token, ...]) -> bool:
    """Whether the term is in a question: all of it ("Eight? Ten?"), or one answered with no ("Eight? No.")."""
    end = next((at for at in range(mention.end, len(said)) if _ends_sentence(said[at])), None)
    if end is None or said[end].text not in "?？":
        return False
    before, rest = said[: mention.start], said[mention.end : end]
    is_start = not before or _ends_sentence(before[-1])
    is_whole = is_start and len(rest) <= 1 and all(token.kind == "word" for token in rest)
    if end + 1 == len(said):
        return is_whole and bool(before) and before[-1].text in "?？"
    following = said[end + 1].text
    return following in _WORDS.answered_no or (is_whole and following not in _WORDS.confirms)


def _ends_sentence(token: Token) -> bool:
    return token.text in _SENTENCE_MARKS
