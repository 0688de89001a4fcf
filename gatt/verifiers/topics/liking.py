"""What one says of a hobby: that one has it, that one has it not, that it is the best there is.

English only. Sentences are folded, and so are the places in them.
"""

from __future__ import annotations

import re

# Behind these a "not" no longer reaches the term: "I don't mind, with the tennis courts so close".
_REACH_ENDS = (
    r"(?:but|and|so|only|just|because|until|till|than|without|help|wait|stop|miss|forget|with|when|while"
    r"|if|where|after|before|since|except|mind|enough|imagine|resist|live without|beat|trade|swap|tire"
    r"|keep|skip|leave|as|thanks|unless|though|deny|complain|worry|regret|give up|quit|go without|lie)"
)
_NOT = (
    r"\b(?:(?:do|does|did|am|is|are|was|were|have|has|had|would|will|can|could)(?:n't| not)|ain't"
    r"|cannot|can't|won't|never|no longer|not(?! (?:only|just|a day|even rain))"
    r"|nothing(?! (?:beats|better|like|more|compares|quite))|no(?! (?:better|greater|finer|day|wonder"
    r"|doubt|weekend|morning|evening|summer|problem|matter|greater|sweeter|trip)\b)|hate|dislike|loathe"
    r"|despise|avoid|stopped|quit|gave up|given up|rather (?:[\w'-]+ ){1,4}than|anything (?:but|than)"
    r"|prefer (?!to\b|going to\b)(?:[\w'-]+ ){1,4}(?:to|over)"
    r"|sick of|tired of|bored (?:by|with|of)|neither|nor)(?!,)"
)
_DENIES = re.compile(rf"{_NOT}(?: (?!{_REACH_ENDS}\b)[\w'-]+){{0,7}} $")
# "Nothing clears my head like tennis", "no sport is as good as tennis".
_BEATS_ALL = re.compile(
    r"\b(?:nothing|no|never|nowhere|nobody|not|isn't|aren't)\b[^.!?;]*\b(?:like|beats|better than"
    r"|more than|compares (?:to|with)|so much as|as (?:much|good|well|fast) as|but|other than)"
    r" (?:an? |the |some |my |good |hour of |bit of |round of |game of )*$"
)
# What is not done today is done on other days.
_ONLY_NOW = re.compile(
    r"\b(?:today|tonight|tomorrow|right now|at the moment|this (?:morning|evening|afternoon|week|weekend"
    r"|month|year)|until|till|in this|yet|because|since|any ?more tonight|well|as (?:often|much|well)"
    r"|enough|this time|for (?:a|two|three|\d+) (?:days?|weeks?))\b"
)
_CANNOT_NOW = re.compile(
    r"\b(?:can't|cannot|can not|couldn't|could not|won't|will not|didn't|did not|haven't|have not"
    r"|not going to|don't have time for|had no time for|have no time for|no)(?: [\w'-]+){0,4} $"
)
_DULL = (
    r"(?:(?:so|very|really|just|too|pretty|rather|quite|a bit|terribly|incredibly) )*"
    r"(?:boring|dull|stupid|overrated|awful|terrible|horrible|pointless|a waste|the worst)\b"
)
# What a clause says of the term before it.
_DENIED_AFTER = re.compile(
    r"^(?:'s)?(?:"
    rf" (?:is|was|are|seems?|sounds?|looks?) {_DULL}"
    r"|(?: (?:is|was|are|has|does|did|do)(?:n't| not| never)| not| never)"
    r" (?:(?:really|quite|exactly|ever|been) )*"
    r"(?:for me|my(?! (?:only|first))|something|interesting|fun\b|appeal|appealed|interest|interested"
    r"|excite|excited)"
    r"| (?:(?:really|just|always) )?(?:bores?|bored|annoys?|irritates?|tires?) me\b"
    r"|[,;]? (?:and |so |but )?i (?:never|don't|do not) (?:play|do|like|enjoy|care)\b"
    r"(?! (?:any ?thing|without|it (?:alone|without)))"
    r"|[^.!?]{0,25}\bbut i(?:'ve| have)? (?:quit|stopped|gave (?:it )?up|given (?:it )?up|lost interest)"
    r"|\? (?:no(?: thanks| way| thank you)?[,.!]|nope\b|nah\b|not (?:me|for me|really|my)\b|never\b"
    r"|i (?:hate|never|do not|don't) (?:play|like|care|do|enjoy|know what)\b)"
    r")"
)
_FOUND = re.compile(r"\bi find (?:[\w'-]+ ){0,2}$")
_AS_DULL_AS = re.compile(
    r"\b(?:(?:as|so) (?:boring|dull|stupid|bad|awful|terrible|pointless) as|worse than) $"
)
_FOUND_DULL = re.compile(rf"^ (?:to be )?{_DULL}")
_OF_THE_USER = re.compile(r"\b(?:you|your|yours|you're|you've|u|they|he|she)\b")
_OF_MYSELF = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|our|us)\b")
# Questions in which the "me" or "I" is only the one who asks.
_ASKS = re.compile(
    r"\b(?:(?:can|could|would|will) you (?:please )?(?:tell|show|explain to|give) me|may i ask|can i ask"
    r"|(?:should|shall|can|may|could) i (?:tell|help|explain|give|share|suggest|recommend|assist|show)"
    r"|(?:want|like|need|wish) me to|i (?:wonder|hope|see|guess|bet|think|hear|heard))\b"
)
_NO_HOBBY = re.compile(
    r"\b(?:as an? |i am (?:just |only )?an? |i'm (?:just |only )?an? )"
    r"(?:ai\b|a\.i\.|artificial|language model|large language|virtual|digital|computer program|chat ?bot)"
    r"[^.!?]{0,60}\b(?:not|n't|cannot|no|never|unable|without|nor|lack)\b"
    r"|\bas an? (?:ai|a\.i\.)\b[^.!?]{0,40}\bi (?:don't|do not|can't|cannot|have no|lack)\b"
    r"|\bi (?:do not|don't) (?:really |actually )?have (?:any )?(?:personal|feelings|preferences"
    r"|hobbies|a hobby|physical|a body|free time|human)\b|\bi have no (?:hobby|hobbies|free time|body)\b"
)
_PRAISES = re.compile(
    r"\bnothing (?:\w+ ){0,4}(?:beats|like|better|compares)|\bno better\b|\bno \w+ (?:\w+ )?is (?:as|so"
    r"|better)\b|\bso much fun\b|\bcan't beat\b"
    r"|\bbeats everything\b|^\W*(?:love|loving|gotta love|long live|hooray for|viva) |\ball about\b"
    r"|\bthe best (?:thing|part|hobby|way|sport|feeling|game|medicine|hour)|\bnever gets old\b"
    r"|\bis (?:life|everything|always the answer|calling)\b|\bcalls\b|\bmakes everything better\b"
)
_GOOD = re.compile(
    r"\b(?:great|good|wonderful|fun|amazing|perfect|lovely|relaxing|excellent|beautiful|fantastic|nice"
    r"|awesome|ideal|rewarding|magical|always|delightful|joy|pure|calm|calming|soothing|peaceful"
    r"|thrilling|exciting|best)\b"
)
_TEXTBOOK = re.compile(
    r"\b(?:known (?:to|for|as)|stud(?:y|ies)|research|improves?|reduces?|invented|founded|century|defined"
    r"|refers?|million|percent|benefits?|strengthens?|promotes?|popular|term|consists?|can be|has won"
    r"|champions?|championships?|record)\b"
)
_SPEAKER_DOES = re.compile(
    r"\b(?:i|we)(?:'ve|'m|'ll|'d)?(?: (?:am|have|had|was|were|will|would|still|always|often|really|also"
    r"|just|usually|sometimes|been|do|did|only|mostly|even|once|go|went|used to|like to|love to|want to"
    r"|tried|try|started|learned to|learnt to|prefer to|get to|got to|could|can))* $"
)
_WHEN = re.compile(
    r"^(?:,| (?:every|each|in the|in my|on|at (?:dawn|night|the|home|sunrise|sunset|a)|with|before|after"
    r"|this (?:morning|evening)|last|for (?:fun|hours|an hour|years|miles|two|my)|to relax|along|by|until"
    r"|all (?:day|night|morning|afternoon|evening|weekend)|a lot|when|daily|tonight|tomorrow|whenever"
    r"|most|twice|once|again|there|here|badly|regularly|well|too|as well|and)\b|[.!;]|$)"
)
_HOBBY_WORDS = re.compile(
    r"\b(?:i|we)(?:'m|'ve)?(?: [\w']+){0,2} (?:love|enjoy|adore|like|prefer|miss|live for|collect|practi[sc]e"
    r"|practi[sc]ed|practi[sc]ing|enjoyed|loved|loving|enjoying|collecting|own)\b(?! (?:the fact|that|how"
    r"|it when|your))"
    r"|\b(?:(?:i'm|i am|really|so|been|got|get|getting) into|obsessed with|addicted to|passion"
    r"|passionate about|hobby|hobbies|pastime|fan of|crazy about"
    r"|keen on|mad about|favou?rite (?:thing|way|hobby|sport|part)|free time|spare time|days? off"
    r"|for fun|for pleasure|to relax|to unwind)\b"
    r"|\b(?:every|each|most) (?:single )?(?:day|morning|evening|night|week|weekend|weekday|month|year|summer"
    r"|winter|spring|autumn|fall|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|afternoon|chance)\b"
    r"|\bon (?:my )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends|weekdays)\b"
    r"|\btimes a (?:week|day|month|year)\b|\b(?:lessons?|tournament|competition|club|rehearsals?)\b"
)


