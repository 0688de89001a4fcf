"""Replies that anybody might give, and which rules they follow unasked. No torch here.

"Use no digits" is followed by nearly every reply: one that leaves it alone
cannot be told from one that follows it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec

ORDINARY: tuple[str, ...] = (
    "That sounds good to me.",
    "I think so too, but it depends on the day.",
    "Yes, of course! How can I help you?",
    "I am fine, thanks. How are you?",
    "It was a quiet week. I stayed at home and slept a lot.",
    "I don't know much about that, sorry.",
    "i have no idea, maybe ask someone else",
    "No problem at all. Let me know if you need anything else.",
    "We have 2 of them at home, and they are both quite old.",
    "Oh, I see. That must have been hard for you.",
    "What do you mean by that?",
    "Thank you so much! That is very kind of you.",
    "The weather has been nice here. It rained on Monday, though. We hope for a dry weekend.",
    "I would start early, take a break around noon, and finish the rest in the afternoon.",
    "It takes about 20 minutes on foot from here.",
    "There are a few things to think about. First, set a budget.\n"
    "Then compare the offers.\nLast, sleep on it before you decide.",
    "That is a long story, and I am not sure where to begin. We moved here when I was ten, because "
    "my father had found a job nearby. At first I knew nobody at school, but after a few months it "
    "got better, and today I would not want to live anywhere else in the world.",
)
"""What anybody might say: each kind of reply that occurs all the time, on no topic."""


def is_ordinary(verifiers: Sequence[VerifierSpec]) -> bool:
    """Return whether some ordinary reply passes all of the verifiers unasked; False for none."""
    return _is_ordinary(json.dumps([v.as_dict() for v in verifiers]))


@lru_cache(maxsize=4096)
def _is_ordinary(verifiers: str) -> bool:
    specs = [VerifierSpec.from_dict(raw) for raw in json.loads(verifiers)]
    return any(overall(check_all(specs, text)) == "pass" for text in ORDINARY)
