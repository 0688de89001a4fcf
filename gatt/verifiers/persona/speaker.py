"""Whether a sentence ties a term to its speaker: "my army", not "I like armies".

English only. A name is the speaker's by an introduction alone; any other term by
"my", or by an "I" that does more in its clause than like it, ask about it or deny it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gatt.verifiers.text.folding import fold
from gatt.verifiers.text.matching import Hit, TermMatcher
from gatt.verifiers.text.sentences import sentence_spans
from gatt.verifiers.text.words import words

# One word that is no "my": what is one's own is never only looked at from outside.
_OTHER = (
    r"(?:(?!(?:my|our|to|when|while|at|in|on|over|from|with|that)\b)"
    r"(?!(?!eating|reading|watching|seeing|hearing|learning|studying|drinking|having)\w+ing\b)"
    r"[\w'-]+,? )"
)
_NOT_MINE = r"(?:(?!(?:my|our)\b)[\w'-]+,? )"
_SPEAKER = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|us|our|ours)\b")
_NAMED = (
    r"\b(?:i am|i'm) (?:just )?(?:an?|the) (?:(?!\w+ing\b)[\w-]+,? ){0,3}"
    r"(?:man|woman|person|human|guy|fellow|lady|gentleman|girl|boy) (?:named|called)"
)
_BEING = (
    r"\b(?:i am|i'm|it is i,?|it's me,?|my name is|my name's|(?:you (?:can|may) )?call me|calls? me"
    r"|called me|known as|this is|i, |yours(?: \w+)?,?|for me,|like me,)"
)
_PLAIN = (
    r"(?:(?!(?:a|not|no|never|fan|of|that|about|with|to|for|by|at|from|in|on|than|if|and|but|or|is"
    r"|was|sure|who|what|glad|happy|like)\b)[\w'.-]+ )"
)
_INTRODUCES = re.compile(rf"(?:{_BEING}|{_NAMED})\s*{_PLAIN}{{0,4}}$")
_SIGNS = re.compile(r"(?:^|\n) *(?:-+|yours(?: \w+)?,|love,|signed,?|sincerely,)\s*$")
_SPEAKS = re.compile(
    r"\W*(?:[\w'-]+ ){0,2}?(?:at your service|here\b|speaking\b|is my name|they call me)"
)
# "Nakato, I'm a local farmer", "leonardo, from vinci".
_OPENS = re.compile(r",? (?:i'm|i am) an? (?!(?:[\w-]+ )?(?:fan|lover|student)\b)|, (?:from|of) ")
_AS_ONE = re.compile(
    r"(?:^|\W)(?:as|being) (?:(?:an?|the|your|someone|queen|king) )?(?:[\w-]+ ){0,2}$"
)
_THEN_I = re.compile(r"(?: (?:of|in|from) [\w ]{1,30})?,? (?:i|i'm|i'd|i've|i'll|we|my|our)\b")
_ADMIRER = re.compile(
    r"(?:'s (?:big(?:gest)?|huge|number one) |[ -])(?:lovers?|fans?|enthusiasts?|students?|nerd|geek"
    r"|buff|fanatic|tourist|museum|beginner|class|course|homework|exam)\b"
)
_OWN = re.compile(
    r"\b(?:my|our)(?: own)? (?!(?:hero|idol|favou?rite|dear|friend|role)\b)(?:[\w'-]+ )?$"
)
_KIN = re.compile(r"(?:brother|sister|friend|teacher|son|daughter|father|mother|colleague)s? $")
_FROM_OUTSIDE = re.compile(
    rf"\b(?:(?:love|adore|enjoy|admire|appreciate|dislike|prefer|hate|idolize)[sd]?|loving|enjoying"
    rf"|admiring|hated|liked|likes|liking"
    rf"|(?:i|you|we|they|people|also|really|always|do|don't|not|would|both|still|to) like"
    rf"|visit(?:ed|ing|s)?|study|studying|i (?:think|believe|guess|bet|hope|suppose)(?! of\b)"
    rf"|hello|hi|hey|welcome to|thank you|thanks"
    rf"|favou?rite [\w' -]{{0,30}}(?:is|was|are)) {_OTHER}{{0,3}}$"
    rf"|\b(?:fans?|lover|admirer|students?|fond|afraid|scared|heard|hear|pictures?|photos?|know"
    rf"|knows|knew) of {_NOT_MINE}{{0,4}}$"
    rf"|\b(?:allergic to|interested in|curious about|fascinated (?:by|with)|impressed (?:by|with)"
    rf"|good at|bad at|new to|familiar with|crazy about|obsessed with|keen on|excited about"
    rf"|excited (?:to|for)|learn(?:ing|ed)? (?:about|of)|read(?:ing)? (?:about|of)|sorry about"
    rf"|trip to|vacation (?:in|to)|holidays? (?:in|to)|(?:looking|look) forward to"
    rf"|looking (?:for|up|into)|search(?:ing)? for|interest in) {_NOT_MINE}{{0,5}}$"
    rf"|\b(?:help|assist|advise)(?:ing)? (?:[\w']+ )??{_NOT_MINE}{{0,3}}?(?:with|about|in|on"
    rf"|understand|plan|find|learn) {_NOT_MINE}{{0,6}}$"
    rf"|\b(?:tell|talk|talking|know|knows|knew|hear|heard|ask|chat|speak|information|facts|happy"
    rf"|something|anything|everything|more|questions?|discuss|(?<!my )(?:book|film|essay|article))"
    rf" {_NOT_MINE}{{0,3}}?(?:about|on|regarding) {_NOT_MINE}{{0,5}}$"
    rf"|\b(?:know|knew|understand|discuss|explain|watch(?:ed|ing)?|reading|memori[sz]ed?|googled?"
    rf"|learn(?:ed)?) {_OTHER}{{0,4}}$"
    rf"|\b(?:it's|it is|feels|felt|looks|sounds) (?:just )?like (?:an? |the )?{_OTHER}{{0,2}}$"
    rf"|\b(?:never|don't|do not|didn't|did not|haven't|have not|doesn't|does not|can't|cannot)"
    rf" (?:(?:really|even|actually|ever|currently|yet) )*(?:been|heard|met|know|like|care|live"
    rf"|work|speak|understand|have|play|eat|eaten|own|visited|seen|read|study|need|want|bake|drink"
    rf"|recogni[sz]e|use|tried|do|own) (?!(?:a )?(?:better|finer|such|more|so)\b){_NOT_MINE}{{0,5}}$"
    rf"|\b(?:am not|i'm not|was not|wasn't|was never|have no|had no) {_OTHER}{{0,2}}$"
    rf"|\bnot (?:an?|the|any|really) {_OTHER}?$"
    rf"|\b(?:read|heard|learned|know|think|believe|say|told|sure|agree) that {_NOT_MINE}{{0,5}}$"
    rf"|\b(?:ate|bought|ordered|want to eat|want some|(?:would|i'd) like (?:some|an?)) {_OTHER}{{0,3}}$"
    rf"|\b(?:am not|i'm not|i'm no|am no) (?:from|in|at|into|with) {_OTHER}{{0,2}}$"
    rf"|\b(?:your(?! own)|you are|you're|are you|were you|do you|did you|have you|if i were|wish i (?:was"
    rf"|were|had)|to meet you,?|to see you,?) {_NOT_MINE}{{0,4}}$"
)
_CLAUSE_END = re.compile(
    r"[,;:()\n]|--| - |\b(?:and|but|so|because|while|since|though|yet|when)\b"
    r"(?= (?:i|i'm|i'd|i've|i'll|you|he|she|it|they|we|the)\b)"
)
# An "I" in another clause of the sentence speaks for the term only if it does something.
_DOES = re.compile(
    r"\b(?:my|our) (?!(?:pleasure|favou?rite|day|name|hobby|opinion|hero|idol)\b)"
    r"|,? i (?:find|confess|fear|swear)(?=[,;.:!]|$)"
    r"|\b(?:made|makes|gave|gives|taught|brings?|brought|calls?|sent|asked) (?:me|us)\b"
    r"|\b(?:i|we|i'd|i've|i'll)(?: (?:have|had|would|will|once|still|also|even|always|often"
    r"|never|must|shall|should))* "
    r"(?!(?:am|was|a|an|like|love|think|know|don't|do|did|hope|can|could|enjoy|understand|see|guess"
    r"|believe|wish|heard|hear|read|have|had|would|will|need|want|help|recommend|suggest|agree"
    r"|visited|visit|admire|hate|prefer|be|been|never|to|not|just|really|appreciate|met|meet"
    r"|can't|cannot|didn't|won't|may|might|feel|find|mean|tell|say)\b)[a-z]{2,}"
)
# "Act so that your maxim could be a law for all, I say."
_TEACHES = re.compile(r", i (?:always )?(?:say|tell you)(?=[,;.:!]|$)")
_OF_ONESELF = re.compile(r"^(?:my|our)\b|\bi [a-z]")
_HE = re.compile(r"\b(?:he|she|him|his|her)\b")
_LIVES = re.compile(
    r"\b(?:(?:i|we) (?:live|work|study)|i'm from|i am from|(?:i'm|i am) (?:living|based)|i come from) "
    r"(?:[\w'-]+ ){0,5}$"
)
_ON_HOLIDAY = re.compile(
    r"\b(?:went|been|was|were|flew|bought|saw|got|visited) [^.!?]{0,40}\bon "
    r"(?:holiday|vacation|a (?:\w+ )?(?:trip|tour))\b"
    r"|\bas a tourist\b"
    r"|\bmy (?:vacation|holiday|trip|honeymoon)\b"
    r"|\bsightseeing\b|\b(?:with my class|field trip|school trip|guided tour|bucket list|souvenir)"
    r"|\b(?:i|we) (?:went|flew) (?:\w+ )?there\b|\bif you ever get (?:the|a) chance\b"
)
_SHORT = 3


def is_of_oneself(term: str) -> bool:
    """Whether a term is its speaker's by its own words: "my knives", "therefore I am"."""
    return _OF_ONESELF.search(term.lower()) is not None


