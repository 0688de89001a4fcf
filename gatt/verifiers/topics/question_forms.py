"""The forms of an English sentence by which a speaker asks its user for something, or offers it.

"Do you have dental insurance?" and "Please tell us your order number" ask the user. "What is dental
insurance?", "How much is your breakfast?" and "Where do I find my order number?" do not: they ask what
a thing is or costs, or speak as a customer would.
"""

from __future__ import annotations

from gatt.verifiers.phrases import Patterns

_RE = Patterns("question_forms")

_FRAGMENT_WORDS = 7


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question does, or begins as one and has no mark at its end."""
    if _RE.QUESTION_END.search(sentence):
        return True
    is_unmarked = not sentence.rstrip(" \"')*_").endswith((".", "!", ":", ";", "…"))
    return is_unmarked and bool(_RE.INVERTED.search(sentence.lower()))


def is_request(text: str) -> bool:
    """Whether a folded sentence asks its user to tell or give something ("let us know", "please enter")."""
    return bool(_RE.REQUEST.search(text))


def asks_otherwise(text: str) -> bool:
    """Whether a folded question asks what a thing is or costs, or asks as a customer would."""
    if _RE.OTHERWISE.search(text):
        return True
    if _RE.VERB.search(text) and not _RE.OF_PERSONS.search(text):
        return True
    what = _RE.WHAT_IS.search(text)
    return bool(what) and not _RE.OF_USER.search(text)


def invites(text: str) -> bool:
    """Whether a folded question offers something ("Would you like", "Shall I"), a fragment included."""
    return bool(_RE.OFFERS.search(text)) or _is_fragment(text)


def is_between_speakers(text: str) -> bool:
    """Whether a folded question names its user or its speaker."""
    return bool(_RE.OF_SPEAKERS.search(text))


def _is_fragment(text: str) -> bool:
    """Whether a folded question is a few words without a verb: "A table for tonight?"."""
    return len(text.split()) <= _FRAGMENT_WORDS and not _RE.VERB.search(text)


def speaker_offers(text: str) -> bool:
    """Whether a folded statement offers something ("we can", "let me", "glad to")."""
    return bool(_RE.SPEAKER_OFFERS.search(text))
