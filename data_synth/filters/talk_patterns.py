"""Patterns of replies that talk about their instruction: English, and all languages joined.

The patterns match folded text: no case, no accents, plain apostrophes. Each names the act
of instructing and what a teacher is asked to do. A story about somebody's instructions, or
about a person who was asked to come, does not match. Words that people also say of their
own lives ("I was told to speak up", "I have to act as a judge") count only if the subject
of the instruction follows: see `is_about_subject`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from data_synth.filters.talk_languages import LATIN_LANGUAGES, OTHER_SCRIPTS
from gatt.verifiers.text.words import words

_LANGUAGE = (
    r"(?:english|french|spanish|german|italian|portuguese|dutch|swedish|danish|norwegian|finnish"
    r"|polish|czech|hungarian|romanian|greek|turkish|russian|ukrainian|arabic|hebrew|hindi"
    r"|chinese|mandarin|japanese|korean|vietnamese|indonesian|latin)"
)
_TOLD = (
    r"\b(?:i(?:'m| am| was|'ve been| have been) (?:also |always |now |just |only |apparently )?"
    r"(?:told|asked|supposed|required|programmed|instructed|prompted|meant|expected|ordered"
    r"|designed)|(?:you(?<!\bdo you)|they|the user)(?:'ve| have| had|'d)? (?:just )?(?:asked|told"
    r"|instructed|ordered|want|wanted|would like|prompted) me)"
)
_WILL = (
    r"\b(?:i'll|i will|i shall|let me|allow me to|i must|i have to|i need to|i can only"
    r"|i(?:'m| am) going to|i(?:'m| am) only allowed to)"
)
_ADVERBS = (
    r"(?:(?:now|only|always|also|just|never|gladly|be sure to|make sure to|try to|remember to"
    r"|not forget to|from now on) )*"
)
# Where, when and with whom: such a reply is about everyday life, not about this conversation.
_ELSEWHERE = (
    r"(?:at|with (?!you)|when|while|if|tomorrow|tonight|yesterday|next|last|on|during|class"
    r"|in (?!every|each|all|my (?:repl|answer|respon))|to (?!you)|for|better|well|fluently|by|soon"
    r"|one day|some ?day)"
)
_SPEAK = (
    r"(?:speak(?:ing)?|answer(?:ing)?|reply(?:ing)?|respond(?:ing)?|writ(?:e|ing)|talk(?:ing)?"
    rf"|communicate|converse) (?:to you |you )?(?:only |always |exclusively |back )*(?:in )?"
    rf"(?:only )?{_LANGUAGE}\b(?! {_ELSEWHERE}\b)"
)
_MANNER = (
    r"(?:in character|in the first person|(?:only )?(?:in|with) one (?:short |single )?sentence)"
)
_REPLY = r"(?:(?:short|brief|quick|simple|concise|one-sentence|single-sentence|polite) )"

ENGLISH = (
    # "As you asked" and "as instructed", but not "as you asked me yesterday" nor "I did as told".
    r"\bas(?<!\bdid as)(?<!\bdo as)(?<!\bdone as)(?<!\bdoes as)(?<!\bit as)(?<!\bdoing as)"
    r" (?:you(?:'ve| have)? |i was |i am |per your )?(?:asked|requested|instructed|told|request)"
    r"(?: to| for)?(?=[,.:;!)\n]|$)",
    r"\b(?:as )?per (?:your|my) (?:request|instructions?|prompt|guidelines)\b",
    # "I built it per the instructions" has no pause before it and no "I" behind it.
    r"\b(?<![\w'] )(?:as )?per (?:the|these|those) (?:instructions?|prompt|guidelines|rules)\b"
    r"(?! (?:on|for|from|of|in|that came)\b)",
    r"\binto (?:my|this|each|every) (?:answer|reply|response|message)\b",
    rf"{_TOLD} to {_ADVERBS}{_SPEAK}",
    rf"{_TOLD} to {_ADVERBS}(?:speak|answer|reply|respond|write|stay|remain) {_MANNER}\b",
    rf"{_WILL} {_ADVERBS}(?:be )?{_SPEAK}",
    rf"{_WILL} {_ADVERBS}(?:be )?(?:speak|answer|reply|respond|writ|stay|remain)(?:ing|e)? {_MANNER}\b",
    # A small model's own words for taking on a role.
    r"\b(?:i'll|i will|i must|i have to) (?:now |only |always )*be acting as (?:s?he|him|her|them|you)\b",
    r"\bi(?:'m| am|'ve been| have been) (?:instructed|prompted)\b(?! (?:in|by|at)\b)",
    r"\b(?:my|your) instructions? (?:say|says|said|state|tell|told me|require|ask|i (?:was|am|have)"
    r"|(?:was|were|is|are) (?:to (?:speak|answer|reply|act|mention|always|never))|above"
    r"|you (?:gave|provided))",
    r"\b(?:following|obeying|according to|given|based on|in line with|follow|obey|understand)"
    r" (?:your|these|those) instructions?\b(?! (?:on|for|from|of|to)\b)",
    r"\b(?:according to|given|based on|in line with) my instructions?\b(?! (?:on|for|from|of|to)\b)",
    r"\b(?:my|your|system) (?:system )?prompt\b(?! (?:reply|response|answer|action|help"
    r"|attention|payment|service|delivery|return|care|and)\b)",
    # A chat may be about a prompt that both sides see: only following it or praising it matches.
    r"\b(?:according to|based on|per|in line with|(?:happy|pleased|satisfied) with) (?:the|this) prompt\b",
    r"\b(?:the|this) prompt (?:above|says that i|says i|tells me|told me|asks me|asked me|requires)\b",
    # "Here is my answer: yes" only announces an answer; these announce its prescribed form.
    rf"\bhere(?:'s| is) (?:a|an|the|my|your) {_REPLY}*(?:response|reply)"
    r" (?:in|that|which|with|as|mentioning|including|about|without|using)\b",
    rf"\bhere(?:'s| is) (?:a|an|the|my|your) {_REPLY}*(?:response|reply|answer|sentence|message"
    rf"|haiku)(?: in (?:{_LANGUAGE}|one\b)|,? as (?:requested|instructed)"
    r"|,? (?:that|which) (?:mentions|includes|contains|uses|follows|is in|meets)"
    r"|,? (?:mentioning|including|containing)\b)",
    rf"\bhere(?:'s| is) (?:a|an|the|my|your) (?:{_REPLY}+(?:response|reply|answer|sentence)"
    r"|response|reply|haiku):",
    r"\b(?:in|with) (?:exactly |only |just )?(?:one|a) (?:single |short |brief )+sentence\b",
    r"\bas (?:a|one) single sentence\b",
    r"\b(?:one|two) or (?:two|three) sentences\b",
    r"\bin (?:(?:each|all|every one) of |all )?(?:my|your) (?:replies|responses)\b",
    r"\bin (?:every|each) (?:single )?(?:reply|answer|response)\b",
    rf"\b(?:the )?requested (?:format|style|language|persona|{_LANGUAGE})\b",
    r"\bas an? (?:ai|ai assistant|language model|ai language model)\b[\w ]{0,30},? i(?:'m| am| was"
    r"| must| have)(?: been)? (?:instructed|told|asked|programmed|designed|required)\b",
)


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return one pattern for all of them, which searches for the word border once."""
    at_border = [p.removeprefix(r"\b") for p in patterns if p.startswith(r"\b")]
    others = [p for p in patterns if not p.startswith(r"\b")]
    return re.compile("|".join((rf"\b(?:{'|'.join(at_border)})", *others)))


