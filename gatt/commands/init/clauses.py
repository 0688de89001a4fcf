"""A sentence of the user's in clauses, each of which asks for one thing. No torch here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ASKS: Final = (
    r"(?:please |always |never |only |just |also |do not |don['’]t |you (?:must|should|have to|may|can"
    r"|will) )+"
    r"|(?:answer|reply|respond|speak|talk|mention|ask|end|finish|close|start|begin|open|use|be|keep|avoid"
    r"|write|refer"
    r"|sign|act|play|offer|include|recommend|remind|say|tell|stay|call|address|format|list|give|sound|make"
    r"|limit"
    r"|discuss|promise|share|reveal|insult|stick|help|explain|suggest|quote|name|repeat|greet|thank"
    r"|apologi[sz]e"
    r"|translate|summari[sz]e|point|add|put|return|output|wrap|do not|don['’]t|never|always|you are|you['’]re"
    r"|your name is"
    r"|you (?:work|speak|answer|reply|write|talk|mention|use|end|start|love|like|enjoy|live)"
    r"|refuse|decline|pretend|role-?play|behave|summari[sz]e|sell|send|invent|guess|ignore|focus|treat"
    r"|consider)\b"
    # Words that are nouns or adjectives as well ("polite and correct") ask for something in front of a thing.
    r"|(?:always |never )*(?:correct|describe|roll|cite|confirm|check|link|show|present|provide|teach|guide"
    r"|praise|encourage|warn|propose|continue|let|remember|introduce|narrate|stop|compare|define|state"
    r"|highlight"
    r"|pick|choose|solve|translate|grade|decide|book|cancel)"
    r"(?= (?:the|a|an|any|every|each|all|exactly|only|at|one|two|three|no|my|your|their|our|his|her|its|what"
    r"|how|which|who|when|where|whether|them|him|it)\b)"
)
_DOES: Final = (
    r"(?:always |only |never |just )*(?:answers?|replies|reply|speaks?|writes?|mentions?|asks?|ends?|starts?"
    r"|uses?|talks?|responds?|gives?)\b"
)
_MEASURE: Final = (
    r"(?:in )?(?:at most|at least|no more than|not more than|up to|under|max(?:imum)?|exactly|höchstens"
    r"|maximal"
    r"|máximo|au maximum) (?:a )?[\w-]+ (?:short |whole )?"
    r"(?:word|sentence|line|paragraph|character|bullet|Wort|Wört|Sätz|Satz|Zeile|palabra|frase|mot|phrase)"
)
_NONE: Final = r"(?:no|keine?n?) (?!more\b|less\b|fewer\b|longer\b|later\b|matter\b|one\b)"
_FOREIGN: Final = (
    r",?\s+(?:und|y|e|et)\s+(?=(?:ne|no|nunca|jamais|jamás)\s|n['’]"
    r"|\w+ (?:Sie )?(?:nie|niemals|nicht|keine?n?)\b|(?:antwort|sag|nenn|erwähn|verwend|benutz|nutz"
    r"|sei\b|bleib|frag|beend|beginn|halt|schreib|gib\b|stell|weise|biet|empfehl|empfiehl|sieze|duze|sprich|respond|contest"
    r"|menciona|usa\b|uses\b|termina|empieza|pregunta|habla|trata|ofrece|escribe|mantén|en un máximo|répond"
    r"|mentionne|utilise|termine|commence|demande|parle|vouvoie|tutoie|propose|écri|reste|dépasse|évite))"
)
_BREAK: Final = re.compile(
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\bProf\.)(?<!e\.g\.)(?<!i\.e\.)(?<=[.;!?…])\s+"
    rf"|\s*[;\n]\s*|,?\s+(?:and|but|then|so)\s+(?={_ASKS})|,\s+(?={_ASKS}|{_MEASURE}|{_NONE}|then\s|each\s)"
    rf"|,?\s+(?:and|but|or|und|oder)\s+(?={_NONE})|{_FOREIGN}"
    rf"|,?\s+(?P<relative>who|which|that)\s+(?={_DOES})",
    re.IGNORECASE,
)
_OR: Final = re.compile(rf",?\s+(?:or|nor|and)\s+(?={_ASKS})", re.IGNORECASE)
_DENIAL: Final = re.compile(
    r"(?:please )?(?:never|do not|don['’]t|you must not|refuse to|decline to)(?: ever)?\b",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"(?:(?:but|and|so|then|otherwise),? )?(?:(?:only |even )?if|when(?:ever)?|unless|until|once|in case"
    r"|in an? emergency|in emergencies|for any(?:thing)? (?:else|other)|as soon as|wenn|falls|sobald|si"
    r"|cuando|quand|lorsque)\b",
    re.IGNORECASE,
)
_ROLE: Final = re.compile(
    r"(?:you|your name|act|play|pretend|be|speak|role-?play|i want you)\b", re.IGNORECASE
)
_QUOTE: Final = re.compile(r"[\"“„«][^\"“”„«»]+[\"”“»]|(?<!\w)['‘].+?['’](?!\w)")
_ENDS: Final = re.compile(r"[.!?…]\s?[\"”“»'’]\s+(?=[A-ZÄÖÜÉÀÇ¿¡])")
_HIDDEN: Final = "\ue000"


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence or of several, in order; together they hold all of its words.

    What stands in quotation marks is never cut. All that a condition at the head of a sentence is a
    condition of stays with it. "never A or B" is "never A" and "never B".
    """

    def hide(quote: re.Match[str]) -> str:
        # A quotation that ends a sentence shows its end.
        ends = _ENDS.match(sentence, quote.end() - 2)
        return _HIDDEN * (len(quote[0]) - 1) + ("." if ends else _HIDDEN)

    hidden = _QUOTE.sub(hide, sentence)
    texts: list[str] = []
    # Of the sentence that begins with a condition, while it goes on.
    begun: int | None = None
    for start, end in _spans(hidden):
        text = sentence[start:end].strip(" ,")
        if begun is not None and texts:
            texts[-1] = sentence[begun:end].strip(" ,")
        elif re.search(r"\w", text):
            texts.append(text)
            begun = start if _CONDITION.match(text) else None
        if hidden[start:end].rstrip().endswith((".", "!", "?", "…", ";")) or hidden[
            end : end + 1
        ] in (
            ";",
            "\n",
        ):
            begun = None
    return [one for text in texts for one in _denied_apart(text)]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for stop in _BREAK.finditer(text):
        if stop["relative"] and not _ROLE.match(text[start:]):
            # "a line that starts with …" asks for nothing new.
            continue
        yield start, stop.start()
        start = stop.end()
    yield start, len(text)


def _denied_apart(clause: str) -> Iterator[str]:
    denial = _DENIAL.match(clause)
    if denial is None:
        yield clause
        return
    first, *others = _OR.split(clause)
    yield first
    for other in others:
        yield other if _DENIAL.match(other) else f"{denial[0]} {other}"
