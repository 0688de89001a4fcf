"""Whether a sentence brings a thing to the user, or only reports, defines or imagines it. English.

"Our rooftop bar is open until midnight" does; "She works in a rooftop bar", "A rooftop bar is a bar
on a roof" and "If I had a rooftop bar" do not.
"""

from __future__ import annotations

import re

_OPENERS = (
    r"(?:(?:and|but|oh|so|also|then|please|kindly|just|now|well|always|never|do|don't|do not|first|again"
    r"|lastly|finally|today|tonight|tomorrow|one (?:\w+ )?(?:tip|reminder|thing|note)|tip|reminder|p\.?s\.?"
    r"|by the way|btw|as (?:always|ever)|remember|before I forget|hey|hi|hello|yes|no|sure|bye|ok|okay"
    r"|afterwards|before (?:you|that|bed)[^,]*|after[^,]*|if[^,]*|when[^,]*|whatever[^,]*|should[^,]*"
    r"|while[^,]*|for (?:that|more)[^,]*|in (?:the )?meantime|until then|to [^,:]*)[,:!.–-]* *)*"
)
_ORDERS = (
    r"(?:add|allow|arrange|ask|be|bear|book|bring|brush|buy|call|carry|catch|check|choose|clean|close"
    r"|combine|come|consider|cook|cover|discover|document|drop|drink|dry|eat|enjoy|enquire|ensure|exercise"
    r"|explore|feel|find|finish|floss|follow|fly|forget|get|give|go|grab|guard|have|head|hide|inquire"
    r"|join|keep|learn|leave|let|lock|look|lower|make|meet|mind|miss|note|open|opt|order|pay|photograph|pick"
    r"|plan|pop|prepare|protect|put|read|reduce|register|remember|remind|renew|return|run|save|see|send|shoot"
    r"|show|sign|skip|snap|stay|stop by|store|stretch|study|swap|switch|take|talk|taste|tell|think|treat|try"
    r"|turn|unplug|update|upload|use|vaccinate|verify|visit|wait|walk|warm|wash|watch|wear|write)\b"
)
_IMPERATIVE = re.compile(
    rf"(?:^|[;:.!?–—] ?|, (?:and |so |but )?| - |\band )\W*{_OPENERS}{_ORDERS}"
    r"|^\W*(?:and |but |so |please |by the way,? )*(?:never|don't|do not|please|do|remember to"
    r"|be sure to) [a-z]+"
)
_TO_USER = re.compile(
    r"\b(?:you|your|yours|yourself|you're|you'll|you'd|you've|we|we're|we'll|we'd|we've|us|our|ours)\b"
    r"|\bi(?:'d| would| can|'ll| will| could| may| must| shall| should)\b"
    r"|\bi(?:'m| am) (?:\w+ )?(?:happy|glad|pleased|delighted|grateful|thankful|here)\b"
    r"|\bi (?:\w+ )?(?:recommend|suggest|advise|urge|hope|thank|invite|propose|encourage|warn|remind"
    r"|appreciate)"
    r"|\b(?:let|may|shall|can|could) (?:me|i)\b|\b(?:how|what) about\b|\bwhy (?:not|don't)\b|\bthank(?:s"
    r"|ful)?\b"
    r"|\b(?:tip|reminder|note|advice|hint|suggestion):|\bwelcome\b|\blooking forward\b|\bhope(?:fully)?\b"
    r"|\bsee you\b"
)
_WORTH = re.compile(
    r"\b(?:possible|available|free|open|worth|best|good|great|lovely|delicious|wonderful|tasty|excellent|nice"
    r"|useful|helpful|important|wise|essential|vital|crucial|recommended|advisable|welcome|easy|easiest|quick"
    r"|simple|special|smart|ready|included|helps?|saves?|saving|protects?|prevents?|keeps?|works? wonders"
    r"|must|should|ought|pays? off|makes? (?:sense|a (?:\w+ )?difference)|in stock|on offer|at no"
    r"|no problem|not too late|can be (?:arranged|done|booked|had|ordered|requested|made|found|added"
    r"|fitted|returned|sent)"
    r"|is (?:now |also |next |on |this |in |coming )|place to be|takes? (?:only |just )?(?:an?|one"
    r"|two|five|ten|\d+)|costs? (?:little|nothing)|season|time for|the (?:rule|thing|way) to)"
)
_SAVES = re.compile(r"\b(?:sav(?:es?|ing)|less|cut|lower|reduce|free|no cost|no charge)\b")
_DEFINES = re.compile(
    r"\b(?:the (?:term|word|phrase|definition)\b|stands for|refers to|is defined|means that|by definition)"
    r"|\b(?:is|are|was|were) (?:when\b|where\b|what (?:people|one)\b|an? (?:kind|form|type|sort|term|word"
    r"|piece|document|contract|agreement|practice|process|method|person|dance|branch)\b"
    r"|(?:an?|the) (?:[\w-]+ ){1,5}(?:that|which|who|whose|in which|on which|issued|used|designed)\b)"
    r"|\b(?:first|originally) (?:\w+ )?(?:offered|invented|developed|used)|\bwas (?:invented|developed"
    r"|founded)"
)
_OF_OTHERS = re.compile(
    r"\b(?:he|she|he's|she's|he'd|she'd)\b"
    r"|\b(?:reminds?|tells?|told|thanks?|thanked|asks?|asked|says?|said|recommends?|warns?"
    r"|offers?) (?:his|her"
    r"|their|him|them)\b"
    r"|\b(?:customers|guests|people|patients|visitors|travell?ers|drivers|clients|members|tourists)"
    r" (?:\w+ly |often |always |sometimes )?(?:thank|ask|say|tell|complain|wonder|forget|think|hate|call"
    r"|used)\b"
    r"|\bthe (?:guest|customer|person|patient|client|visitor|caller|other)s?(?: \w+){0,3}?"
    r" (?:ask|want|sa(?:id|y)|tell|told|had|has|got|took|take|paid|pay|complain)\w*\b"
    r"|\b(?:my|his|her|their|the|some|many|most|other|an?) (?:\w+ )?(?:brother|sister|mother|father|mom"
    r"|mum|dad"
    r"|uncle|aunt|cousin|friend|neighbou?r|boss|colleague|wife|husband|man|woman|guy|zoo"
    r"|museum)s?\b(?! (?:like )?you)"
    r"|\b(?:some|many|most|other|an?) (?:\w+ )?(?:shop|hotel|compan|bank|restaurant|people|garage"
    r"|clinic)(?:s|y|ies)?\b"
)
_PASSED_OVER = re.compile(
    r"\b(?:instead of|rather than|other than|apart from|except|pass on|unlike)(?: (?!and\b|with\b)\w+){0,2} ?$"
)
NO_WORD = "is no word to the user about"
REGRETS = "regrets something about"
_REGRETS = re.compile(
    r"^\W*(?:well |oh |but )?(?:sorry\b|unfortunately\b|regrettably\b|sadly\b|alas\b"
    r"|(?:i'm|i am|we're|we are) (?:\w+ )?(?:afraid|sorry)\b|(?:i|we) regret)(?!.*\bbut\b)"
    r"|\b(?:i'm|i am|we're|we are) afraid\W*$"
)
_HEARSAY = re.compile(
    r"\bi (?:think|guess|bet|believe|suppose|hear|heard|read|know|saw)\b|\bi(?:'ve| have) (?:heard|read"
    r"|seen)\b|\b(?:apparently|allegedly|they say|it is said|rumou?r has it)\b"
)
_MOST_HEADING_WORDS = 6
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|be|been|do|does|did|have|has|had|can|could|will|would|shall|should|may|might"
    r"|must|i|he|she|they|it)\b|n't\b"
)
_IMAGINED = re.compile(
    r"\b(?:were i|had i|if (?:i|we) (?:were|was|had|could)|if there (?:were|was)|were we"
    r"|had we|i wish|we wish)\b|\b(?:i|we) (?:would|might|could) have"
    r" (?:\w+ed|been|had|given|made|sent|put|told|said)\b"
)
_PAST = re.compile(
    r"\bthere (?:was|were)\b|\b(?:we|i) (?:had|used to|were|was|did|forgot"
    r"|never (?:had|did|was|were|got|offered))\b|\b(?:was|were) (?:last|yesterday|over)\b"
    r"|\bonce (?:was|had|were)\b"
    r"|\b(?:was|were|has been|have been|been|got) (?:\w+ )?(?:cancelled|canceled|closed|invented|founded"
    r"|sold)\b"
    r"|\blong (?:ago|gone)\b"
)
_THEIRS = re.compile(r"\b(?:his|her|their|theirs)\b")
_ADDRESSES = re.compile(r"\b(?:you|your|you're|you'll|you'd|we|our|us)\b")
_INVITES = re.compile(
    r"\bdo you (?:want|need|wish|fancy|prefer)\b"
    r"|\b(?:would(?:n't)?|will|won't|could|can|should|shall|may|might) (?:you|we|i|it)\b[^?]*\b(?:like|care"
    r"|want|wish|interested|fancy|need|prefer|recommend|suggest|offer|send|keep|fit|put|give|get|book"
    r"|prepare|help"
    r"|point|invite|arrange|reserve|remind|tell|add|have|make|show|try|consider|visit|join|come|think"
    r"|check|look"
    r"|read|take|remember|switch|stretch|floss)\b"
    r"|\bwould (?:an?|our|some)\b[^?]{0,80}\b(?:help|suit|interest|be)\b"
    r"|\bwhy (?:not|don't you|don't we)\b|\b(?:how|what) about\b|^\W*(?:want|need|care|fancy|ready"
    r"|interested|not)\b"
    r"|\b(?:have|has) (?:you|your|it)(?:r)? "
    r"|\bdid you (?:know (?:that )?(?:you|we|our|\w+ing)|remember|already|think)\b|\bdo you know\b"
    r"|\b(?:is|are) (?:your|you|it time|it not time)\b|\bhaven't you\b|\bisn't it\b|\bmind if\b"
)

