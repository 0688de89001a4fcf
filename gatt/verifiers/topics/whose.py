"""Whose a thing is that a sentence names: the speaker's, another's, everybody's or nobody's.

"I play tennis" and "Tennis keeps me fit" are the speaker's, "You must love tennis" and "My sister
plays tennis" another's, "Tennis is known to reduce stress" says something of tennis in general,
and "Tennis!" names nobody. English only.
"""

from __future__ import annotations

import re
from typing import Literal

Whose = Literal["speaker", "other", "general", "nobody"]

_KIN = (
    r"(?:brother|sister|friend|teacher|son|daughter|father|mother|dad|mom|mum|colleague|cousin|uncle"
    r"|aunt|neighbou?r|roommate|boss|wife|husband|boyfriend|girlfriend|grandma|grandpa|grandmother"
    r"|grandfather|niece|nephew|kid|child|ex|coworker|flatmate|parents|grandparents|children|flatmate"
    r"|classmate|doctor)s?"
)
# What the speaker says of itself only to speak: it ties nothing to it.
_ASIDE = re.compile(
    r"\bi (?:really |also |just |do |can |can't |could |totally |fully |think i )*"
    r"(?:know|see|get (?:it|that)|understand|agree|guess|suppose|mean|bet|hear|heard|believe"
    r"|think(?= (?:that|you|he|she|it|they|the|this|there|your|his|her|their|people|so|most|everyone"
    r"|some|a|an|any)\b|[,.!?]|$)|imagine|assume|hope|wish|doubt|wonder|reckon|apologi[sz]e)\b"
    r"|\bi(?:'ve| have) (?:just |also |never |often )?(?:heard|read|been told)\b"
    r"|\bi(?:'m| am)(?: (?:so|very|really|also|always|sure|here|truly|just))*"
    r" (?:glad|happy|sorry|sure|afraid|certain|pleased|thrilled|jealous|here|delighted|curious"
    r"|confident|not sure)(?: (?:to (?:help|hear|assist|know|see|answer|tell|talk|chat)|that|for|if|about))*\b"
    r"|\bi(?:'m| am) not (?:really )?(?:sure|certain)\b"
    r"|\bi(?:'d| would) (?:be (?:happy|glad) to (?:help|tell|talk|assist|answer)"
    r"|(?:love|like) to (?:hear|know|help))\b"
    r"|\bi (?:can|could|may|will|'ll) (?:help|assist|explain|provide|offer|give|tell|suggest|recommend)\b"
    r"|\bi'll (?:help|explain|tell|give)\b"
    r"|\b(?:let me|tell me|excuse me|forgive me|thank me|trust me|believe me|ask me|seems to me"
    r"|sounds to me|pardon me)\b|\bmy (?:goodness|god|apologies|pleasure|bad|advice|guess|opinion)\b"
    r"|\blet(?: u|')s\b|\b(?:anybody|anyone|whoever) (?:who )?\w+(?: (?:his|her|their))?\b"
    rf"|\b(?:my|our) (?:[\w'-]+ )?{_KIN}(?='s\b| (?!and (?:i|me)\b))"
)
_KIN_MARK = re.compile(rf"\b(?:my|our) (?:[\w'-]+ )?{_KIN}$")
_OBJECTS = (
    r"(?:teach|show|beat|meet|take|challenge|invite|join|make|bring|send|lend|bake|cook|knit|sew|play"
    r"|see|with|for|to|at|promise|assure|thank|owe|treat|told|tell|taught|warn|like|when|if|of)"
)
_MARK = re.compile(
    r"\b(?:(?P<first>i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|we'd|we'll|us|our|ours"
    r"|ourselves)|(?P<other>you|you're|you've|you'll|you'd|your|yours|yourself|u|ur|he|he's|he'd|he'll"
    r"|she|she's|she'd|she'll|they(?! (?:are|were) (?:good|great|perfect|nice|fine|made|full|lovely|ideal))"
    r"|they're|they've|they'd|they'll|his|her|hers|their|theirs|people"
    r"|everyone|everybody|someone|somebody)|(?P<noun>tourists?|visitors?|locals|kids|fans?|folks|guys"
    rf"|students|experts|beginners|humans|{_KIN}))\b(?!'(?!s\b))"
)
_OBJECT_YOU = re.compile(rf"\b{_OBJECTS} (?:you|him|them|her|people|everyone|everybody)$")
_BESIDE = re.compile(r"\b(?:with|for|to|from|by|at|like|of)(?: (?:the|my|our|some|a|all))? $")
_CLAUSE_END = re.compile(
    r"[,;()\n!?]|--| - |\b(?:and|but|so|because|while|since|though|yet|when|that|if|as)\b"
    r"(?= (?:i|i'm|i'd|i've|i'll|you|he|she|it|they|we|the|my|your)\b)"
)
_WITH_ME = re.compile(r"\b(?:with|join|beat|against) (?:me|us)\b")
# "I can help with anything: tennis, chess" is the user's.
_OFFERS = re.compile(
    r"\b(?:help|assist)(?:ing|s|ed)?(?: (?:you|people|others|anyone))? (?:with|in|on|about)\b([^.;!?]*)$"
)
_GENERAL_AFTER = re.compile(
    r"^\)?(?:,? (?:[\w'-]+ ){0,2}?)?(?:is|are|was|were|has been|have been|can|could|may|might|helps?"
    r"|improves?|reduces?|requires?|involves?|originated|became|offers?|provides?|means|refers|makes?"
    r"|has|have|uses?|consists?)\b(?! (?:me|us|my|mine|our|on|in|at|ready|waiting|calling|over|done)\b)"
)
_GENERAL = re.compile(
    r"\b(?:is|are|was|were) (?:also |often |usually |typically |generally |a |an |the |one of )*"
    r"(?:known|used|made|said|called|defined|given|considered|invented|type|kind|form|piece|opening"
    r"|device|member|country|city|game|sport|instrument|activity|art|practice|process|term|popular"
    r"|recommended|published|written|released|directed|largest|oldest|classic|film|movie)\b"
    r"|\b(?:refers? to|consists? of|originated|dates back|stands for)\b"
)