def is_denied(sentence: str, start: int, end: int, following: str = "") -> bool:
    """Whether a sentence denies what it names from `start` to `end`, or the next one does ("No.")."""
    before, after = sentence[:start], sentence[end:]
    before = before if before.endswith(" ") else f"{before} "
    if _DENIES.search(before) and not _BEATS_ALL.search(before):
        return not (_CANNOT_NOW.search(before) and _ONLY_NOW.search(after))
    if _AS_DULL_AS.search(before):
        return True
    if _FOUND.search(before) and _FOUND_DULL.search(after):
        return True
    return bool(_DENIED_AFTER.search(f"{after} {following}"))


def is_question_to_the_user(sentence: str) -> bool:
    """Whether a sentence asks about another and says nothing of the speaker."""
    if not sentence.rstrip(" \"')").endswith("?"):
        return False
    asked = _ASKS.sub(" ", sentence)
    return bool(_OF_THE_USER.search(sentence)) and not _OF_MYSELF.search(asked)


def denies_having_any(text: str) -> bool:
    """Whether a text says that its speaker, a machine, has no hobbies."""
    return _NO_HOBBY.search(text) is not None


def is_praised(sentence: str, *, in_general: bool) -> bool | None:
    """Whether a sentence without a person is an enthusiast's; None if that cannot be told.

    Args:
        sentence: the sentence, folded.
        in_general: whether it says something of the hobby as such ("Tennis is a good sport").
    """
    if _PRAISES.search(sentence):
        return True
    is_dry = _TEXTBOOK.search(sentence) or (in_general and not _GOOD.search(sentence))
    return False if is_dry else None


def sounds_like_a_hobby(sentence: str, start: int, end: int) -> bool:
    """Whether the speaker does the thing from `start` to `end` as one does a hobby."""
    if _HOBBY_WORDS.search(sentence):
        return True
    return bool(_SPEAKER_DOES.search(sentence[:start]) and _WHEN.match(sentence[end:]))
