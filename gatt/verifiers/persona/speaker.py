"""Who speaks as "I", and whether a sentence ties a term to its speaker: "my army", not "I like armies".

The latter is for English only. A name is the speaker's by an introduction alone; any other term by
"my", or by an "I" that does more in its clause than like it, ask about it or deny it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gatt.verifiers.phrases import Patterns, word_set
from gatt.verifiers.rule import Span
from gatt.verifiers.text.folding import fold
from gatt.verifiers.text.matching import Hit, TermMatcher
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import CJK, words

_RE = Patterns("speaker")
_PERSONS = Patterns("persons")
_SHORT = 3
_ENGLISH_MARKERS = word_set("persons", "english_markers")
_MIN_ENGLISH_SHARE = 0.12
_ENGLISH_WORDS = word_set("persons", "english_i")
_OTHER_WORDS = word_set("persons", "other_i")
_ELIDED = re.compile(r"(?<!\w)(?:j|m)['’]\w", re.IGNORECASE)
_HAS_CJK = re.compile(f"[{CJK}]")
_FOREIGN_I = word_set("persons", "foreign_i")
_ENGLISH_ALONE = word_set("persons", "english_alone")
_FOREIGN = word_set("persons", "foreign")
_MIN_FOREIGN_SHARE = 0.15
_LAST_LATIN = 0x24F


def is_of_oneself(term: str) -> bool:
    """Whether a term is its speaker's by its own words: "my knives", "therefore I am"."""
    return _RE.OF_ONESELF.search(term.lower()) is not None


def tied_hits(reply: str, spoken: str, terms: TermMatcher, name: TermMatcher) -> Iterator[Hit]:
    """Yield each occurrence of a term that the speaker says of itself; of its name, in an introduction only.

    `spoken` is the reply, letter for letter, without the first person of others.
    """
    for start, end in _statements(spoken):
        folded = fold(spoken[start:end])
        if _RE.ON_HOLIDAY.search(folded.text):
            continue
        names = name.hits(folded.text)
        is_other = bool(names) and not any(_is_own(folded.text, hit, is_name=True) for hit in names)
        for hit in terms.hits(folded.text):
            is_name = is_other or any(_touches(folded.text, hit, other) for other in names)
            if _is_own(folded.text, hit, is_name=is_name):
                left, right = folded.span(*hit.span)
                yield Hit(reply[start + left : start + right], (start + left, start + right))


def is_of_another(spoken: str, name: TermMatcher) -> bool:
    """Whether the reply names the figure as "he" or "she", and nowhere as its speaker."""
    folded = fold(spoken).text
    hits = name.hits(folded)
    if not hits or any(_is_own(folded, hit, is_name=True) for hit in hits):
        return False
    return bool(_RE.HE.search(folded, hits[0].span[1]))


def lives_there(spoken: str, hit: Hit) -> bool:
    """Whether the speaker only lives in a place or comes from there now."""
    return bool(_RE.LIVES.search(fold(spoken[max(0, hit.span[0] - 60) : hit.span[0]]).text))


def _statements(text: str) -> Iterator[Span]:
    """Yield the spans of the sentences; an exclamation goes with what follows it."""
    opened: int | None = None
    spans = sentence_spans(text)
    for span in spans:
        said = text[slice(*span)]
        begin = span[0] if opened is None else opened
        is_cry = len(words(said)) <= _SHORT and said[-1] in "!…"
        if is_cry and span != spans[-1] and not _RE.SPEAKER.search(said.lower()):
            opened = begin
        else:
            opened = None
            yield begin, span[1]


def _touches(text: str, hit: Hit, name: Hit) -> bool:
    first, second = sorted((hit.span, name.span))
    return second[0] < first[1] or text[first[1] : second[0]].strip() in ("", "of", "the")


def _is_own(text: str, hit: Hit, *, is_name: bool) -> bool:
    start, end = hit.span
    before, after = text[:start], text[end:]
    if _RE.ADMIRER.match(after):
        return False
    introduced = _RE.INTRODUCES.search(before) or (
        _RE.AS_ONE.search(before) and _RE.THEN_I.match(after)
    )
    if is_name:
        if hit.text.endswith(("'s", "'")) or after.lstrip().startswith("?"):
            return False
        is_first = not before.strip() and _RE.OPENS.match(after)
        return bool(is_first or introduced or _RE.SIGNS.search(before) or _RE.SPEAKS.match(after))
    if is_of_oneself(hit.text) or (_RE.OWN.search(before) and not _RE.KIN.search(before)):
        return not _RE.HAS_NONE.search(before)
    left = max((found.end() for found in _RE.CLAUSE_END.finditer(before)), default=0)
    behind = _RE.CLAUSE_END.search(text, end)
    right = behind.start() if behind else len(text)
    is_spoken = _RE.SPEAKER.search(text, left, start) or _RE.SPEAKER.search(text, end, right)
    if not is_spoken and _RE.TEACHES.search(text):
        return True
    if _RE.FROM_OUTSIDE.search(before[left:]):
        return False
    is_done = _RE.DOES.search(text[:left]) or _RE.DOES.search(text[right:])
    return bool(introduced or is_spoken or is_done)


def first_person_word(text: str) -> str | None:
    """Return the first word by which a text speaks as "I" or "we", or None."""
    if _HAS_CJK.search(text):
        found = _PERSONS.CJK_I.search(text)
        if found:
            return found[0].strip()
    spelt = [word.lower().replace("’", "'").rstrip("'") for word in words(text)]
    english = next((word for word in spelt if word in _ENGLISH_WORDS), None)
    if english:
        return english
    num_markers = sum(word in _ENGLISH_MARKERS for word in spelt)
    if num_markers >= _MIN_ENGLISH_SHARE * len(spelt):
        return None
    elided = _ELIDED.search(text)
    if elided:
        return elided[0]
    return next((word for word in spelt if word in _OTHER_WORDS), None)


def is_english(text: str) -> bool:
    """Whether a text has a word that only English has, or an English "I"."""
    spelt = {word.lower().replace("’", "'") for word in words(text)}
    if not _ENGLISH_ALONE.isdisjoint(spelt):
        return True
    return _FOREIGN_I.isdisjoint(spelt) and bool(_PERSONS.ENGLISH_I.search(text))


def is_foreign(text: str) -> bool:
    """Whether a text has a function word of another language than English, or another script."""
    if any(letter.isalpha() and ord(letter) > _LAST_LATIN for letter in text):
        return True
    spelt = [word.lower() for word in words(text)]
    num_foreign = sum(word in _FOREIGN for word in spelt)
    return bool(num_foreign) and num_foreign >= _MIN_FOREIGN_SHARE * len(spelt)
