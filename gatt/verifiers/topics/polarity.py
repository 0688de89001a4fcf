"""Whether a clause says a thing or denies it: English negations and reversals, counted.

"Never skip flossing" has two, hence says it; "Skip flossing" has one, hence denies it. Turns of
phrase whose negation denies nothing ("no charge", "why not", "not only") are not counted.
"""

from __future__ import annotations

import re

# A clause ends at a mark, if the next part has a subject or an order of its own.
_CLAUSE_END = re.compile(
    r"[;:()]|\s[-–—]+\s|,(?= (?:and |but |so |because |as |since |or |which |while |though |although )?"
    r"(?:i|i'm|i'd|i'll|i've|you|you're|you'll|we|we'd|we'll|we've|it|it's|they|he|she|there|there's|that"
    r"|that's|this|nobody|nothing|everyone|the|your|our|my|his|her|just|please|do|don't|never|then|if|when"
    r"|unless|no|not|not even|even|what|why|how|would|could|can|may|shall|should|do|did|have|is|are|so"
    r"|save|keep|use|get|take|make|tell|give|try|check|go|come|send|let)\b)"
    r"|(?<!nobody)(?<!no one)(?<!nothing)(?<!anything),? (?=(?:but|because|although|though|whereas|while)\b)"
    # "In case you have to cancel" denies nothing of what stands before it.
    r"| (?=(?:in case|in the event|lest)\b)"
)
_NEUTRAL = re.compile(
    r"\bwhy (?:not|don't|do not|wouldn't)\b|(?:\bnot|n't) (?:only|just|even|too|yet|far)\b|\bno (?:\w+ )?"
    r"(?:charge|costs?|fees?|problem|worries|trouble|doubt|matter|obligation|harm|rush|hurry|wonder"
    r"|reason not|reason to (?:skip|miss|wait)|better|finer|nicer|greater|stress|strings)\b"
    r"|\b(?:is not|isn't|not) an? (?:problem|issue|big deal|secret)\b"
    r"|\bwithout (?:an? |any |extra |further |additional )*(?:appointment|charges?|costs?|fees?|paying"
    r"|obligation|delay|ado|problems?|queue\w*|wait\w*|even)\b"
    r"|\bnothing (?:beats|like|better|is (?:better|easier|finer)|easier|to lose|to pay|at all)\b"
    r"|\bcosts? (?:\w+ )?nothing\b|\bnothing for\b|(?:\b(?:not|never)|n't) cost (?:you )?an? (?:cent"
    r"|penny|thing)\b"
    r"|\bnever (?:been (?:\w+er|so)|too (?:late|early)|wrong|mind)\b"
    r"|\b(?:can't|cannot|can not|couldn't|won't|will not|wouldn't) (?:\w+ )?(?:go wrong|beat|be beaten|wait"
    r"|regret|be (?:disappointed|sorry|easier|better)|stress|help but|(?:recommend|praise)(?= .*enough))\b"
    r"|\b(?:don't|do not|never|please don't) (?:hesitate|worry|be shy|be afraid|fret)\b"
    r"|\b(?:that|which|what|lights|devices|things) (?:you |we )?(?:don't|do not|aren't|are not) (?:need"
    r"|us(?:e|ing))"
    r"|(?:\b(?:not|never)|n't) (?:be |have |yet |to |let \w+(?: \w+)? )?(?:expired?|run(?:s)? out)\b"
    r"|\b(?:don't|do not|never|can't|cannot) (?:travel|go|leave|fly|set off) (?:\w+ )?with an? (?:expired"
    r"|invalid)\b"
    r"|\bif (?:you|it|they|he|she|your \w+|anything)(?:'ve| have| are| is|'re)? ?(?:haven't|hasn't|don't"
    r"|do not"
    r"|didn't|aren't|isn't|not|doesn't|does not|can't|cannot|never)\b|\bif not\b"
    r"|\b(?:is|are|do|does|did|would|have|has|should|could|can|wo|was)n't (?:you|it|we|your|that|there"
    r"|they)\b"
)
_NEITHER = re.compile(r"\bneither\b(.{0,80}?)\bnor\b")
_NEGATION = re.compile(
    r"\b(?:not|never|no|nobody|noone|none|nowhere|nothing|neither|nor|cannot|unable|without|hardly|seldom"
    r"|rarely|barely|dont|cant|wont|isnt|arent|doesnt|didnt|havent)\b|n't\b"
)
_REVERSAL = re.compile(
    r"\b(?:forg(?:et|etting|ot)|skip(?:s|ped|ping)?|miss(?:es|ing|ed)?|avoid\w*|ignor\w+|cancel\w*|stop(?:s"
    r"|ped|ping)?|quit|neglect\w*|omit\w*|refus\w+|declin\w+|refrain\w*|doubt\w*|hat(?:e|es|ed)|dislike\w*"
    r"|useless|unnecessary|pointless|needless|worthless|overrated|overpriced|redundant|superfluous"
    r"|impossible|unavailable|waste[sd]?|save your(?:self)? (?:money|cash|breath|time|the)|spare yourself"
    r"|(?:keep|stay) away|steer clear|throw \w* ?(?:away|out)|get rid of|out of order|closed|shut (?:down)?"
    r"|sold out|fully booked|discontinued|abolished|burn(?:ed|t) down|too (?:expensive|dear|late)"
    r"|bad (?:for|idea)|awful|terrible|horrible|disgusting|dreadful|boring|nonsense|rubbish|harmful|hurts?"
    r"|dangerous|scam|rip-?off|put(?:s|ting)? (?:it |this |that )?off|delay\w*|postpon\w*|overlook\w*"
    r"|beware|be wary|some other time|another time"
    r"|underestimat\w*|(?:leave|leaves|leaving) (?:it |out )?out\b|pass up|forgo"
    r"|(?:advis\w+|recommend\w*|warn\w*|caution\w*|decid\w+|urg\w+)(?: \w+){0,2} against"
    r"|against (?!the flu|flu|any|all|theft|fire)|used to (?:be|have|offer|do)"
    r"|out of (?:the|it|stock)|lapse|slip|slide)\b"
)
_NEEDLESS = re.compile(
    r"\b(?:don't|do not|doesn't|does not|didn't|won't|never|needn't|need not|hardly"
    r"|no longer) (?:\w+ )?(?:have"
    r" to|need|needs|bother|require|matter|care|interest\w*)\b|\bneedn't\b|\bneed not\b"
    r"|\b(?:no|not any|without) (?:\w+ )?need\b|\bneeds? no\b|\b(?:not|n't|un) ?(?:necessary|needed|required"
    r"|important|relevant|interested)\b|\b(?:none|nobody's) of (?:our|my|your) business\b|\bwho cares\b"
)
_TAKEN_BACK = re.compile(
    r"^\W*(?:(?:and|but|so|well|sorry|no),? )*(?:no\b(?! (?:problem|worries|doubt|charge|matter|need))|not\b"
    r"(?! (?:only|just|yet))|nope\b|nah\b|never\b(?! mind)|forget\b|don't\b(?! (?:worry|forget|miss"
    r"|hesitate|skip))"
    r"|sorry\b|a waste\b|useless\b|we (?:don't|do not|can't|cannot|have no|no longer)\b|i (?:don't|do not"
    r"|never"
    r"|can't|cannot|hate|wouldn't|would not)\b|nobody\b|who (?:cares|needs)\b|that (?:is|was) (?:not|no)\b"
    r"|that's (?:not|no)\b|it (?:is|was) (?:not|no|closed|cancelled)\b|it(?:'s| is)n't\b|it's (?:not|no"
    r"|closed)\b)"
)