_ABOUT_INSTRUCTION = _any_of((*ENGLISH, *LATIN_LANGUAGES))
_IN_OTHER_SCRIPTS = re.compile("|".join(OTHER_SCRIPTS))

_TELL = (
    r"(?:mention|bring up|include|incorporate|refer to|work in|throw in|talk about|speak|answer"
    r"|reply|respond|write|use|end|start|begin|finish|say|show|add|ask|assist|enjoy|love|like"
    r"|adore|never|always|avoid)\b"
)
_ROLE = (
    r"(?:act(?:ing)? (?:as|like)|pretend(?:ing)? (?:to be|that i(?:'m| am))|(?:speak|answer|reply"
    r"|respond)(?:ing)? (?:as|like)|play(?:ing)? the (?:role|part) of|impersonat(?:e|ing)"
    r"|portray(?:ing)?|role-?play(?:ing)? as)\b"
)

_BEFORE_SUBJECT = _any_of(
    (
        rf"{_TOLD} to {_ADVERBS}{_TELL}",
        r"\b(?:(?:i was|i've been|i have been|i'm|i am) (?:told|informed|instructed)"
        r"|(?:you|they|the user)(?:'ve| have| had|'d)? (?:told me|said))(?: that)?"
        r" (?:i(?:'m| (?:really )?(?:enjoy|love|like|adore|am|must|have to|can only|speak))"
        r"|my (?:hobby|favou?rite))\b",
        rf"{_WILL} {_ADVERBS}(?:mention|bring up|include|incorporate|refer to|work in|throw in)"
        r"(?: that i (?:enjoy|love|like))?\b(?! that\b)",
        r"\bi must (?:always )?(?:remember|not forget) to (?:mention|bring up)\b",
        rf"{_WILL} {_ADVERBS}(?:(?:answer|reply|respond|speak|write) (?:only )?(?:in|with)"
        r"|(?:use|say) (?:only|exactly|just|no|at (?:least|most))|(?:end|start|begin|finish)"
        r" (?:my|every|each|all|this) (?:reply|replies|answers?|responses?|messages?))\b",
        r"\b(?:the|these|those) (?:instructions?|rules|guidelines) (?:say|state|tell|told me|require"
        r"|ask|are|were)\b",
        r"\b(?:according to|based on|following|per|given|in line with) (?:the|these|those|my|your)"
        r" (?:instructions?|rules|guidelines)\b",
        # In French, German and so on: "je suis censé aimer le tennis".
        r"\b(?:je suis cense|je suis censee|je suis suppose|je dois|je vais) (?:donc )?(?:aimer|adorer"
        r"|mentionner|evoquer|incarner|parler de|parler du)\b",
        r"\b(?:debo|tengo que|voy a|se supone que debo) (?:mencionar|incluir)\b",
        r"\bich (?:soll|sollte|muss|werde)(?=[^.!?\n]{0,40}\b(?:mogen|lieben|erwahnen|ansprechen"
        r"|einbauen)\b)",
        r"\b(?:dovrei|devo|sto per) (?:amare|adorare|menzionare|citare)\b",
        r"\b(?:devo|vou|tenho que|e suposto) (?:mencionar|incluir|gostar de)\b",
        r"\bik (?:moet|zal|zou|hoor)(?=[^.!?\n]{0,40}\b(?:noemen|vermelden|leuk (?:te )?vinden)\b)",
    )
)
"""Talk about the instruction if its subject follows in the same sentence."""

