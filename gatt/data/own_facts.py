"""Whose fact a reply says: its own speaker's ("I live in Lisbon"), or the user's ("You lost your umbrella")."""

from __future__ import annotations

import re
from typing import Final

from gatt.verifiers.phrases import word_set
from gatt.verifiers.rule import Span
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.sentences import sentence_at
from gatt.verifiers.text.words import words

VERSION: Final = 3
"""Raised by one with every change that can change whose fact it is."""
MOST_FRAGMENT_WORDS: Final = 5
"""Words of a sentence that may name a fact without an "I": "In Lisbon, Portugal."."""
_MOST_WORDS_BETWEEN: Final = 3
_ENGLISH_MARKS = word_set("answers", "english_marks")
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|i'm|im|i've|i'd|i'll|my|me|mine|myself|we|we're|our|us)\b"
)
_OF_THE_USER: Final = re.compile(r"\b(?:you|your|you're|yours)\b")
_SPEAKS_WITH: Final = re.compile(
    r"\byou(?:'re| are) (?:speaking|talking|chatting) (?:to|with)\b|\byou (?:can|may) call\b"
)
_OTHERS: Final = re.compile(r"\b(?:he|she|they|his|her|their|who|was|were)\b")
_NAME_TIE: Final = re.compile(
    r"\b(?:i am|i'm|im|my (?:full |first |own )?name(?: is|'s)?|name is|name's|name:?|call(?:s|ed)?(?: me)?"
    r"|known as|this is|it is|it's|as|they say|named|answer to|go by"
    r"|(?:speaking|talking|chatting) (?:to|with)"
    r"|me llamo|nombre es|soy|(?:le|te) (?:atiende|escribe|saluda)|hablas? con|ich bin|heisse|name ist"
    r"|(?:sprechen|schreiben) (?:sie )?mit|hier ist|je suis|m'appelle|nom est|c'est"
    r"|me chamo|nome e|sou|mi chiamo|sono)\W*$"
)
_ONLY_LIKED: Final = re.compile(
    r"\b(?:likes?|loves?|enjoy|fan of|about|allergic to|interested in|topic is|help you with|been to"
    r"|heard of)\W*$"
)
_NAME_BEHIND: Final = re.compile(
    r"^\W*(?:here|speaking|at your service|is (?:my|the) name|it is|'s the name)\b"
)

_ASIDE: Final = re.compile(
    r"\b(?:i|we)(?:'m|'d| am|'ll| will| can| would| do)? ?(?:still )?"
    r"(?:think|believe|remember|recall|know|guess|hope|say|see|do|understand|answer|tell|sure|glad|happy|sorry)\b"
    r"|\blet me \w+|\bmy (?:memory|knowledge|notes?|mind|pleasure|best|answer|apologies|guess)\b"
    r"|\bwe (?:talked|spoke|said)\b"
)
"""What a speaker says of itself around an answer."""
_IS_BEHIND: Final = re.compile(r"\W*(?:is|was|are|were|ist|war|est|es|e) (?P<whose>\w+)\b")
_OWN_IN_ENGLISH: Final = _FIRST_PERSON
_OWN_ELSEWHERE: Final = re.compile(
    r"\b(?:mon|ma|notre|mi|mis|nuestr[oa]s?|mein(?:e[mnrs]?)?|unser(?:e[mnrs]?)?|meus?|minhas?|noss[oa]s?|mi[oae])\b"
)
_YOURS: Final = re.compile(
    r"\b(?:you|your|you're|yours|u|ur|tu|toi|ton|ta|tes|vous|votre|vos|tus?|sus?|usted(?:es)?|vuestr[oa]s?|du|dich|dir"
    r"|dein(?:e[mnrs]?)?|sie|ihnen|ihr(?:e[mnrs]?)?|voces?|seus?|suas?|teus?|tuas?|tuo|tua|tuoi|tue|vostr[oaie])\b"
)


def says_its_own(reply: str, span: Span, fact: str) -> bool:
    """Return whether an English reply says the fact at `span` of its own speaker; True in other languages.

    A name needs an introduction ("I am Maria", "Maria here"), any other fact an "I" or "my" in its sentence.
    A few words alone are an answer to the question.
    """
    start, end = sentence_at(reply, span[0])
    sentence = fold_text(reply[start:end])
    before, behind = fold_text(reply[start : span[0]]), fold_text(reply[span[1] : end])
    spelt = words(sentence)
    is_of_user = bool(_OF_THE_USER.search(before)) and not _SPEAKS_WITH.search(before)
    if is_of_user and not _FIRST_PERSON.search(before):
        return False
    is_of_others = _OTHERS.search(sentence) or (fact != "hobby" and _ONLY_LIKED.search(before))
    if len(spelt) <= MOST_FRAGMENT_WORDS and not is_of_others:
        is_whole = not _FIRST_PERSON.search(before) or fact != "name"
        if is_whole and not re.search(r"\b(?:is|has|are)\b", behind):
            return (
                fact != "name" or len(words(before)) <= 1 or bool(_NAME_TIE.search(_last(before)))
            )
    if not _is_english(sentence):
        return True
    if fact == "name":
        return bool(_NAME_TIE.search(_last(before)) or _NAME_BEHIND.search(behind))
    is_only_liked = fact != "hobby" and bool(_ONLY_LIKED.search(before))
    return bool(_FIRST_PERSON.search(sentence)) and not is_only_liked


def says_the_users(reply: str, span: Span) -> bool:
    """Return whether a reply says the fact at `span` of the user, who told it: not "I lost my umbrella".

    False where an "I" or "my" of the speaker stands before it in its sentence ("My dog is called Rex."), or
    right behind it ("Rex is my dog."), and no "you" or "your" anywhere; "I think" and "my guess" are none.
    """
    start, end = sentence_at(reply, span[0])
    sentence = fold_text(reply[start:end])
    if _YOURS.search(sentence):
        return True
    own = _OWN_IN_ENGLISH if _is_english(sentence) else _OWN_ELSEWHERE
    # What a comma or colon ends is said aside: "If I'm not mistaken, it's Rex.".
    before = re.split(r"[,:;]", _ASIDE.sub(" ", fold_text(reply[start : span[0]])))[-1]
    behind = _IS_BEHIND.match(fold_text(reply[span[1] : end]))
    return not (own.search(before) or (behind and own.fullmatch(behind["whose"])))


def _is_english(sentence: str) -> bool:
    return any(word in _ENGLISH_MARKS or word == "i" for word in words(sentence))


def _last(before: str) -> str:
    """Return the text before a name without titles and "the great": "I am the Queen Victoria"."""
    return re.sub(
        rf"(?:\b(?:the|a|an|just|simply|dr|mr|mrs|ms|miss|sir|queen|king|doctor|still|of course|indeed)\b\W*)"
        rf"{{0,{_MOST_WORDS_BETWEEN}}}$",
        "",
        before,
    )
