"""The life that a reply claims for its speaker, beside the terms of the role. English only.

A figure of history has no printer and went to no high school. A speaker with a bench, a shop or a class
of its own may be the one that was asked for, although no term of the role is named: a rule cannot tell.
"""

from __future__ import annotations

import re

_THINGS = (
    r"(?:laptops?|smart ?phones?|cell ?phones?|i ?phones?|internet|wi-?fi|online|websites?|e-?mails?|apps?"
    r"|netflix|youtube|google[ds]?|zoom|video ?games?|minecraft|fortnite|xbox|playstation|streaming|podcasts?"
    r"|blogs?|selfies?|instagram|facebook|tiktok|twitter|whatsapp|printer|microwave|air ?con(?:ditioning)?"
    r"|dorm|high school|middle school|\d+th grade|student loans?|index funds?|the mall|uber|credit cards?"
    r"|roommates?|parking lot|freeway|autopilot|air ?bnb|crossfit"
    # The car, neither the man nor his coil.
    r"|(?:(?<=\ba )|(?<=\bmy )|(?<=\bour ))teslas?(?! (?:coil|motor|turbine|tower)))"
)
_WORKS = (
    r"(?:software|web|data|app) (?:engineer|developer|designer|scientist|analyst)|programmer|coder"
    r"|dental (?:hygienist|assistant)|receptionist|barista|flight attendant|school (?:counselor|psychologist)"
    r"|gym teacher|social media manager|project manager|graphic designer|streamer|youtuber|influencer"
    r"|student at|high school\w*|freshman|sophomore"
)
_FIELDS = (
    r"(?:human resources|hr|it|marketing|finance|sales|logistics|accounting|advertising|insurance"
    r"|real estate|retail|tech|customer service|an? (?:\w+ )?(?:office|bank|call center|law firm|warehouse))"
)
WORKS_IN = re.compile(rf"\bi(?:'m)? work(?:ing)? (?:in|at|for) {_FIELDS}\b")
"""Of a folded reply: a field of work of today."""
_MODERN = re.compile(
    rf"\b(?:my|our)(?: own| new| old)? (?:[\w'-]+ ){{0,2}}?{_THINGS}\b"
    rf"|\b(?:i|i'm|i've|i'll|i'd|we|we're|we've)\b[^.!?;\n]{{0,60}}?\b{_THINGS}\b"
    rf"|\b(?:the|our) (?:printer|ac|wi-?fi|dorm)\b"
    rf"|\b(?:i am|i'm) (?:[^.,;!?\n]{{1,25}}, )?an? (?:[\w-]+ ){{0,2}}(?:{_WORKS})\b"
    r"|\b(?:i|my|we|our)\b[^.!?\n]{0,60}\b(?:19[7-9]\d|20[0-4]\d)\b"
)
# "What is this internet of yours? I have never seen a laptop."
_STRANGE = re.compile(
    r"\b(?:your|yours|this|these|such|no|not|never|nothing|\w+n't|what|without|you)\b"
)

_GENERIC = (
    r"(?:opinion|favou?rites?|name|knowledge|apolog|respon|answers?|training|pleasure|goals?|mistake|best"
    r"|guess|advice|suggestions?|point|mind|view|thoughts?|bad|friend|dear|help|purpose|role|job is"
    r"|understanding|information|programming|creators?|capabilit|abilit|recommend|heart goes|day has"
    r"|condolences|(?:new|next|first|favou?rite) )"
)
_PAST = (
    r"(?:got|took|went|set|walked|made|had|saw|ate|drank|slept|spent|came|left|bought|sold|built|drew|wrote"
    r"|taught|led|rode|sang|grew|brought|kept|cut|fought|won|lost|gave|spoke|stood|ran|(?!need|want|wonder)"
    r"[a-z]{3,}ed)"
)
_OWN_LIFE = re.compile(
    rf"\b(?:my|our) (?!{_GENERIC})[a-z]"
    rf"|\b(?:i|we|i've|we've|i'd)(?: (?:just|also|once|even|still|only|always|never|have|had))* {_PAST}\b"
    r"|\b(?:me|us) (?:again|this morning|last (?:night|week|year)|for (?:the|my))\b"
)


_ASSISTS = re.compile(r"\b(?:assist(?:ing|ance)?|help you|here to help|how can i|how may i)\b")


def modern_claim(folded: str) -> tuple[int, int] | None:
    """Return where the speaker claims a life of today, None if it does not.

    Args:
        folded: of `gatt.verifiers.text.folding.fold`.
    """
    for found in (*_MODERN.finditer(folded), *WORKS_IN.finditer(folded)):
        if not _STRANGE.search(found[0]):
            return found.span()
    return None


def speaks_of_own_life(folded: str) -> bool:
    """Whether the speaker tells of things or deeds of its own, as an assistant does not."""
    return _OWN_LIFE.search(folded) is not None and not _ASSISTS.search(folded)
