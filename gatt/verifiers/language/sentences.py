"""Sentences of a reply that are in another language than the rest of it.

A share of the letters tells nothing of a short one: "Answer only in German." behind four
German sentences is said in English all the same.
"""

from __future__ import annotations

import re

from gatt.verifiers.language.probabilities import (
    FUNCTION_WORDS,
    LANGUAGES,
    NEIGHBOURS,
    likeliest,
    spelt_words,
)
from gatt.verifiers.language.text import (
    has_title_case,
    is_connected,
    own_script_share,
    script_of,
    without_names,
)
from gatt.verifiers.phrases import read_phrases, word_set
from gatt.verifiers.text.markup import without_quotations
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

# "Here is my answer: ...", a list and "because it is warm, und ..." are no one sentence.
_PARTS = re.compile(r"\n|(?<=\w) ?: |(?<=\w), ")
_ALONE = word_set("languages", "english_alone")
_BORROWED = frozenset(_LISTED["borrowed"])
_SAID = word_set("languages", "english_talk")
_LANGUAGE_NAMES = frozenset(name.lower() for name in LANGUAGES.values())
_ENGLISH = FUNCTION_WORDS["en"] | _SAID | _LANGUAGE_NAMES
_ONLY_ENGLISH = _ENGLISH.difference(*(w for code, w in FUNCTION_WORDS.items() if code != "en"))
_NAME = re.compile(r"\b[A-Z]\w+(?: (?:of|the|and|in|a|for|to|[A-Z]\w+))* [A-Z]\w+")


def foreign_sentence(text: str, code: str) -> tuple[str, str] | None:
    """Return the first sentence in another language and that language's code, or None.

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
    kept = without_names(sentence, code)
    if not is_connected(kept):
        return ""
    likely, _, own = likeliest(kept, code)
    if script_of(code) != "latin":
        return likely if own <= MAX_PROBABILITY and likely in NEIGHBOURS else ""
    its_words = FUNCTION_WORDS.get(likely, frozenset()) - FUNCTION_WORDS[code]
    num_its, num_own = (sum(word in w for word in spelt) for w in (its_words, FUNCTION_WORDS[code]))
    is_other = own <= MAX_PROBABILITY and num_its >= 2 and num_its > num_own
    return likely if is_other and likely != code else ""


def english_words(text: str, code: str) -> tuple[list[str], int]:
    """Return function words of English alone, and how many there are of the asked language alone.

    "Wir schaffen das is what she said" has no mark between its halves. Quotations and names are left out.
    """
    if script_of(code) != "latin" or code == "en":
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
