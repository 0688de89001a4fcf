"""Answers in the wrong order: "G comes before F", asked which letter comes before G."""

from __future__ import annotations

import re
from typing import Final

from gatt.verifiers.rule import Span
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentence_at

VERSION: Final = 2
_ASKED: Final = re.compile(
    r"\b(?:(?P<before>before|precedes?)|(?P<after>after|follows?))\b", re.IGNORECASE
)
_BEFORE: Final = r"before|precedes?|preceding|avant|precede|antes d[aeo]l?|anterior al?|vor"
_AFTER: Final = (
    r"after|follows|following|apres|suit|despues del?|depois d[aeo]|tras|nach|folgt auf|sig?ue a"
)
_BETWEEN: Final = r"\s+(?:the|an?|letter|number|day|month|l[ae]|l|lettre|el|letra|de[mrn]|o)"
_LEADS_TO: Final = {
    "before": re.compile(rf"\b(?:{_BEFORE})(?:{_BETWEEN})*[\s\"“*]*$"),
    "after": re.compile(rf"\b(?:{_AFTER})(?:{_BETWEEN})*[\s\"“*]*$"),
}


def is_turned_round(asked: str, reply: str, said: Span) -> bool:
    """Return whether a reply puts an answer behind the word that the question puts before the known one.

    Asked in English what comes before G, nothing "comes before F" in a right answer, in no language.

    Args:
        asked: the question; False where it asks for nothing before or after something.
        reply: as it is read.
        said: where the answer stands in it.
    """
    match = _ASKED.search(asked)
    if not match or match.lastgroup is None:
        return False
    start, _ = sentence_at(reply, said[0])
    return bool(_LEADS_TO[match.lastgroup].search(fold_text(reply[start : said[0]])))
