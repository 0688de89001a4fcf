"""Sentences of a reply that are in another language than the rest of it.

A share of the letters tells nothing of a short one: "Answer only in German." behind four
German sentences is said in English all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gatt.verifiers.language.clauses import clauses, has_title_case, without_quotations
from gatt.verifiers.language.function_words import FUNCTION_WORDS
from gatt.verifiers.language.probabilities import LANGUAGES
from gatt.verifiers.language.siblings import OWN_WORDS, sibling_of
from gatt.verifiers.language.text import SCRIPT, is_connected, weight, without_names
from gatt.verifiers.phrases import read_phrases, word_set
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

MIN_OTHER_WORDS = 5
"""Words from which a sentence in any other language than English is told for sure."""
MIN_CLAUSE_WORDS = 5
MIN_CLAUSE_ENGLISH = 3
MAX_OWN_SHARE = 0.34
"""Largest share of its own letters in a sentence of another script."""
MAX_PROBABILITY = 0.05
"""Largest probability of the asked language for a foreign sentence."""
MIN_SURE_ENGLISH_WORDS = 4
"""Function words of English, as many as of the asked language, from which a text is a mix."""
MIN_WORDS_FOR_SHARE = 8
MIN_SHARE = 0.1
"""Least share of function words in a text; real sentences have 20 % and more."""
MIN_SHARE_OF_ENDINGS = 0.04
_WITH_ENDINGS = frozenset({"fi", "tr", "hu", "pl", "cs"})
"""Languages that say by endings what others say by function words."""

# "Here is my answer: ..." and a list are no one sentence.
_PARTS = re.compile(r"\n|(?<=\w): ")
_ALONE = word_set("languages", "english_alone")
_BORROWED = frozenset(read_phrases("languages")["borrowed"])
_SAID = word_set("languages", "english_talk")
_LANGUAGE_NAMES = frozenset(name.lower() for name in LANGUAGES.values())
_ENGLISH = FUNCTION_WORDS["en"] | _SAID | _LANGUAGE_NAMES
_ONLY_ENGLISH = _ENGLISH.difference(*(w for code, w in FUNCTION_WORDS.items() if code != "en"))
_NAME = re.compile(r"\b[A-Z]\w+(?: (?:of|the|and|in|a|for|to|[A-Z]\w+))* [A-Z]\w+")

Detect = Callable[[str], tuple[str, float]]
"""Text -> likeliest code and the probability of the asked language."""


def foreign_sentence(text: str, code: str, script: str, detect: Detect) -> tuple[str, str] | None:
    """Return the first sentence in another language and that language's code or name, or None.

    Quotations are left out; titles and names are no sentences.

    Args:
        text: prose without code, as long as one likes.
        code: the language that is asked for.
        script: the one that it is written in, a key of `SCRIPT`.
        detect: what tells languages apart.
    """
    for sentence in _sentences(without_quotations(text)):
        other = _foreign(sentence, code, script, detect)
        if other:
            return sentence, other
        for clause in clauses(sentence):
            if code != "en" and clause != sentence and _is_english_clause(clause, detect):
                return clause, "en"
    return None


def _sentences(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        for part in _PARTS.split(sentence):
            if words(part):
                yield part.strip()


def _foreign(sentence: str, code: str, script: str, detect: Detect) -> str:
    spelt = _spelt(sentence)
    if _is_title(sentence, spelt):
        return ""
    if code != "en" and _is_english(sentence, spelt, code, script, detect):
        return "en"
    if len(spelt) < MIN_OTHER_WORDS:
        return ""
    if is_half_english(sentence, code):
        return "en"
    sibling = sibling_of(sentence, code)
    if sibling and sibling[1]:
        return sibling[0]
    kept = sentence if code == "de" else without_names(sentence)
    if script != "latin" or not is_connected(kept):
        return ""
    found, own = detect(kept)
    its_words = FUNCTION_WORDS.get(found, frozenset()) - FUNCTION_WORDS[code]
    num_its, num_own = (sum(word in w for word in spelt) for w in (its_words, FUNCTION_WORDS[code]))
    is_other = own <= MAX_PROBABILITY and num_its >= 2 and num_its > num_own
    return found if is_other and found != code else ""


def _is_title(sentence: str, spelt: list[str]) -> bool:
    """Whether a sentence is a heading or a name: "Game of Thrones", not "Speak in German."."""
    if " ".join(spelt) in _BORROWED:
        return True
    return len(spelt) > 1 and has_title_case(sentence) and _LANGUAGE_NAMES.isdisjoint(spelt)


def is_half_english(text: str, code: str) -> bool:
    """Whether a text surely has as many function words of English as of the asked language."""
    english, num_own = english_words(text, code)
    return len(english) >= max(MIN_SURE_ENGLISH_WORDS, num_own)


def english_words(text: str, code: str) -> tuple[list[str], int]:
    """Return function words of English alone, and how many there are of the asked language alone.

    "Wir schaffen das is what she said" has no mark between its halves. Quotations and
    names such as "The Lord of the Rings" are left out; a language without function words
    in the table has none.
    """
    if code not in FUNCTION_WORDS or code == "en":
        return [], 0
    spelt = _spelt(_NAME.sub(" ", without_quotations(text)))
    own = FUNCTION_WORDS[code]
    english = [word for word in spelt if word in _ENGLISH and word not in own]
    return english, sum(word in own and word not in _ENGLISH for word in spelt)


def is_short_of_function_words(text: str, code: str) -> bool:
    """Whether a text has hardly any of the words that no sentence of a language does without."""
    spelt, own = _spelt(text), OWN_WORDS.get(code)
    if own is None or code == "zh" or len(spelt) < MIN_WORDS_FOR_SHARE:
        return False
    least = MIN_SHARE_OF_ENDINGS if code in _WITH_ENDINGS else MIN_SHARE
    return sum(word in own for word in spelt) < least * len(spelt)


def _is_english(sentence: str, spelt: list[str], code: str, script: str, detect: Detect) -> bool:
    if script != "latin":
        own = "".join(SCRIPT[script].findall(sentence))
        if weight(own) > MAX_OWN_SHARE * weight(sentence):
            return False
        return (spelt[0] in _ALONE) if len(spelt) == 1 else any(w in _ENGLISH for w in spelt)
    if len(spelt) == 1:
        return spelt[0] in _ALONE
    rest = _spelt(_NAME.sub(" ", sentence))
    if len(rest) > 1:
        spelt = rest
    num_english = sum(word in _ONLY_ENGLISH for word in spelt)
    num_own = sum(word in FUNCTION_WORDS[code] for word in spelt)
    if num_english > num_own and 2 * num_english >= len(spelt):
        return True
    num_not_own = sum(word in _ENGLISH and word not in FUNCTION_WORDS[code] for word in spelt)
    return 0 < num_not_own >= num_own and detect(sentence)[1] <= MAX_PROBABILITY


def _is_english_clause(clause: str, detect: Detect) -> bool:
    spelt = _spelt(clause)
    num_english = sum(word in _ONLY_ENGLISH for word in spelt)
    if len(spelt) < MIN_CLAUSE_WORDS or num_english < MIN_CLAUSE_ENGLISH:
        return False
    return detect(clause)[1] <= MAX_PROBABILITY


def _spelt(text: str) -> list[str]:
    return [word.lower().replace("’", "'").strip("'") for word in words(text)]
