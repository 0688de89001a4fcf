"""What one says of a hobby: that one has it, that one has it not, that it is the best there is.

English only. Sentences are folded, and so are the places in them.
"""

from __future__ import annotations

from gatt.verifiers.phrases import Patterns

_RE = Patterns("liking")


def is_denied(sentence: str, start: int, end: int, following: str = "") -> bool:
    """Whether a sentence denies what it names from `start` to `end`, or the next one does ("No.")."""
    before, after = sentence[:start], sentence[end:]
    before = before if before.endswith(" ") else f"{before} "
    if _RE.DENIES.search(before) and not _RE.BEATS_ALL.search(before):
        return not (_RE.CANNOT_NOW.search(before) and _RE.ONLY_NOW.search(after))
    if _RE.AS_DULL_AS.search(before):
        return True
    if _RE.FOUND.search(before) and _RE.FOUND_DULL.search(after):
        return True
    return bool(_RE.DENIED_AFTER.search(f"{after} {following}"))


def is_question_to_the_user(sentence: str) -> bool:
    """Whether a sentence asks about another and says nothing of the speaker."""
    if not sentence.rstrip(" \"')").endswith("?"):
        return False
    asked = _RE.ASKS.sub(" ", sentence)
    return bool(_RE.OF_THE_USER.search(sentence)) and not _RE.OF_MYSELF.search(asked)


def denies_having_any(text: str) -> bool:
    """Whether a text says that its speaker, a machine, has no hobbies."""
    return _RE.NO_HOBBY.search(text) is not None


def is_praised(sentence: str, *, in_general: bool) -> bool | None:
    """Whether a sentence without a person is an enthusiast's; None if that cannot be told.

    Args:
        sentence: the sentence, folded.
        in_general: whether it says something of the hobby as such ("Tennis is a good sport").
    """
    if _RE.PRAISES.search(sentence):
        return True
    is_dry = _RE.TEXTBOOK.search(sentence) or (in_general and not _RE.GOOD.search(sentence))
    return False if is_dry else None


def sounds_like_a_hobby(sentence: str, start: int, end: int) -> bool:
    """Whether the speaker does the thing from `start` to `end` as one does a hobby."""
    if _RE.HOBBY_WORDS.search(sentence):
        return True
    return bool(_RE.SPEAKER_DOES.search(sentence[:start]) and _RE.WHEN.match(sentence[end:]))
