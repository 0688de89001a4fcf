"""The other of two options that a reply leaves open: "eight or ten", "8-10", "winter or autumn"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gatt.verifiers.answers.claims import COMMON_ENGLISH, Mention
from gatt.verifiers.answers.tokens import Token
from gatt.verifiers.phrases import WordLists

_WORDS = WordLists("answers")

_MOST_OTHER_TOKENS: Final = 4

Said = tuple[Token, ...]


def other_option(
    mention: Mention,
    said: Said,
    is_wrong: Callable[[Said], bool],
    is_right: Callable[[Token], bool],
) -> Token | None:
    """Return the option beside a mentioned answer that the reply leaves open, or None.

    Another number of the same unit is one, a wrong answer, a name beside a name, and a single word beside a
    single word. Behind a comma a word says the same again: "an enemy, or a foe".
    """
    for is_behind in (True, False):
        near = said[mention.end :] if is_behind else said[: mention.start][::-1]
        unit, rest = _after_unit(mention, near, is_behind)
        has_comma = bool(rest) and rest[0].text == ","
        rest = rest[has_comma:]
        if not rest or not _joins(mention, rest, said, unit):
            continue
        rest = tuple(t for t in rest[1:] if t.text not in _WORDS.led_in_by)[:_MOST_OTHER_TOKENS]
        rest = rest[bool(rest) and rest[0].text == "," :]
        if _is_counted(mention) and not is_behind and rest and rest[0].kind == "word":
            # "8 or 10 legs"
            rest = rest[1:]
        if rest and rest[0].kind != "mark" and not is_right(rest[0]):
            is_other = (
                _is_another_number(rest, unit, is_behind)
                if _is_counted(mention)
                else _is_another_word(mention, rest, has_comma, is_behind)
            )
            if is_other or is_wrong(rest):
                return rest[0]
    return None


def _is_counted(mention: Mention) -> bool:
    return mention.term.is_number or bool(mention.term.unit)


def _after_unit(mention: Mention, near: Said, is_behind: bool) -> tuple[str, Said]:
    """Return the word that belongs to a term, and what follows: a unit behind, an article before."""
    if is_behind and mention.term.unit:
        return mention.term.unit, near
    if not near or near[0].kind != "word" or near[0].text in _WORDS.either_or:
        return "", near
    is_unit = _is_counted(mention) and near[0].text not in ("to", "and")
    is_article = not is_behind and near[0].text in _WORDS.led_in_by
    return (near[0].text, near[1:]) if is_unit or is_article else ("", near)


def _joins(mention: Mention, rest: Said, said: Said, unit: str) -> bool:
    """Whether a text begins with what joins two options: "or", and for numbers "to" and "between … and"."""
    word = rest[0].text
    before = [t.text for t in said[max(0, mention.start - _MOST_OTHER_TOKENS) : mention.start]]
    if word in _WORDS.either_or:
        return True
    if _is_counted(mention):
        return (word == "to" and not unit) or (word == "and" and "between" in before)
    is_yes_no = mention.term.tokens[0].text in _WORDS.yes_no
    return word == "and" and (is_yes_no or any(t.text == "both" for t in said))


def _is_another_number(rest: Said, unit: str, is_behind: bool) -> bool:
    if rest[0].kind != "number":
        return False
    other = rest[1].text if is_behind and len(rest) > 1 and rest[1].kind == "word" else ""
    return not unit or not other or unit[:3] == other[:3] or not is_behind


def _is_another_word(mention: Mention, rest: Said, has_comma: bool, is_behind: bool) -> bool:
    """Whether a word is of the same kind as the term, as far as form tells."""
    other = rest[0]
    if other.kind != "word" or other.text in COMMON_ENGLISH - _WORDS.yes_no:
        return False
    if mention.term.text[:1].isupper():
        return True
    is_alone = len(rest) == 1 or rest[1].kind == "mark" or not is_behind
    return is_alone and not has_comma and len(mention.term.tokens) == 1
