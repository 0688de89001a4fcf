"""Sentences of a reply that are in another language than the rest of it, and languages beside those asked for.

A share of the letters tells nothing of a short one: "Answer only in German." behind four
German sentences is said in English all the same. The detector does not know Ukrainian and Slovak, and takes
each for its neighbour: letters and function words that only one of the two has tell them apart.
"""

from __future__ import annotations

import re
from functools import cache

from gatt.verifiers.language.probabilities import (
    FUNCTION_WORDS,
    LANGUAGES,
    LETTERS,
    likeliest,
    spelt_words,
    with_listed,
)
from gatt.verifiers.language.text import (
    has_title_case,
    is_connected,
    own_script_share,
    script_of,
    without_names,
    without_quotations,
)
from gatt.verifiers.phrases import read_phrases, word_set
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

MIN_OTHER_WORDS = 5
"""Words from which a sentence in any other language than English is told for sure."""
MAX_OWN_SHARE = 0.34
"""Largest share of its own letters in a sentence of another script."""
MAX_PROBABILITY = 0.05
"""Largest probability of the asked language for a foreign sentence."""
MIN_SURE_ENGLISH_WORDS = 4
"""Function words of English, as many as of the asked language, from which a text is a mix."""

_LISTED = read_phrases("languages")

OWN_WORDS = {
    **FUNCTION_WORDS,
    "ru": with_listed(_LISTED["russian"], "ru"),
    "zh": frozenset(_LISTED["chinese"]),
}
"""ISO 639-1 code -> function words; for Chinese, characters that no sentence does without."""

# "Here is my answer: ..." and a list are no one sentence.
_PARTS = re.compile(r"\n|(?<=\w): ")
_ALONE = word_set("languages", "english_alone")
_BORROWED = frozenset(_LISTED["borrowed"])
_SAID = word_set("languages", "english_talk")
_LANGUAGE_NAMES = frozenset(name.lower() for name in LANGUAGES.values())
_ENGLISH = FUNCTION_WORDS["en"] | _SAID | _LANGUAGE_NAMES
_ONLY_ENGLISH = _ENGLISH.difference(*(w for code, w in FUNCTION_WORDS.items() if code != "en"))
_NAME = re.compile(r"\b[A-Z]\w+(?: (?:of|the|and|in|a|for|to|[A-Z]\w+))* [A-Z]\w+")


def foreign_sentence(text: str, code: str) -> tuple[str, str] | None:
    """Return the first sentence in another language and that language's code or name, or None.

    Quotations are left out; titles and names are no sentences.
    """
    for whole in sentences(without_quotations(text)):
        for sentence in filter(words, map(str.strip, _PARTS.split(whole))):
            if other := _other_language(sentence, code):
                return sentence, other
    return None


def _other_language(sentence: str, code: str) -> str:
    spelt = spelt_words(sentence)
    is_title = len(spelt) > 1 and has_title_case(sentence) and _LANGUAGE_NAMES.isdisjoint(spelt)
    # "Game of Thrones" is no sentence, "Speak in German." is one.
    if is_title or " ".join(spelt) in _BORROWED:
        return ""
    if code != "en" and _is_english(sentence, spelt, code):
        return "en"
    if len(spelt) < MIN_OTHER_WORDS:
        return ""
    english, num_own = english_words(sentence, code)
    if len(english) >= max(MIN_SURE_ENGLISH_WORDS, num_own):
        return "en"
    sibling = sibling_of(sentence, code)
    if sibling and sibling[1]:
        return sibling[0]
    kept = without_names(sentence, code)
    if script_of(code) != "latin" or not is_connected(kept):
        return ""
    found, _, own = likeliest(kept, code)
    its_words = FUNCTION_WORDS.get(found, frozenset()) - FUNCTION_WORDS[code]
    num_its, num_own = (sum(word in w for word in spelt) for w in (its_words, FUNCTION_WORDS[code]))
    is_other = own <= MAX_PROBABILITY and num_its >= 2 and num_its > num_own
    return found if is_other and found != code else ""


def english_words(text: str, code: str) -> tuple[list[str], int]:
    """Return function words of English alone, and how many there are of the asked language alone.

    "Wir schaffen das is what she said" has no mark between its halves. Quotations and names are left out.
    """
    if code not in FUNCTION_WORDS or code == "en":
        return [], 0
    spelt = spelt_words(_NAME.sub(" ", without_quotations(text)))
    own = FUNCTION_WORDS[code]
    english = [word for word in spelt if word in _ENGLISH and word not in own]
    return english, sum(word in own and word not in _ENGLISH for word in spelt)


def _is_english(sentence: str, spelt: list[str], code: str) -> bool:
    is_latin = script_of(code) == "latin"
    if not is_latin and own_script_share(sentence, code) > MAX_OWN_SHARE:
        return False
    if len(spelt) == 1:
        return spelt[0] in _ALONE
    if not is_latin:
        return any(word in _ENGLISH for word in spelt)
    rest = spelt_words(_NAME.sub(" ", sentence))
    spelt = rest if len(rest) > 1 else spelt
    num_english = sum(word in _ONLY_ENGLISH for word in spelt)
    num_own = sum(word in FUNCTION_WORDS[code] for word in spelt)
    if num_english > num_own and 2 * num_english >= len(spelt):
        return True
    num_not_own = sum(word in _ENGLISH and word not in FUNCTION_WORDS[code] for word in spelt)
    return 0 < num_not_own >= num_own and likeliest(sentence, code)[2] <= MAX_PROBABILITY


@cache
def _told_apart(
    code: str, is_bare: bool
) -> list[tuple[str, frozenset[str], frozenset[str], frozenset[str]]]:
    """Return each sibling of a language with letters and words that only it has, and those it has not."""
    own = OWN_WORDS.get(code, frozenset())
    # Who writes no accent at all leaves them out of the words of either.
    own = own | set(map(fold_text, own)) if is_bare else own
    found = []
    for sibling in _LISTED["siblings"]:
        if code in sibling["of"].split():
            its, letters = frozenset(sibling["words"].split()), frozenset(sibling["letters"])
            if "listed" in sibling:
                its = with_listed(sibling["words"], sibling["listed"])
            found.append(
                (sibling["name"], letters - LETTERS.get(code, set()), its - own, own - its)
            )
    return found


def sibling_of(text: str, code: str) -> tuple[str, bool] | None:
    """Return the sibling that a text in the right script may be in, and whether it surely is, or None."""
    spelt = spelt_words(text)
    found = []
    for name, letters, its, asked in _told_apart(code, text.isascii()):
        num_its = sum(word in its or not letters.isdisjoint(word) for word in spelt)
        num_asked = sum(word in asked for word in spelt)
        if num_its > max(1, num_asked):
            found.append((num_its - num_asked, name, num_its >= 2 * num_asked))
    return max(found)[1:] if found else None