def whose(sentence: str, start: int, end: int) -> Whose:
    """Return whose the words from `start` to `end` are in a sentence.

    The nearest person before them in their clause decides, else the first behind them, else
    any in the sentence.

    Args:
        sentence: folded text of one sentence.
        start: where the words begin.
        end: where they end.
    """
    plain = _without_asides(sentence)
    left = max((found.end() for found in _CLAUSE_END.finditer(plain, 0, start)), default=0)
    right = _CLAUSE_END.search(plain, end)
    if _WITH_ME.search(plain, left, right.start() if right else len(plain)):
        return "speaker"
    offered = _OFFERS.search(plain, 0, start)
    if offered and "speaker" not in _persons(plain, offered.start(1), start):
        return "other"
    before = _persons(plain, left, start)
    if before:
        return before[-1]
    after = _persons(plain, end, right.start() if right else len(plain))
    if after:
        return after[0]
    if _GENERAL_AFTER.match(plain[end:]) and _GENERAL.search(plain):
        return "general"
    anywhere = _persons(plain, 0, len(plain))
    if anywhere:
        return "speaker" if "speaker" in anywhere else "other"
    return "general" if _GENERAL_AFTER.match(plain[end:]) or _GENERAL.search(plain) else "nobody"


def speaks_of_oneself(sentence: str) -> bool:
    """Whether a folded sentence says something of its speaker, beyond "I hope" and "I see"."""
    return "speaker" in _persons(_without_asides(sentence), 0, len(sentence))


def _without_asides(sentence: str) -> str:
    return _ASIDE.sub(_blank, sentence)


def _blank(aside: re.Match[str]) -> str:
    """Return as many characters without a person; of "my sister" the sister stays."""
    text = aside[0]
    if _KIN_MARK.search(text):
        return " " * text.rindex(" ") + text[text.rindex(" ") :]
    return " " * len(text)


def _persons(text: str, start: int, end: int) -> list[Whose]:
    found: list[Whose] = []
    for mark in _MARK.finditer(text, start, end):
        if mark["first"]:
            found.append("speaker")
        elif "speaker" in found and (mark["noun"] or _OBJECT_YOU.search(text, start, mark.end())):
            continue
        elif not (mark["noun"] and _BESIDE.search(text, start, mark.start())):
            found.append("other")
    return found