def tied_hits(reply: str, spoken: str, terms: TermMatcher, name: TermMatcher) -> Iterator[Hit]:
    """Yield each occurrence of a term that the speaker says of itself.

    Args:
        reply: the text as it was written.
        spoken: the same, letter for letter, without the first person of others.
        terms: all terms.
        name: the speaker's own name, which only an introduction makes its own.
    """
    for start, end in _statements(spoken):
        folded = fold(spoken[start:end])
        if _ON_HOLIDAY.search(folded.text):
            continue
        names = name.hits(folded.text)
        is_other = bool(names) and not any(_is_own(folded.text, hit, is_name=True) for hit in names)
        for hit in terms.hits(folded.text):
            is_name = is_other or any(_touches(folded.text, hit, other) for other in names)
            if _is_own(folded.text, hit, is_name=is_name):
                left, right = folded.span(*hit.span)
                yield Hit(reply[start + left : start + right], (start + left, start + right))


def is_of_another(spoken: str, name: TermMatcher) -> bool:
    """Whether the reply names the figure as "he" or "she", and nowhere as its speaker.

    Args:
        spoken: the text without the first person of others.
        name: the figure's own name.
    """
    folded = fold(spoken).text
    hits = list(name.hits(folded))
    if not hits or any(_is_own(folded, hit, is_name=True) for hit in hits):
        return False
    return bool(_HE.search(folded, hits[0].span[1]))