# "I shall be in the forest" and "I was asked to be at the palace" are about places.
_BEFORE_ROLE = _any_of(
    (
        rf"{_TOLD} to {_ADVERBS}(?:be )?{_ROLE}",
        rf"{_WILL} {_ADVERBS}(?:be )?{_ROLE}",
        rf"{_TOLD} to {_ADVERBS}be\b(?! (?:in|at|on|from|near|with)\b)",
        r"\bi (?:should|almost forgot to|nearly forgot to) (?:mention|bring up)\b(?! (?:that|i|my)\b)",
        r"\bmy (?:role|character|task)(?: here)? is\b(?! (?:in|at|on|from)\b)",
    )
)
"""Talk about the instruction if the role that it gives follows at once."""

_LIFE = re.compile(
    r"\b(?:tomorrow|tonight|yesterday|next|last|ago|when|while|if|by|with (?:my|him|her|them|us|the)"
    r"|to (?:my|him|her|them|his|their)|at (?:work|school|home|noon|my|the|\d+)|in (?:class|may|june)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
"""Words after a subject that show that the reply is about everyday life."""
_CLAUSE_END = re.compile(r"[.!?;\n]|, (?:but|and|so|because)\b")
MAX_WORDS_BEFORE = 8
"""Most words between a pattern and the subject."""
MAX_WORDS_BEFORE_ROLE = 3


def is_about_instruction(folded: str) -> bool:
    """Whether a folded text talks about an instruction, whatever its subject is."""
    if _ABOUT_INSTRUCTION.search(folded):
        return True
    return not folded.isascii() and bool(_IN_OTHER_SCRIPTS.search(folded))


def is_about_subject(folded: str, subject: Set[str]) -> bool:
    """Whether a folded text says that the speaker was told to do, or will do, something on the subject.

    Args:
        folded: the reply.
        subject: folded words that are specific to the instruction ("tennis", "napoleon").
    """
    for pattern, most in (
        (_BEFORE_SUBJECT, MAX_WORDS_BEFORE),
        (_BEFORE_ROLE, MAX_WORDS_BEFORE_ROLE),
    ):
        for frame in pattern.finditer(folded):
            rest = _CLAUSE_END.split(folded[frame.end() :], maxsplit=1)[0]
            if _LIFE.search(rest):
                continue
            if any(word in subject for word in words(rest)[: most + 1]):
                return True
    return False
