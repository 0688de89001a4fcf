"""Whether a reply only says who the speaker is, and whether the message asks for that.

In English, and as far as simple words tell in German, Spanish and French.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.words import words

MOST_BESIDE: Final = 2
"""Words that may stand beside a fact, up to the next comma: "a proud nurse from sunny Lisbon"."""
_NAMING: Final = ("name", "work", "company", "business")
"""Facts by which a speaker is introduced; "I am 34 too." answers somebody's remark."""
_OPENS: Final = re.compile(
    r"(?:i am|i'm|my name is|my name's|this is|you are (?:talking|speaking) to|ich bin|ich heisse"
    r"|mein name ist|hier ist|soy|me llamo|mi nombre es|je suis|je m'appelle|mon nom est)\b"
)
_GREETS: Final = re.compile(
    r"^\W*(?:(?:hello|hi|hey|welcome|good (?:morning|afternoon|evening|day)|well|oh|hallo"
    r"|guten (?:tag|morgen|abend)|hola|buen[oa]s (?:dias|tardes|noches)|bonjour|bonsoir|salut)\b"
    r"(?: there\b)?\W*)+"
)
_PIECE_END: Final = re.compile(r"[.!?;:,\n…]+| (?:and|but|so|und|aber|pero|mais) ")
_WORDS_AROUND: Final = """
a an the i am i'm my name is name's this of from at in for as who works work working live lives living here
we our years old based by with and you are talking speaking to
ich bin ein eine einer der die das aus von vom bei in mein name ist hier heisse arbeite als und
soy me llamo mi nombre es un una el la los las de del en y trabajo como para
je suis m'appelle mon nom est une le les du des a au chez et travaille comme pour
"""
_COMMON: Final = frozenset(_WORDS_AROUND.split())
"""Words that stand around the facts of an introduction."""
_ASKED_OF_ANYBODY: Final = re.compile(
    r"\b(?:can|could|would|will|thank|see|bless) you\b"
    r"|\b(?:puedes|puede|peux-tu|pouvez-vous|kannst du|konnen sie)\b"
)
_TO_THE_SPEAKER: Final = re.compile(
    r"\b(?:you|your|you're|yours|yourself|u|ur|who|who's|introduce|names?|company|firm|business|shop|place"
    r"|sie|wem|heissen|firma|unternehmen|welche[rns]?|wo|woher|alter"
    r"|empresa|compania|donde|edad|cargo|puesto|funcion|trabaj\w+|viv[eo]s?|tienes?|estas|ciudad"
    r"|recuerdas|entreprise|societe|metier|poste|age"
    r"|du|dich|dir|dein\w*|ihr\w*|ihnen|wer|vorstell\w*|bist|heisst|machst"
    r"|tu|tus|te|ti|usted(?:es)?|su|sus|quien|eres|llamas?|haces|presenta\w*"
    r"|toi|ton|ta|tes|vous|votre|vos|qui|es-tu|t'appelles?|presente\w*)\b"
)
_INTRODUCES_THE_USER: Final = re.compile(
    r"\b(?i:i am|i['’]m|my name is|this is|ich bin|ich heiße|soy|me llamo|je suis|je m['’]appelle) [A-ZÀ-Þ]"
)


def only_introduces(text: str, facts: Mapping[str, Sequence[str]]) -> bool:
    """Whether each piece of a reply between commas or stops says a fact of the instruction and little else.

    It begins with "I am" or the like, apart from a greeting.
    """
    own = {name: _words_of(some) for name, some in facts.items()}
    every = frozenset(word for some in own.values() for word in some)
    naming = frozenset(word for name in _NAMING for word in own.get(name, ()))
    bare = _GREETS.sub("", fold_text(text)).strip()
    pieces = [_words_of([piece]) for piece in _PIECE_END.split(bare) if words(piece)]
    return (
        bool(_OPENS.match(bare))
        and any(piece & naming for piece in pieces)
        and all(piece & every and len(piece - every) <= MOST_BESIDE for piece in pieces)
    )


def asks_who(message: str, facts: Mapping[str, Sequence[str]]) -> bool:
    """Whether an introduction answers a message.

    It speaks to or of the speaker, only greets, or says who the user is.
    """
    folded = fold_text(message)
    greeting = _GREETS.match(folded)
    return bool(
        _TO_THE_SPEAKER.search(_ASKED_OF_ANYBODY.sub(" ", folded))
        or (greeting and not words(folded[greeting.end() :]))
        or _INTRODUCES_THE_USER.search(message)
        or _words_of([message]) & _words_of([one for some in facts.values() for one in some])
    )


def _words_of(texts: Sequence[str]) -> frozenset[str]:
    """Return the folded words of texts, those around the facts of an introduction aside."""
    return frozenset(word for text in texts for word in words(fold_text(text))) - _COMMON