_ASKS_FACTS = re.compile(
    r"^\W*(?:(?:and|so|but|by the way),? )?(?:how (?!about)|where|when|what (?!about|would you say)"
    r"|what's|who|which|whose)\b"
)


def speaks_to_user(text: str, start: int, end: int) -> bool:
    """Whether a folded sentence is for the user: an order, an offer, "you", "our", or praise.

    The words from `start` to `end` are the matter itself; an "open day" is no praise.
    """
    rest = f"{text[:start]} {text[end:]}"
    is_worth = _WORTH.search(rest) or _SAVES.search(text, start, end)
    return bool(is_worth or _TO_USER.search(text) or _IMPERATIVE.search(text))


def is_passed_over(before: str) -> bool:
    """Whether what follows a folded beginning is only what is not chosen: "Tea instead of"."""
    return bool(_PASSED_OVER.search(before))


def is_heading(text: str) -> bool:
    """Whether a folded sentence is a few words without a verb, as in a list: "Winter tyre fitting"."""
    is_short = len(text.split()) <= _MOST_HEADING_WORDS and not text.rstrip().endswith(".")
    return is_short and not _VERB.search(text)


def flaw_of(text: str, start: int, end: int) -> str | None:
    """Return why a folded sentence does not bring its matter to the user, or None.

    Args:
        text: the sentence.
        start: where it names its matter.
        end: where that name ends.
    """
    if _OF_OTHERS.search(text[:end]):
        return "tells of others"
    if is_passed_over(text[:start]):
        return "passes over"
    if _HEARSAY.search(text[:start]) and not _ADDRESSES.search(text):
        return "tells of others"
    if _THEIRS.search(text) and not (_ADDRESSES.search(text) or _IMPERATIVE.search(text)):
        return "tells of others"
    if _IMAGINED.search(text):
        return "only imagines"
    if _PAST.search(text):
        return "tells of the past"
    if _DEFINES.search(text) and not _ADDRESSES.search(text):
        return "only explains"
    if text.rstrip(" \"')*_").endswith("?") and (
        _ASKS_FACTS.search(text) or not _INVITES.search(text)
    ):
        return "only asks about"
    if _REGRETS.search(text):
        return REGRETS
    if not speaks_to_user(text, start, end):
        return NO_WORD
    return None
