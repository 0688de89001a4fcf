"""Numbers, names, links and codes of a reply: a rewriting must keep them, and `expect` is derived from them.

English text, and any other as far as digits, links and codes go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, Literal

import yaml

from gatt.data.expectation import Expectation
from gatt.verifiers.answers.claims import COMMON_ENGLISH
from gatt.verifiers.answers.tokens import Token, tokens
from gatt.verifiers.phrases import word_set
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import build
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentence_spans

FactKind = Literal["link", "code", "number", "name"]
MOST_ASKED: Final = 3
"""Facts of one reply that an expectation asks for."""
_LINK: Final = re.compile(
    r"https?://[^\s<>()\"']+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b(?:/[\w./-]*)?",
    re.IGNORECASE,
)
_NO_LINK: Final = re.compile(r"(?:e\.g|i\.e|[ap]\.m|etc)\.?", re.IGNORECASE)
_CODE: Final = re.compile(
    r"(?<![\w/-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])(?!\d+(?:[a-z]{1,3}|st|nd|rd|th)\b)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?![\w-])"
)
_ITEM: Final = re.compile(r"(?m)^\s*\d{1,2}[.)]\s")
_NAME: Final = re.compile(r"(?<![\w'’.-])[^\W\d_][\w’'&-]*")
_STARTS_SOMETHING: Final = re.compile(r"(?:^|[.!?:;\n\"“„«({\[*•–-])\s*[\"“„«'(\[*]*$")
_NO_NAMES: Final = word_set("reply_facts", "no_names")
_TRANSLATED: Final = word_set("reply_facts", "translated")
"""Names that are other words in another language."""
_FEW_CAPITALS, _MOST_CAPITALS = 3, 0.3
"""More words with a capital inside sentences, and a larger share, name nothing: headlines, German."""


@dataclass(frozen=True, slots=True)
class ReplyFact:
    """One fact of a reply."""

    kind: FactKind
    text: str
    """As the reply has it."""
    key: str
    """Equal for what says the same: "30" and "thirty"."""


@lru_cache(maxsize=16384)
def facts_of(text: str) -> tuple[ReplyFact, ...]:
    """Return the facts of a text, links and codes first, each once.

    Numbers count by value, in digits or English words; "one" does not, nor does the number of a list item.
    A name is a word with a capital that starts no sentence, or has capitals inside.
    """
    by_key: dict[tuple[str, str], ReplyFact] = {}
    for fact in _facts(text):
        by_key.setdefault((fact.kind, fact.key), fact)
    return tuple(by_key.values())


def _facts(text: str) -> Iterator[ReplyFact]:
    left = text
    patterns: tuple[tuple[FactKind, re.Pattern[str]], ...] = (("link", _LINK), ("code", _CODE))
    for kind, pattern in patterns:
        for match in pattern.finditer(left):
            said = match[0].rstrip(".,;:!?")
            if kind == "link" and (_NO_LINK.fullmatch(said) or said.count("..")):
                continue
            yield ReplyFact(kind, said, said.casefold().removesuffix("/"))
            left = left[: match.start()] + " " * len(match[0]) + left[match.end() :]
    plain = _ITEM.sub(lambda item: " " * len(item[0]), left)
    for token in tokens(plain):
        if token.kind == "number" and token.text != "one":
            yield ReplyFact("number", text[slice(*token.span)], _number_key(token))
    yield from _names(left)


def _number_key(token: Token) -> str:
    # A range, a clock or an ordinal has no value: its digits count.
    return (
        f"{max(token.values).normalize():f}"
        if token.values
        else re.sub(r"(?<=\d)[^\W\d_]+$", ".", token.text)
    )


def _names(text: str) -> Iterator[ReplyFact]:
    spelt = list(_NAME.finditer(text))
    starts = {start for start, _ in sentence_spans(text)}
    inside = [match for match in spelt if len(match[0]) > 1 and match.start() not in starts]
    num_capitals = sum(match[0][0].isupper() for match in inside)
    has_names = num_capitals <= max(_FEW_CAPITALS, _MOST_CAPITALS * len(inside))
    for match in spelt:
        said = re.sub(r"['’]s?$", "", match[0])
        folded = fold_text(said)
        is_inner = any(map(str.isupper, said[1:])) and len(said) > 1
        if not said[:1].isupper() or folded in _NO_NAMES:
            continue
        is_first = match.start() in starts or bool(_STARTS_SOMETHING.search(text[: match.start()]))
        is_name = has_names and not is_first and len(said) > 1 and folded not in COMMON_ENGLISH
        if is_inner or is_name:
            yield ReplyFact("name", said, folded)


def lost_fact(own: str, rewritten: str, *, is_translated: bool) -> ReplyFact | None:
    """Return the first fact of a reply that its rewritten form lacks, None if it has all of them.

    With `is_translated` the new form is in another language: numbers then count in its words too, names by
    their beginning, and days and months not at all.
    """
    has = {(fact.kind, fact.key) for fact in facts_of(rewritten)}
    folded = fold_text(rewritten)
    for fact in facts_of(own):
        if (fact.kind, fact.key) in has:
            continue
        if fact.kind in ("name", "code", "link") and _says(folded, fact.key):
            continue
        if fact.kind == "number" and any(_says(folded, form) for form in number_forms(fact)):
            continue
        if is_translated and fact.kind == "name":
            begins = re.search(rf"(?<!\w){re.escape(fact.key[:3])}", folded)
            if begins or fact.key in _TRANSLATED:
                continue
        return fact
    return None


def added_fact(rewritten: str, allowed: Iterable[str], *, has_names: bool) -> ReplyFact | None:
    """Return the first fact of a rewritten reply that stands in none of some texts, None if there is none.

    `allowed` are the reply as it was, the message, the instruction and what it wants said. `has_names` says
    whether a capital marks a name in the language of the new reply.
    """
    texts = tuple(allowed)
    has = {(fact.kind, fact.key) for text in texts for fact in facts_of(text)}
    folded = [fold_text(text) for text in texts]
    for fact in facts_of(rewritten):
        if (fact.kind, fact.key) in has or (fact.kind == "name" and not has_names):
            continue
        if not any(_says(text, fact.key) for text in folded):
            return fact
    return None


def number_forms(fact: ReplyFact) -> tuple[str, ...]:
    """Return the forms of a fact: a number in digits and in words of all languages, another fact unchanged."""
    if fact.kind != "number":
        return (fact.text,)
    return tuple(dict.fromkeys((fact.text, fact.key, *_number_words().get(fact.key, ()))))


@cache
def _number_words() -> dict[str, list[str]]:
    text = files("gatt.data.bank").joinpath("number_words.yaml").read_text(encoding="utf-8")
    listed: dict[str, list[str]] = yaml.safe_load(text)["words"]
    return {str(number): some for number, some in listed.items()}


def _says(folded: str, key: str) -> bool:
    """Whether a folded text says a folded fact as whole words; other endings count behind four letters."""
    end = r"(?!\w)" if len(key) < 4 or key[-1:].isdigit() else ""
    return bool(re.search(rf"(?<![\w-]){re.escape(fold_text(key))}{end}", folded))


def expectation_of(reply: str, facts: Sequence[ReplyFact]) -> Expectation | None:
    """Return an expectation with one rule for each of the first facts of a reply; None without facts.

    Both ends of a range ("3 to 5 days") are one fact, of which either counts. A fact that the rule does not
    find in the reply itself, such as one that it denies, is not asked for.
    """
    rules: list[VerifierSpec] = []
    left = list(facts)
    while left and len(rules) < MOST_ASKED:
        some = [left.pop(0)]
        while some[-1].kind == "number" and left and _is_range(reply, some[-1], left[0]):
            some.append(left.pop(0))
        forms = [form for fact in some for form in number_forms(fact)]
        rule = VerifierSpec("answer", {"any_of": forms})
        if some[0].kind in ("link", "code"):
            # To the letter: as tokens a code falls into words and numbers.
            rule = VerifierSpec("not", {"of": {"kind": "excludes", "terms": forms}})
        if build(rule).check(reply).status == "pass":
            rules.append(rule)
    return Expectation(verifiers=tuple(rules)) if rules else None


def _is_range(reply: str, first: ReplyFact, second: ReplyFact) -> bool:
    ends = rf"{re.escape(first.text)}\s*(?:to|or|and|-|–)\s*{re.escape(second.text)}"
    return second.kind == "number" and bool(re.search(ends, reply))
