"""Neutral values of the sampling settings that a server would otherwise take from its own defaults.

The local engine samples by temperature and top_p alone. Servers add the model's `generation_config.json` (vLLM
and SGLang) or defaults of their own (llama.cpp: top_k 40, min_p 0.05), and the same model then replies in
another way. So each request states that nothing is added.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

NEUTRAL: Final[Mapping[str, int | float]] = {
    # All tokens: 0 and -1 are each refused by some server, and a number above the vocabulary by none.
    "top_k": 2**30,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,  # llama.cpp's name
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
OF_GREEDY: Final = (
    "repetition_penalty", "repeat_penalty", "presence_penalty", "frequency_penalty",
)  # fmt: skip
"""Settings that change a greedy reply too."""
_SPEAKS_OF_FIELDS: Final = re.compile(
    r"unrecogni[sz]ed|unknown|unexpected|unsupported|not (?:permitted|supported|allowed)"
    r"|additional (?:property|properties)|extra (?:fields?|inputs?|keys?|param)",
    re.IGNORECASE,
)

_WORDS: Final = ("model", "messages")
"""Fields whose names in a message are words of it."""

log = logging.getLogger(__name__)


class NeutralFields:
    """The neutral fields of a server's requests, without those that the server refuses.

    `given` are fields that the user sets, in `extra_body`, or leaves out; they are not sent here.
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        self.sent: dict[str, int | float] = {
            name: value for name, value in NEUTRAL.items() if name not in set(given)
        }
        self.refused: frozenset[str] = frozenset()

    def refuse(self, body: Mapping[str, Any], status: int, message: str) -> bool:
        """Leave out from now on what a server refused; return whether the request is worth another try.

        A message that speaks of unknown fields without a name leaves all of them out, unless it names
        another field of the request.

        Requests in flight may hold fields that are left out by now.
        """
        if status not in (400, 422):
            return False
        sent = [name for name in NEUTRAL if name in body and body[name] == NEUTRAL[name]]
        named = [name for name in sent if _names(message, name)]
        if not named and _SPEAKS_OF_FIELDS.search(message):
            needed = (*sent, *_WORDS)
            others = [name for name in body if name not in needed and _names(message, name)]
            named = [] if others else sent
        if new := [name for name in named if name in self.sent]:
            self.sent = {name: value for name, value in self.sent.items() if name not in new}
            self.refused |= frozenset(new)
            log.warning(
                "the server does not take %s (%s): its own defaults count there, and a local engine may reply "
                "in another way", ", ".join(new), message[:200],
            )  # fmt: skip
        return bool(named)


def _names(message: str, field: str) -> bool:
    return re.search(rf"(?<![A-Za-z_]){re.escape(field)}(?![A-Za-z_])", message) is not None
