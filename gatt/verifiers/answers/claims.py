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
_JAPANESE_DENIAL: Final = re.compile(r".{0,6}?(?:では(?:な|あり)|じゃ(?:な|あり)|でない)")
_DENIED_SUBJECT: Final = re.compile(
    r"['\"”*]*s?(?: legs?)? (?:(?:is|are|was|were|would be) not|(?:is|are|was|were)n't|cannot be|can't be)"
    r"(?: (?:the|an?|right|correct|true|my|your|it|what|how|in my)\b|\s*(?:[.,;!]|$))"
    r"|['\"”*]*(?: \w+)? (?:is|are|was|were)(?: the| an?)? (?:wrong|incorrect|false|untrue)\b"
)
# "No later than 30 days" names a bound, "nothing is higher than Everest" a best.
_BOUND: Final = re.compile(
    r"\b(?:in|within) less than\b|\b(?:no|not) \w+ than\b|(?:^no|\bnothing|\bnone|\bnobody)\b.* than\b"
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


def mentions(terms: tuple[Term, ...], reply: str, said: tuple[Token, ...]) -> Iterator[Mention]:
    """Yield where a reply says one of the terms, in order."""
    is_english = _is_english(said)
    # Words of other languages may have endings that no rule of English makes.
    num_words = sum(token.kind == "word" for token in said)
    has_endings = not is_english and num_words >= _MIN_FOREIGN_WORDS
    sought = [term for term in terms if term.tokens]
    if is_english and len(terms) > 1:
        sought = [term for term in sought if not _is_common(term)]
    for start, token in enumerate(said):
        for term in sought if token.kind != "mark" else ():
            end = term.end_at(said, start, has_endings)
            if end is not None and _is_named(term, reply, said, start, end):
                yield Mention(term, start, end, (token.span[0], said[end - 1].span[1]))
                break


def _is_common(term: Term) -> bool:
    """Whether a term is a common English word, which an English reply says in its own sense."""
    word = term.tokens[0].text
    if len(term.tokens) > 1 or len(word) == 1 or word in _WORDS.yes_no:
        return False
    return word in COMMON_ENGLISH or (term.is_amount and word in _WORDS.common_english_numbers)


def _is_named(term: Term, reply: str, said: tuple[Token, ...], start: int, end: int) -> bool:
    """Whether a letter is no article, and a "no" stands for itself and not for "no problem"."""
    word = term.tokens[0].text
    if len(term.tokens) == len(word) == 1 and "a" <= word <= "z":
        return letter_is_meant(reply, said[start])
    return word not in _WORDS.yes_no or not any(t.text in _WORDS.no_no for t in said[end : end + 1])


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
        or any(token.text in _WORDS.denies_behind for token in said[mention.end : mention.end + 2])
    )


def _is_denied_before(mention: Mention, said: tuple[Token, ...]) -> bool:
    """Whether words before a term in its clause deny it, or set it aside."""
    is_denial = any(token.text in _WORDS.denies for token in mention.term.tokens)
    clause = [token.text for token in _clause_before(mention, said)]
    nearer = ""
    for distance, word in enumerate(clause[:_MOST_DENIAL_TOKENS]):
        if word in _WORDS.set_aside:
            return not _BOUND.search(" ".join(reversed(clause)))
        if word in _WORDS.limits or (word in _WORDS.new_clauses and nearer in _WORDS.subjects):
            break
        if word == "instead" and nearer == "of":
            return True
        is_answer_no = word == "no" and nearer in _WORDS.subjects
        # "Without jokers it has 52 cards" denies the jokers.
        is_of_another = is_answer_no or (word == "without" and distance > 1)
        if not is_denial and not is_of_another and word in _WORDS.denies:
            return True
        nearer = word
    return False