def lives_there(spoken: str, hit: Hit) -> bool:
    """Whether all that is said of a place is that the speaker lives there or comes from there now."""
    return bool(_LIVES.search(fold(spoken[max(0, hit.span[0] - 60) : hit.span[0]]).text))


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences; an exclamation goes with what follows it."""
    opened: int | None = None
    spans: Sequence[tuple[int, int]] = sentence_spans(text)
    for number, (start, end) in enumerate(spans, start=1):
        begin = start if opened is None else opened
        is_cry = len(words(text[start:end])) <= _SHORT and text[start:end].rstrip()[-1:] in "!…"
        if is_cry and number < len(spans) and not _SPEAKER.search(text[start:end].lower()):
            opened = begin
            continue
        opened = None
        yield begin, end


def _touches(text: str, hit: Hit, name: Hit) -> bool:
    first, second = sorted((hit.span, name.span))
    return second[0] < first[1] or text[first[1] : second[0]].strip() in ("", "of", "the")


def _is_own(text: str, hit: Hit, *, is_name: bool) -> bool:
    start, end = hit.span
    before, after = text[:start], text[end:]
    if _ADMIRER.match(after):
        return False
    introduced = _INTRODUCES.search(before) or (_AS_ONE.search(before) and _THEN_I.match(after))
    if is_name:
        if hit.text.endswith(("'s", "'")) or after.lstrip().startswith("?"):
            return False
        if not before.strip() and _OPENS.match(after):
            return True
        return bool(introduced or _SIGNS.search(before) or _SPEAKS.match(after))
    left = max((found.end() for found in _CLAUSE_END.finditer(before)), default=0)
    if is_of_oneself(hit.text) or (_OWN.search(before) and not _KIN.search(before)):
        return not re.search(r"\b(?:don't|do not|never) (?:have|know) (?:\w+ )?$", before)
    right = _CLAUSE_END.search(text, end)
    clause_end = right.start() if right else len(text)
    is_spoken = bool(_SPEAKER.search(text, left, start) or _SPEAKER.search(text, end, clause_end))
    if not is_spoken and _TEACHES.search(text):
        return True
    if _FROM_OUTSIDE.search(before[left:]):
        return False
    if introduced or is_spoken:
        return True
    return bool(_DOES.search(text[:left]) or _DOES.search(text[clause_end:]))
