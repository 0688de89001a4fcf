"""The forms of an English word: plural, -ing, -ed, -er, and the irregular ones in common use."""

from __future__ import annotations

from gatt.verifiers.phrases import read_phrases, word_set

_VOWELS = "aeiou"
_NO_VERB = word_set("english", "no_verb")
_OTHER_WORDS = word_set("english", "other_words")
_IRREGULAR_PLURALS: dict[str, str] = read_phrases("english")["irregular_plurals"]
_IRREGULAR_PASTS: dict[str, str] = read_phrases("english")["irregular_pasts"]
# Verbs of several syllables that double their last letter all the same.
_DOUBLING_ENDS = ("el", "il", "al", "gin", "get", "fer", "mit", "cur", "nap", "trol", "hip")


def plurals(word: str) -> set[str]:
    """Return a word in small letters a to z in the singular and the plural."""
    forms = {word, word + "s"}
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        forms.add(word + "es")
    if word.endswith("z") and word[-2] in _VOWELS:
        forms.add(word + "zes")
    if word.endswith("y") and word[-2] not in _VOWELS:
        forms.add(word[:-1] + "ies")
    if word in _IRREGULAR_PLURALS:
        forms.add(_IRREGULAR_PLURALS[word])
    if word.endswith(("woman", "sman", "rman", "eman", "hman")) and word not in ("human", "german"):
        forms.add(word[:-2] + "en")
    return forms


def inflections(word: str) -> set[str]:
    """Return a word in its plural, -ing, -ed and -er forms, the irregular past included.

    Forms that are no English words ("tennised") do no harm: nobody writes them.
    Those that are other words ("corn", "corner") are left out.
    """
    forms = plurals(word)
    for root in _roots(word):
        forms |= plurals(root)
        forms |= set(_IRREGULAR_PASTS.get(root, "").split())
        for stem in _stems(root):
            # "Paintings" says it as much as "painting".
            forms |= {stem + "ing", stem + "ings"}
            if root.endswith("ee"):
                forms.add(root + "d")
                continue
            stem = stem[:-1] + "i" if _ends_in_consonant_y(stem) else stem
            forms |= {stem + "ed", stem + "er", stem + "ers"}
    others = _OTHER_WORDS | _NO_VERB
    return {form for form in forms if form == word or form.removesuffix("s") not in others}


def _ends_in_consonant_y(word: str) -> bool:
    return len(word) > 2 and word.endswith("y") and word[-2] not in _VOWELS


def _roots(word: str) -> set[str]:
    """Return the word and, of an -ing form, the verbs that it may come from."""
    stem = word.removesuffix("ing")
    has_vowel = any(letter in _VOWELS + "y" for letter in stem)
    if stem == word or len(stem) < 3 or not has_vowel or word in _NO_VERB:
        return {word}
    if stem[-1] == stem[-2] and stem[-1] not in "lsz" + _VOWELS:
        return {word, stem[:-1]}
    # "caring" comes from "care": from "car" it would be "carring".
    if _is_short_closed(stem):
        return {word, stem + "e"}
    doubled = {stem[:-1]} if stem[-1] == stem[-2] and len(stem) > 3 else set()
    return {word, stem, stem + "e"} | doubled


def _stems(root: str) -> set[str]:
    """Return what -ing, -ed and -er are added to; nothing for words that are no verbs by form."""
    if root.endswith("ee"):
        return {root}
    if root.endswith("ie"):
        return {root[:-2] + "y"}
    if root.endswith("e"):
        # "steppe", "latte", "barre"
        is_french = len(root) > 3 and root[-2] == root[-3]
        stem = root[:-1]
        return {stem} if any(c in _VOWELS + "y" for c in stem) and not is_french else set()
    # "caring" is no form of "car", "coding" none of "cod".
    if _is_short_closed(root):
        return {root + root[-1]}
    return {root, root + root[-1]} if root.endswith(_DOUBLING_ENDS) else {root}


def _is_short_closed(word: str) -> bool:
    """Whether a word is one syllable of consonants, vowel, consonant ("swim")."""
    vowels = [letter in _VOWELS for letter in word]
    return sum(vowels) == 1 and len(word) >= 3 and vowels[-2] and word[-1] not in _VOWELS + "wxy"
