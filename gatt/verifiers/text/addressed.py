"""Whether a sentence brings a thing to the user, or only reports, defines or imagines it. English.

"Our rooftop bar is open until midnight" does; "She works in a rooftop bar", "A rooftop bar is a bar
on a roof" and "If I had a rooftop bar" do not.
"""

from __future__ import annotations

from gatt.verifiers.phrases import Patterns

_RE = Patterns("addressed")

NO_WORD = "is no word to the user about"
REGRETS = "regrets something about"
_MOST_HEADING_WORDS = 6


def speaks_to_user(text: str, start: int, end: int) -> bool:
    """Whether a folded sentence is for the user: an order, an offer, "you", "our", or praise.

    The words from `start` to `end` are the matter itself; an "open day" is no praise.
    """
    rest = f"{text[:start]} {text[end:]}"
    is_worth = _RE.WORTH.search(rest) or _RE.SAVES.search(text, start, end)
    return bool(is_worth or _RE.TO_USER.search(text) or _RE.IMPERATIVE.search(text))


def is_passed_over(before: str) -> bool:
    """Whether what follows a folded beginning is only what is not chosen: "Tea instead of"."""
    return bool(_RE.PASSED_OVER.search(before))


def is_heading(text: str) -> bool:
    """Whether a folded sentence is a few words without a verb, as in a list: "Winter tyre fitting"."""
    is_short = len(text.split()) <= _MOST_HEADING_WORDS and not text.rstrip().endswith(".")
    return is_short and not _RE.VERB.search(text)


def flaw_of(text: str, start: int, end: int) -> str | None:
    """Return why a folded sentence does not bring its matter to the user, or None.

    Args:
        text: the sentence.
        start: where it names its matter.
        end: where that name ends.
    """
    if _RE.OF_OTHERS.search(text[:end]):
        return "tells of others"
    if is_passed_over(text[:start]):
        return "passes over"
    if _RE.HEARSAY.search(text[:start]) and not _RE.ADDRESSES.search(text):
        return "tells of others"
    if _RE.THEIRS.search(text) and not (_RE.ADDRESSES.search(text) or _RE.IMPERATIVE.search(text)):
        return "tells of others"
    if _RE.IMAGINED.search(text):
        return "only imagines"
    if _RE.PAST.search(text):
        return "tells of the past"
    if _RE.DEFINES.search(text) and not _RE.ADDRESSES.search(text):
        return "only explains"
    if text.rstrip(" \"')*_").endswith("?") and (
        _RE.ASKS_FACTS.search(text) or not _RE.INVITES.search(text)
    ):
        return "only asks about"
    if _RE.REGRETS.search(text):
        return REGRETS
    if not speaks_to_user(text, start, end):
        return NO_WORD
    return None
