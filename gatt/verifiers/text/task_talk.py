"""Talk about the task: sentences that refuse, repeat, promise or question an instruction.

"I cannot mention tennis in every reply", "Bring it up in every answer.", "Okay, I will mention
tennis from now on." and "Should I mention tennis in each reply?" name what an instruction asks for,
and none of them does it. What is said to the user stays: "Remember to floss.", "I'll remind you to
floss.", "We always answer within a day.", "May I recommend our soup?". English only: in other
languages no sentence is taken for such talk.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gatt.verifiers.text.folding import fold, fold_text
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words

VERSION = 2
"""Raised with every change that can change a verdict."""

_REPLY = r"(?:repl(?:y|ies)|answers?|responses?|messages?)"
_RULE = r"(?:instructions?|rules?|requests?|prompts?|guidelines?|directives?|commands?|wish(?:es)?)"
_OBEY = (
    r"(?:follow(?:ing)?|obey|comply with|adhere to|honou?r|fulfil+|carry out|ignore|accept|respect"
    r"|stick to|keep to|agree (?:to|with)|received?|got|understand|repeat)"
)
_THEM = (
    r"(?:people|them|everyone|everybody|customers|guests|users|owners|clients|patients"
    r"|(?:the|every|each|our) (?:customer|guest|user|owner|client|patient|caller|person)s?)"
)
_FORM = (
    r"(?:commas?|exclamation marks?|digits?|lower-?case|upper-?case|capitals?(?: letters?)?"
    r"|sentences?|paragraphs?|lines|bullet(?: points?|s)?|haikus?|json|emojis?|brackets"
    r"|quotation marks|words?|first person)"
)
_ALWAYS = (
    r"(?:always|from now on|from here on|going forward|henceforth|at all times|each time|every time"
    r"|whenever|in future|in the future|no matter what|whatever)"
)
# What only a speaker under orders says of itself: "I will mention it" does not mention it yet.
_ROLE = (
    r"(?:mention(?! that| to you)(?:ing)?|bring(?:ing)? (?:it|that|this) up|act(?:ing)? (?:as|like)"
    r"|role-?play|play the (?:role|part)|pretend(?:ing)?|impersonate|stay in (?:the )?(?:role|character)"
    rf"|(?:remind|warn|tell|thank|ask|recommend)(?:ing)? {_THEM}|offer(?:ing)? to"
    r"|ask(?:ing)? (?:about|whether|for the)|let (?:it|my [\w ]+) show)"
)
# What anybody may do; under "always" or "from now on" it is a promise.
_SAY = (
    rf"(?:{_ROLE}|mention|bring|work|weave|talk|speak|answer|reply|respond|write|say|ask|remind|warn"
    r"|tell|offer|recommend|suggest|include|add|thank|end|finish|close|start|begin|open|be|use|do)"
)
_WRITES = (
    r"(?:answer|reply|respond|speak|write|use|keep|put|wrap|start|begin|end|finish|close|split"
    r"|avoid|leave out)"
)
_SOFTLY = (
    r"(?:,? ?(?:then|now|also|only|never|always|just|gladly|happily|certainly|definitely|really|simply"
    r"|please|from now on|try to|be sure to|make sure (?:that i |to |i )|remember to|start|begin|not"
    r"|be happy to|be glad to|have to|need to|like to)\b,? ?)*"
)
_WILL = (
    r"\bi(?:'ll| will| shall|(?:'m| am) (?:going|happy|glad|ready|supposed|meant|told|asked|instructed"
    r"|programmed) to|(?: can)? promise(?: to| that i will| i will)| agree to| have to| need to| must"
    r"| should|(?: was|'ve been| have been) (?:told|asked|instructed) to)"
)
_WILL_NOT = (
    r"\bi(?:'m| am)?(?: really| simply| just| also)? ?(?:can't|cannot|can not|won't|will not|would not"
    r"|wouldn't|must not|shouldn't|refuse to|decline to|unable to|unwilling to|(?:do not|don't)"
    r" (?:want|have|need|wish|intend|like) to|not (?:able|allowed|going|supposed|willing|comfortable)"
    r" (?:to)?|(?:'d| would) rather not)"
)
_SHALL = (
    r"\b(?:you(?:'d| would)? (?:really )?(?:want|like|need|wish|expect|prefer)(?: for)? me to"
    r"|(?:should|shall|must|do|am) i\b|(?:is it|would it be) (?:ok|okay|all right|fine) (?:if i|for me to))"
)
_TALK = re.compile(
    # Of replies as such.
    rf"\b(?:every|each|all|any)(?: single)?(?: (?:one )?of)?(?: (?:my|your|the|future|other))* {_REPLY}\b"
    rf"|\bno {_REPLY} (?:may|must|can|should|is)\b|\byour {_REPLY} (?:are|must|should)\b"
    r"|\b(?:each|every) time (?:i|you|we) (?:answer|reply|respond|am asked|are asked)\b"
    r"|\bwhatever (?:(?:i|you|we) (?:ask|am asked|are asked|talk about)|language (?:i|you))\b"
    r"|\bwhatever (?:the|its) (?:question|topic|subject|length|news)\b"
    rf"|\b{_WRITES}(?:ing)? (?:my|your|the|a|this|with) (?:\w+ )?{_REPLY}\b"
    # Of the instruction.
    rf"|\bi\b[^.?!]{{0,60}}\b{_OBEY} (?:this|that|the|your|these|those|such an?|any) (?:\w+ )?{_RULE}\b"
    rf"|\b(?:my|your) (?:system )?{_RULE} (?:is|are|says?|was|were|tells?)\b"
    rf"|\byou (?:asked|told|want|wanted|instructed|ordered) me to {_SAY}\b"
    # Of what the speaker will, will not or should say.
    rf"|(?:{_WILL}|{_WILL_NOT}|{_SHALL}) ?{_SOFTLY}(?:{_ROLE}|{_WRITES}\b[^.?!]*\b{_FORM})\b"
    rf"|(?:{_WILL}|{_WILL_NOT}) (?=[^.?!;]*\b{_ALWAYS}\b){_SOFTLY}{_SAY}\b"
    rf"|{_SHALL} ?(?=[^.?!;]*\b{_ALWAYS}\b){_SOFTLY}{_SAY}\b"
    rf"|\b{_ALWAYS},? i(?:'ll| will| shall) {_SOFTLY}{_SAY}\b"
)
_LABEL = (
    r"(?:format|hobby|figure|persona|language|behaviou?r|role|style|tone|rule|instruction|task"
    r"|character|topic)"
)
# An order to a speaker, not advice to a user: it names a form, a third person or a label.
_ORDER = re.compile(
    r"(?:^|[.,;:!?] )\W*(?:please |and |from now on,? |you |must |should |only |also |now |always |never "
    r"|do not |don't )*"
    rf"(?:(?:{_WRITES}|sum up|send)\b[^.?!]*\b{_FORM}\b|act (?:as|like) (?!soon|quick|if)"
    r"|let (?:it|your [\w ]+) show\b"
    r"|(?:speak|answer|reply|respond|write) (?:as|like|in|only|everything|all|what)\b"
    rf"|(?:start|begin|end|finish|close|open) (?:it |\w+ )?(?:by \w+ing {_THEM}\b|with (?:a question\b"
    r"|the (?:words?|sentence|phrase)\b|[\"']))|name a price\b"
    rf"|(?:remind|warn|tell|thank|ask|recommend) {_THEM}\b)"
    r"|^\W*(?:please |you must |you should |you )?(?:always|from now on,?) (?:mention|bring up"
    r"|offer (?:to|an?)|recommend|ask (?:about|for|whether|when|if|how|at)|add an?|act|speak|answer"
    r"|reply|say|let your)\b"
    r"|^\W*never (?:answer|reply|respond|finish an?y? \w+|send an?y? \w+)\b"
    rf"|^\W*(?:at (?:most|least)|exactly|only|no(?: more than)?|never any) (?:[\w-]+ ){{0,2}}{_FORM}\W*$"
    rf"|^\W*{_LABEL}: "
)
# Beside an order these are a part of it: "You love tennis. Mention it in every reply."
_OF_YOU = re.compile(r"^\W*(?:from now on,? )?(?:you|your|play|act)\b")
_FRAME = re.compile(
    rf"(?:\b{_OBEY}(?: (?:this|that|the|your))?|\b{_RULE}(?: (?:that )?(?:is|was|says|said|reads?))?"
    rf"|\byou (?:just )?(?:said|told me|wrote|asked(?: me)?|want(?: me)?|mean|meant)(?: to)?|\bdo you mean"
    r"|\b(?:do|did|say) (?:this|that|so)|\bi (?:can't|cannot|won't|will(?: not)?|refuse to)|\bfrom now on"
    r"|^\W*(?:okay|ok|sure|understood|got it|noted|certainly|yes|no|of course|all ?right|as you wish"
    r"|very well|will do))[,.]?(?: this| as follows| to)?(?P<mark>: ?[\"']?| \"| ')"
)
_HAS_MARK = re.compile("[:\"']")
_CLOSING = re.compile(r"[\"”“»]|['’](?!\w)")
MIN_QUOTED_WORDS = 3
"""Words from which a quotation may be an instruction; keys and commands ("Page Down") have fewer."""
_ACKNOWLEDGED = re.compile(
    r"^\W*(?:(?:okay|ok|sure|certainly|of course|yes|no|understood|got it|noted|all ?right|absolutely"
    r"|very well|as you wish|will do|thanks|thank you|no problem|i understand|i see|i apologi[sz]e"
    r"|(?:i(?:'m| am) )?(?:so |very |really )?sorry|great|right|hello|hi|agreed|my apologies"
    r"|i am an? (?:ai|assistant)[\w ]*)(?:\W+|$)){1,4}$"
)


@lru_cache(maxsize=256)
def without_task_talk(reply: str) -> str:
    """Return the reply with talk about the task blanked: same length, line breaks kept.

    A reply that has only such talk and an "Okay" or "Sorry" beside it comes back blank.
    """
    spans = sentence_spans(reply)
    texts = [fold_text(reply[start:end]) for start, end in spans]
    is_talk = _found(reply, spans, texts)
    if not any(is_talk):
        return reply
    if all(talk or _ACKNOWLEDGED.search(t) for talk, t in zip(is_talk, texts, strict=True)):
        return _blank(reply)
    pieces, position = [], 0
    for (start, end), talk in zip(spans, is_talk, strict=True):
        pieces += [reply[position:start], _blank(reply[start:end]) if talk else reply[start:end]]
        position = end
    return "".join([*pieces, reply[position:]])


def _found(reply: str, spans: list[tuple[int, int]], texts: list[str]) -> list[bool]:
    is_talk = [bool(_TALK.search(text) or _ORDER.search(text)) for text in texts]
    quoted_until = 0
    for number, (start, end) in enumerate(spans):
        if start < quoted_until:
            is_talk[number] = True
        elif frame := _HAS_MARK.search(texts[number]) and _FRAME.search(texts[number]):
            if frame["mark"].strip() != ":":
                opened = start + fold(reply[start:end]).span(*frame.span("mark"))[1]
                closed = _CLOSING.search(reply, opened)
                quoted = reply[opened : closed.start() if closed else end]
                if ":" not in frame["mark"] + quoted and len(words(quoted)) < MIN_QUOTED_WORDS:
                    continue
                quoted_until = closed.start() if closed else 0
            is_talk[number] = True
    for order in (range(len(texts)), reversed(range(len(texts)))):
        before = False
        for number in order:
            is_part = before and _OF_YOU.search(texts[number]) and not texts[number].endswith("?")
            before = is_talk[number] = is_talk[number] or bool(is_part)
    return is_talk


def _blank(text: str) -> str:
    return "".join(character if character in "\r\n" else " " for character in text)