def clauses_around(sentence: str, start: int, end: int) -> list[str]:
    """Return the clauses of a folded sentence from the one that holds `start` to that before `end`."""
    stops = [(m.start(), m.end()) for m in _CLAUSE_END.finditer(sentence)]
    lefts = [0, *(right for _, right in stops)]
    rights = [*(left for left, _ in stops), len(sentence)]
    return [
        sentence[left:right]
        for left, right in zip(lefts, rights, strict=True)
        if right > start and left < end
    ]


def num_negations(clause: str) -> int:
    """Return how many negations and reversals a folded clause has, turns of phrase left out."""
    rest = _NEITHER.sub(r"not\1or", _NEUTRAL.sub(" ", clause))
    return len(_NEGATION.findall(rest)) + len(_REVERSAL.findall(rest))


def is_denied(clause: str) -> bool:
    """Whether a folded clause denies what it names, or calls it needless."""
    return calls_needless(clause) or num_negations(clause) % 2 == 1


def calls_needless(clause: str) -> bool:
    """Whether a folded clause says that something need not be: "you don't have to", "no need"."""
    return bool(_NEEDLESS.search(_NEUTRAL.sub(" ", clause)))


def takes_back(text: str) -> bool:
    """Whether a folded text that follows a thing takes it back: "Late check-out? Not here."."""
    return bool(_TAKEN_BACK.search(text))
