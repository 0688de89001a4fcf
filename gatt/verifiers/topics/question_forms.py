"""The forms of an English sentence by which a speaker asks its user for something, or offers it.

"Do you have dental insurance?" and "Please tell us your order number" ask the user. "What is dental
insurance?", "How much is your breakfast?" and "Where do I find my order number?" do not: they ask what
a thing is or costs, or speak as a customer would.
"""

from __future__ import annotations

import re

# U+037E is the Greek question mark; most people type ';' for it.
_QUESTION_END = re.compile(r"[?？\u037e؟][^\w]*$|(?<=[α-ωά-ώ]);[^\w]*$")
# Without its mark, as people type: the verb before its subject gives a question away.
_INVERTED = re.compile(
    r"^\W*(?:(?:btw|by the way|and|so|also|but|oh|ok|okay|just|one more thing|before i forget)\b\W*)*"
    r"(?:(?:do|are|have|did|would|could|can|will|shall|should|may|is|has|was|were|does)"
    r" (?:you|your|i|we|there|it|he|she|any|anyone|the)\b(?!,)"
    r"|(?:want|need) (?:me|us) to\b"
    r"|(?:what|which|when|where|how \w+|who)(?:'s| is| are| was| were) (?:your|you)\b"
    r"|(?:what|which \w+|when|where|how \w+|who) (?:do|did|does|would|will|can|have|has) (?:you|your)\b)"
)
_ME = r"(?:me|us)"
_REQUEST = re.compile(
    rf"(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bn't )\b(?:(?:let {_ME} (?:know|have)|tell {_ME}|give {_ME}"
    rf"|send {_ME}|drop {_ME}|show {_ME}|email {_ME}|text {_ME}|share with {_ME}|remind {_ME})\b"
    r"|(?:it )?(?:would|'d|will|might|may) (?:\w+ )?help (?:me|us|if|to)\b"
    r"|(?:i|we)(?:'d| would|'ll| will| do)? (?:\w+ )?(?:need|want|like|love|require|have|be (?:happy"
    r"|glad)|ask)"
    r" (?:to (?:know|have|see|ask|hear|learn|note)|your|the|you (?:for|about|whether|if|when|what|how))\b"
    r"|i(?:'m| am)? (?:\w+ )?(?:wonder|wondering|curious)\b|(?:may|might|can|could|must) i ask\b)"
    r"|\byour [\w ]{2,40}, ?please\b"
    r"|(?:^|[.,;:!] |\b(?:please|kindly|just|and|to|then|so|also|do|could you|can you|would you|simply) )"
    r"(?:please |kindly |just )?(?:share|enter|provide|submit|send|type in|fill in|confirm|quote|specify"
    r"|indicate"
    r"|state|give|attach|add|read|check|look up|note down|write down|have)"
    r" (?:in |over |along |out )?(?:your|the|ready|her|his|its|\w+'s)\b"
)
# The speaker speaks as a customer, asks what a thing is, or reports a question of others.
_THIRD = (
    r"(?:boss|brother|sister|mother|father|mum|mom|dad|uncle|aunt|cousin|friends?|neighbou?rs?"
    r"|colleagues?|teacher|parents|grandma|grandpa)"
)
_OTHERWISE = re.compile(
    r"\bdid you know\b|\bwould you believe\b|\bdid you (?:\w+ )?(?:like|enjoy|love|hate)\b"
    r"|\bhow (?:was|were|did) your?\b|\b(?:most|(?<!how )many|some|other) people\b|\bdo people\b"
    r"|\bdo you know (?:that|how|why|what a|who|anyone|anybody|any)\b"
    rf"|\b(?:do|does|did|has|have|is|was|are) (?:your|his|her|their|my|the) {_THIRD}\b(?!.{0, 80}\byou\b)|"
    r"\bhow (?:much (?:is|are|was|were|does|do|did|would|will)|(?:do|can|did|should|could|would|to) i|to"
    r"|does|do (?!you|u)|is an?)\b|\bwhere (?:can|do|did|is|are|was|were|could|should)\b"
    r"|\bwhy (?!not|don't|do not|wouldn't|shouldn't)\b"
    r"|\bdo you (?:\w+ )?(?:sell|offer|accept|provide|charge|stock|serve|know what)\b"
    r"|\b(?:do|did|am|must|will|would|have) i\b(?!.*\byour\b)|\b(?:can|could|may) i (?:\w+ )?(?:get|buy"
    r"|order)\b(?!.*\byou)"
    r"|\bmy\b(?!.*\byour?\b)|\bdid (?:he|she|they)\b"
    r"|\b(?:cancel|cancell?ed|postpone|close|get rid|missed|lost|boring|overrated|useless|made of|invented)\b"
    r"|\b(?:he|she|they) (?:asked|said|wondered)\b|\b(?:cost|costs|price)\b|\bis (?:the )?(?:best|better)\b"
    r"|^\W*(?:and |so |but )?(?:nobody\b|(?:we|there|i|it|they) [^?]*\b(?:no|not|never|cannot|nobody)\b)"
    r"|^\W*(?:and |so |but )?(?:we|there|nobody|i|it|they)\b[^?]*n't\b"
)
# A question of the world has none of these: "Does dental insurance cover whitening?"
_OF_PERSONS = re.compile(
    r"\b(?:you|your|yours|yourself|you're|you've|you'd|we|i|me|us|our|she|he|her|his|him|any|anyone|anybody"
    r"|anything|something|someone)\b|\b(?:what|how) about\b"
    r"|\b(?:would|could)\b.{0,80}\b(?:help|suit|interest)\b"
    r"|\b(?:is|are|was|does|do|did|has|have|will|would|can|should) (?:it|there|they)\b|\btheir\b"
    r"|\b(?:what|which|when|how \w+)(?:'s| is| are| was| does| do| has) (?:the|this|that)\b"
    r"|\b(?:is|are|has|have|does|do|will) the (?:car|vehicle|van|pet|animal|dog|cat|rabbit|child|children|kid"
    r"|little|guest|patient|item|parcel|present|whole|entire)\b"
    r"|^\W*(?:and |so |but |by the way,? )?(?:got|had|have|need|needing|want|taking|ever|already|still|care"
    r"|fancy|interested|ready|why not)\b"
)
_OF_SPEAKERS = re.compile(r"\b(?:you|your|yours|u|ur|we|us|i|me|our)\b")
_WHAT_IS = re.compile(
    r"\bwhat(?:'s| is| are| does| do| happens| exactly is) (?:at )?(?:an? |the (?:meaning|definition|point"
    r"|purpose|difference|use|history) )?(?P<rest>.*)"
)
_OF_USER = re.compile(r"\b(?:you|your|yours|yourself|you're|the|our|us)\b")
_OFFERS = re.compile(
    r"\b(?:would|wouldn't|will|won't|might|may|can|could|shall|should) (?:you|we|i)\b|\byou'd (?:like"
    r"|prefer)\b"
    r"|\b(?:how|what) about\b|\bwhy (?:not|don't)\b|\bdo you (?:\w+ )?(?:want|need|wish|prefer|fancy|have)\b"
    r"|\bhave you (?:\w+ )?(?:thought|considered|tried|got)\b|\b(?:want|care|fancy|interested|like|need"
    r"|ready|wish)\b"
    r"|\bfor (?:how many|when|what time)\b|\bat what time\b|\b(?:which|what) (?:day|time|date)\b"
    r"|\bis\b.*\bfor you\b"
    r"|\b(?:could|would|might|may) (?:an?|our|one|the|some)\b.{0,80}\byou\b"
    r"|\btime for\b|\bwould .*\bhelp\b"
)
_SPEAKER_OFFERS = re.compile(
    r"\b(?:we|i|one of our [\w ]{3,30})(?: can| could| may| will| would| shall|['’]ll|['’]d)\b"
    r"|\b(?:we|i)['’]ll\b|\blet (?:me|us)\b|\b(?:happy|glad|pleased|delighted|pleasure) to\b|\byou (?:can"
    r"|could|may|might)\b"
    r"|\b(?:can|could) be (?:arranged|booked|reserved|made|opened|held|kept)\b|\bwe offer\b"
)
_FRAGMENT_WORDS = 7
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must|made"
    r"|went|got|said|think|know|won|invented|makes?|means?|costs?)\b"
)


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question does, or begins as one and has no mark at its end."""
    if _QUESTION_END.search(sentence):
        return True
    is_unmarked = not sentence.rstrip(" \"')*_").endswith((".", "!", ":", ";", "…"))
    return is_unmarked and bool(_INVERTED.search(sentence.lower()))


def is_request(text: str) -> bool:
    """Whether a folded sentence asks its user to tell or give something ("let us know", "please enter")."""
    return bool(_REQUEST.search(text))


def asks_otherwise(text: str) -> bool:
    """Whether a folded question asks what a thing is or costs, or asks as a customer would."""
    if _OTHERWISE.search(text):
        return True
    if _VERB.search(text) and not _OF_PERSONS.search(text):
        return True
    what = _WHAT_IS.search(text)
    return bool(what) and not _OF_USER.search(text)


def invites(text: str) -> bool:
    """Whether a folded question offers something ("Would you like", "Shall I"), a fragment included."""
    return bool(_OFFERS.search(text)) or _is_fragment(text)


def is_between_speakers(text: str) -> bool:
    """Whether a folded question names its user or its speaker."""
    return bool(_OF_SPEAKERS.search(text))


def _is_fragment(text: str) -> bool:
    """Whether a folded question is a few words without a verb: "A table for tonight?"."""
    return len(text.split()) <= _FRAGMENT_WORDS and not _VERB.search(text)


def speaker_offers(text: str) -> bool:
    """Whether a folded statement offers something ("we can", "let me", "glad to")."""
    return bool(_SPEAKER_OFFERS.search(text))
