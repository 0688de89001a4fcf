"""Repetition: words, phrases and characters that come again more than speech needs.

Loops (a phrase said again and again in one place) and n-grams that return anywhere
are told apart: emphasis ("No, no, no!"), lists, verses and code are neither.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from gatt.verifiers.text.words import SPACELESS, words

WINDOW_WORDS = 50
MIN_WINDOW_WORDS = 16
MIN_DISTINCT_SHARE = 0.3
MAX_LOOP_WORDS = 20
MIN_REPEATS = 3
"""Times from which a word or phrase that is the whole reply is a loop: "Ciao ciao ciao"."""
MOST_EMPHATIC_WORDS = 3
"""Times that yes, no or laughter may be a whole reply: "No, no, no!"."""
MIN_RECURRENCES = 4
RECURRING_SHARE = 0.6
"""Of the words of a reply that a word begins and ends, and that comes again in between."""
MAX_EMPHATIC_CHARACTERS = 4
"""Han or kana in a phrase that counts as one word ("はい", "いいえ")."""

WORDS_PER_GRAM = 3
"""Long enough that "I like" and "and the" may come as often as they do."""
HAN_PER_GRAM = 5
LETTERS_PER_GRAM = 10
"""For scripts whose words are neither spaced nor told apart here: Thai, Lao, Khmer, Burmese."""
MIN_GRAMS = 5

# Yes, no and cries in the languages of the catalogue: all that a person says three times as a
# whole answer. A greeting or a thing said three times is what a small model does for want of more.
_EMPHATIC = """
    yes yeah yep yup no nope nah ok okay oh wow well ouch ow yay oui non si sì sí ja nein doch jo nee nej nei
    não sim kyllä joo ei tak nie ano ne da nu igen nem evet hayır ναι όχι да нет 是 对 好 不 没 行
    嗯 はい うん ううん ええ いえ いいえ いや 네 예 응 아니 아니요
    """
_EMPHATIC_WORDS = frozenset(_EMPHATIC.split())
_LAUGHTER = re.compile(
    r"(?:h[aeo]+h?|j[aei]|l[oe]+l|х[аеи]|χ[αε]|[哈呵嘿嘻ㅋㅎ하허호헤はふへハフヘ])+"
)

_SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = re.compile(rf"[{_SOUTH_EAST}]")
_HAN_OR_KANA = re.compile(rf"[{SPACELESS}]+")
_BETWEEN = re.compile(rf"(?![{_SOUTH_EAST}])[\W_]+")
_CHARACTER_LOOP = re.compile(r"(.{4,40}?)\1{2,}", re.DOTALL)
_MIN_LOOP_CHARACTERS = 20
_MIN_LOOP_SHARE = 0.6
_ITEM = re.compile(r"\s*(?:[-*•+–]|\d{1,3}[.)]|[^\s:：][^:：]{0,40}[:：](?:\s|$))")
_MIN_ITEMS = 3


def find_loop(text: str) -> str | None:
    """Return what a text says over and over in one place, as a phrase for a reader, or None.

    Also for one word alone, one word that returns through a short reply ("Ciao, ciao! Come
    stai? Ciao, ciao!") and too few distinct words in a stretch of text.
    """
    spelt = [word.casefold() for word in words(text)]
    if len(spelt) >= MIN_REPEATS and len(set(spelt)) == 1:
        return _one_word(spelt)
    loop = _word_loop(spelt)
    if loop:
        return f"loop: {loop[0]!r} repeated {loop[1]} times"
    squeezed = _BETWEEN.sub("", text.casefold())
    run = _CHARACTER_LOOP.search(squeezed) if _may_loop(squeezed) else None
    if run and len(run[0]) >= _MIN_LOOP_SHARE * len(squeezed):
        return f"loop: {run[1]!r} repeated {len(run[0]) // len(run[1])} times"
    return _recurring_word(spelt) or _few_words(spelt)


def repeated_share(text: str) -> float:
    """Return the share of n-grams that stood in the text before, from 0 to 1.

    Three words make an n-gram, or several characters where a script has no
    spaces. Of lists, tables, code and JSON only whole lines count: their items
    are alike by nature. Texts too short to tell give 0.
    """
    stripped = (line.strip() for line in text.splitlines())
    lines = [line for line in stripped if line and not line.startswith("```")]
    if _is_structured(text, lines):
        return _share_seen_before(lines) if len(lines) > _MIN_ITEMS else 0.0
    grams = _grams(text)
    return _share_seen_before(grams) if len(grams) >= MIN_GRAMS else 0.0


def _may_loop(squeezed: str) -> bool:
    """Whether a text has few enough runs of four characters for a loop; the search itself is slow.

    A loop has at least `_MIN_LOOP_SHARE` of the characters, and at most a third of it is new.
    """
    size = len(squeezed)
    found = {squeezed[start : start + 4] for start in range(size - 3)}
    return size >= _MIN_LOOP_CHARACTERS and len(found) <= (1 - _MIN_LOOP_SHARE * 2 / 3) * size


def _is_emphatic(phrase: str) -> bool:
    return phrase in _EMPHATIC_WORDS or bool(_LAUGHTER.fullmatch(phrase))


def _one_word(spelt: Sequence[str]) -> str | None:
    word, count = spelt[0], len(spelt)
    is_han = bool(_HAN_OR_KANA.fullmatch(word))
    # An even run of one Han character is a doubled word, said half as often.
    num_said = count // 2 if is_han and count % 2 == 0 else count
    most = 2 * MOST_EMPHATIC_WORDS if is_han else MOST_EMPHATIC_WORDS
    if num_said < MIN_REPEATS or (count <= most and _is_emphatic(word)):
        return None
    return f"one word repeated: {word!r}, {count} times"


def _recurring_word(spelt: Sequence[str]) -> str | None:
    """Name the word that a reply begins with, ends with and mostly is.

    "Very, very good, very, very nice" ends with something else: there the word
    goes with another one.
    """
    word = spelt[0] if spelt else ""
    count = sum(other == word for other in spelt)
    if count < MIN_RECURRENCES or spelt[-1] != word or count < RECURRING_SHARE * len(spelt):
        return None
    if _HAN_OR_KANA.fullmatch(word) or _is_emphatic(word):
        return None
    return f"one word repeated: {word!r}, {count} of {len(spelt)} words"


def _word_loop(spelt: Sequence[str]) -> tuple[str, int] | None:
    """Return the phrase that is said over and over, and how often, if there is one."""
    total = len(spelt)
    if len(set(spelt)) == total:
        return None
    for period in range(1, min(MAX_LOOP_WORDS, total // 2) + 1):
        matched = longest = end = 0
        for index in range(period, total):
            matched = matched + 1 if spelt[index] == spelt[index - period] else 0
            if matched > longest:
                longest, end = matched, index + 1
        count = longest // period + 1
        covered = (longest + period) / total
        phrase = spelt[end - period : end]
        if count > 1 and _is_loop(phrase, count, covered):
            return " ".join(phrase), count
    return None


def _is_loop(phrase: Sequence[str], count: int, covered: float) -> bool:
    """Whether `count` repeats in a row of a phrase are more than emphasis."""
    period = len(phrase)
    is_word = period == 1 or (
        period <= MAX_EMPHATIC_CHARACTERS and bool(_HAN_OR_KANA.fullmatch("".join(phrase)))
    )
    if is_word:
        if count >= MIN_REPEATS and covered >= 0.95 and not _is_emphatic("".join(phrase)):
            return True
        return count >= 7 or (count >= 4 and covered >= 0.7)
    if count >= 5 or (count >= 3 and covered >= 0.6):
        return True
    return count == 2 and period >= 4 and covered >= 0.95


def _few_words(spelt: Sequence[str]) -> str | None:
    if len(spelt) < MIN_WINDOW_WORDS:
        return None
    for start in range(0, max(1, len(spelt) - WINDOW_WORDS // 2), WINDOW_WORDS // 2):
        window = spelt[start : start + WINDOW_WORDS]
        distinct = len(set(window))
        if len(window) >= MIN_WINDOW_WORDS and distinct < MIN_DISTINCT_SHARE * len(window):
            return f"only {distinct} distinct words among {len(window)}"
    return None


def _is_structured(text: str, lines: Sequence[str]) -> bool:
    if "```" in text or text.lstrip()[:1] in ("{", "["):
        return True
    return len(lines) >= _MIN_ITEMS and all(_ITEM.match(line) for line in lines)


def _grams(text: str) -> list[Hashable]:
    folded = text.casefold()
    spelt = words(folded)
    if text.isascii():
        return _runs(spelt, WORDS_PER_GRAM)
    num_letters = sum(map(len, spelt))
    if 2 * len(_UNSPACED.findall(folded)) >= num_letters > 0:
        joined = _BETWEEN.sub("", folded)
        return [
            joined[start : start + LETTERS_PER_GRAM]
            for start in range(len(joined) - LETTERS_PER_GRAM + 1)
        ]
    num_han = sum(map(len, _HAN_OR_KANA.findall(folded)))
    return _runs(spelt, HAN_PER_GRAM if 2 * num_han >= num_letters else WORDS_PER_GRAM)


def _runs(spelt: Sequence[str], size: int) -> list[Hashable]:
    return list(zip(*(spelt[start:] for start in range(size)), strict=False))


def _share_seen_before(items: Sequence[Hashable]) -> float:
    return 1 - len(set(items)) / len(items)
