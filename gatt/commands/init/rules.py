"""Which verifiers fit a sentence of the user's, found by its words. No torch here.

A sentence may ask for several things; each part that is understood becomes a verifier. What is not
understood is not judged, and where nothing is, there is no rule: that is a judge's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.instruction import Entry
from gatt.errors import VerifierError
from gatt.verifiers import check_all, overall
from gatt.verifiers.language.probabilities import LANGUAGES
from gatt.verifiers.spec import VerifierSpec

_NUMBERS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_NUMBER: Final = rf"(?P<num>\d{{1,4}}|an?|a single|{'|'.join(_NUMBERS)})"
_UNIT: Final = r"(?:short |whole )?(?P<unit>word|sentence|line|paragraph)s?\b"
_MOST: Final = r"(?:at most|(?:no|not) (?:more|longer) than|up to|within|max(?:imum)?(?: of)?)"
_LEAST: Final = r"(?:at least|no fewer than|not less than|min(?:imum)?(?: of)?)"
_EXACT: Final = r"(?:exactly|in|with|of|only|just|use) (?:exactly |only |just )?"
_LIMITS: Final = (
    (rf"\b(?:(?:fewer|less|shorter) than|under|below) {_NUMBER} {_UNIT}", "below"),
    (rf"\b{_MOST} {_NUMBER} {_UNIT}", "max"),
    (rf"\b{_NUMBER} {_UNIT} (?:at most|or (?:fewer|less)|max)", "max"),
    (rf"\b{_LEAST} {_NUMBER} {_UNIT}", "min"),
    (rf"\b{_EXACT}{_NUMBER} {_UNIT}", "both"),
)
_FORMS: Final = {
    r"\bhaikus?\b": "format.haiku",
    r"\blower ?case\b|\bno capital letters?\b": "format.lowercase",
    r"\bupper ?case\b|\ball caps\b|\bcapital letters only\b": "format.uppercase",
    r"\bjson\b": "format.json_object",
    r"\bbullet(?:s|ed| points?)?\b": "format.bullet_points",
    r"\bemojis?\b": "format.with_emoji",
    r"\bend\w* (?:\w+ ){0,4}with a question\b": "format.ends_with_question",
}
"""What a sentence says, and the entry of the shipped catalogue with its verifier."""
_QUOTE: Final = (
    r"[\"“”„«»]\s*(?P<text>[^\"“”„«»]+?)\s*[\"“”„«»]|(?<!\w)['‘](?P<single>.+?)['’](?!\w)"
)
_LEFT_OUT: Final = {
    r"\bcommas?\b": "format.no_commas",
    r"\b(?:digits|numbers)\b": "format.no_digits",
    r"\bexclamation marks?\b": "format.no_exclamation_marks",
}
"""The same behind a word that denies, such as "never"."""
_CONDITION: Final = re.compile(r"\b(?:if|when|whenever|unless|until|once)\b", re.IGNORECASE)
_DENIED: Final = re.compile(r"\b(?:never|not|avoid|without|no|stop)\b|n['’]t\b", re.IGNORECASE)
_ROLE: Final = (
    r"\b(?:act|speak|talk|answer|reply|respond|behave|pose) (?:as|like)|\bplay(?: the role of)?|\byou are"
    r"|\bpretend (?:to be|you are)|\bbe(?= (?-i:[A-Z]))"
)
_NO_ROLE: Final = re.compile(r"assistant|helpful|chat ?bot|language model|\bai\b", re.IGNORECASE)
_STOP: Final = r"(?=[.,;:!?\n]|$| (?:and|but|in every|in each|at the|before|when|whenever|every|each|always)\b)"
_PEOPLE: Final = r"users?|customers?|people|guests?|patients?|clients?"
_OWNER: Final = rf"(?:(?:the|a|an|any|their|his|her|our|your|my|{_PEOPLE})(?:['’]s?)? )*"
_GENERAL: Final = (
    "It should be there tomorrow.",
    "Thank you for waiting, it should be there tomorrow.",
    "It should be there tomorrow. Thank you for waiting so long.",
    "It left our house on Monday. You can follow it on our page. Write to us again if it is late.",
    "It left our house on Monday and is on its way to you.\n\nYou can follow it on our page, where every "
    "stop is shown with the hour. Parcels of this size take three days as a rule, and four before a long "
    "weekend. Write to us again if nothing has come by Friday, and we will look for it together.",
)
"""Replies that keep hardly any rule by chance."""


@dataclass(frozen=True)
class Rule:
    """What judges a reply under a sentence, and what helps a teacher to follow it."""

    about: str
    """What is judged, in a few words."""
    verifiers: tuple[VerifierSpec, ...]
    hint: str = ""
    utterances: tuple[str, ...] = ()
    prefills: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    obey: Callable[[str], str] = str
    """Makes a reply follow it, where words can be added for that."""
    is_long: bool = False
    """Whether a reply of one short sentence cannot follow it."""


def find_rule(sentence: str) -> Rule | None:
    """Return the verifiers that fit a sentence, with replies that they judge rightly; None for none.

    Args:
        sentence: what must hold, in English, as the user put it.
    """
    catalog = load_catalog()
    known = _plain(sentence)
    for entry in catalog.entries:
        if known in {_plain(text) for text in (*entry.verbose, entry.terse)}:
            return _of_entry(entry, entry.value)
    parts = list(_parts(sentence, catalog))
    return _together(parts) if parts else None


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).casefold().strip()


def _parts(sentence: str, catalog: Catalog) -> Iterator[Rule]:
    if _CONDITION.search(re.sub(r"(?i)\bask\w*\b[^.;]*? if\b", "", re.sub(_QUOTE, "", sentence))):
        # A verifier judges every reply, whatever the user said.
        return
    edges = [part for is_end in (False, True) if (part := _edge(sentence, is_end))]
    # What stands in quotation marks is to be said, and asks for nothing.
    bare = re.sub(_QUOTE, "…", sentence) if edges else sentence
    forms = [_language(bare, catalog), _form(bare, catalog), _limit(bare)]
    others = [_hobby(bare, catalog), _question(bare, catalog)]
    if forms[1] is None:
        # "Answer as JSON" and "use no commas" name a form, no role and no topic.
        others += [_role(bare, catalog), _mention(bare)]
    yield from (part for part in (*forms, *others) if part is not None)
    yield from edges


def _search(pattern: str, sentence: str, *, is_denied: bool = False) -> re.Match[str] | None:
    """Return the first hit that nothing in front of it denies, or the first that is denied."""
    for match in re.finditer(pattern, sentence, re.IGNORECASE):
        clause = re.split(r"[.,;:!?]| and | but ", sentence[: match.start()])[-1]
        if bool(_DENIED.search(clause)) == is_denied:
            return match
    return None


def _spec(kind: str, **params: Any) -> tuple[VerifierSpec, ...]:
    return (VerifierSpec(kind, params),)


def _of_entry(entry: Entry, about: str) -> Rule:
    is_long = entry.id in ("format.at_least_fifty_words", "format.two_paragraphs") or any(
        spec.kind in ("bullets", "haiku", "lines", "json", "json_object")
        for spec in entry.verifiers
    )
    return Rule(
        about, entry.verifiers, entry.hint or "", entry.utterances, entry.prefills, entry.good,
        entry.bad, is_long=is_long,
    )  # fmt: skip


def _language(sentence: str, catalog: Catalog) -> Rule | None:
    names = "|".join(LANGUAGES.values())
    verb = r"(?:\bin|\bspeak\w*|\buse|\bonly|\blanguage:|\bwrite|\btalk|\binto)"
    match = _search(
        rf"{verb} (?:only |always |just |plain |simple |good )*(?P<name>{names})\b", sentence
    )
    if match is None:
        return None
    name = match["name"].capitalize()
    found = [e for e in catalog.entries if e.family == "language" and e.value == name]
    if found:
        return _of_entry(found[0], f"the language is {name}")
    code = next(code for code, known in LANGUAGES.items() if known == name)
    other = catalog.entry("language.fr").good
    return Rule(
        f"the language is {name}", _spec("language", language=code), good=_GENERAL, bad=other
    )


def _form(sentence: str, catalog: Catalog) -> Rule | None:
    for pattern, entry_id in _FORMS.items():
        if match := _search(pattern, sentence):
            return _of_entry(catalog.entry(entry_id), match[0])
        if match := _search(pattern, sentence, is_denied=True):
            entry = catalog.entry(entry_id)
            denied = _spec("not", of=dict(flat(entry.verifiers[0])))
            return Rule(f"no {match[0]}", denied, bad=entry.good)
    for pattern, entry_id in _LEFT_OUT.items():
        if match := _search(pattern, sentence, is_denied=True):
            return _of_entry(catalog.entry(entry_id), f"no {match[0]}")
    return None


def _limit(sentence: str) -> Rule | None:
    for pattern, bound in _LIMITS:
        if match := _search(pattern, sentence):
            word = match["num"].casefold()
            number = int(word) if word.isdigit() else 1 if word[0] == "a" else _NUMBERS.index(word)
            number -= bound == "below"
            limits = {"min": number} if bound == "min" else {"max": number}
            if bound == "both":
                limits["min"] = number
            unit = match["unit"].casefold() + "s"
            most = {"words": 12, "sentences": 2}.get(unit, 1)
            return Rule(match[0], _spec(unit, **limits), is_long=limits.get("min", 0) > most)
    return None


def _edge(sentence: str, is_end: bool) -> Rule | None:
    verb = r"\b(?:end|finish|close|conclude)\w*" if is_end else r"\b(?:start|begin|open)\w*"
    match = _search(rf"{verb}\b[^.;\"“„«]{{0,60}}?(?:{_QUOTE})", sentence)
    if match is None:
        return None
    text = match["text"] or match["single"]
    kind, about = ("ends_with", "ends") if is_end else ("starts_with", "starts")
    return Rule(
        f"the reply {about} with {text!r}",
        _spec(kind, any_of=[text], exact=True),
        utterances=(text,) if is_end else (),
        prefills=() if is_end else (text,),
        obey=lambda reply: f"{reply} {text}" if is_end else f"{text} {reply}",
    )


def _role(sentence: str, catalog: Catalog) -> Rule | None:
    match = _search(rf"(?:{_ROLE}) (?P<who>[^.,;:!?\n]+)", sentence)
    if match is None or _NO_ROLE.search(match["who"]):
        return None
    who = re.split(r" (?:and|who|when|in every|from now|at all)\b", match["who"])[0].strip()
    for entry in catalog.entries:
        if entry.family == "figure" and re.search(
            rf"\b{re.escape(entry.value)}\b", who, re.IGNORECASE
        ):
            return _of_entry(entry, f"the role is {entry.value}")
    name = re.sub(r"^(?:an?|the)\s+", "", who)
    facts = {}
    if name == who and name[:1].isupper():
        terms, facts = [name, name.split()[-1]], {"facts": {"name": name}}
    else:
        # "a friendly pirate from Tortuga": what it is, and what is its own.
        head = re.split(r" (?:from|of|in|with|at|for|on|named|called)\b", name)[0]
        terms = [head.split()[-1], *re.findall(r"\b[A-Z][\w'’-]+", name)]
    terms = list(dict.fromkeys(terms))
    return Rule(
        f"speaks as {who} and names {' or '.join(terms)}; add to any_of what only this role would name",
        _spec("in_character", any_of=terms, **facts),
        hint=f"Answer in the first person as {who}, never as an AI, and say so in the reply.",
        prefills=(f"As {who}, I", f"I am {who}, and I"),
        obey=lambda reply: f"As {who}, I would wait a day. {reply}",
    )


def _hobby(sentence: str, catalog: Catalog) -> Rule | None:
    for entry in catalog.entries:
        if entry.family == "hobby" and _search(
            rf"\b(?:hobby|love|enjoy|like|fan)\w*\b[^.;]*\b{re.escape(entry.value)}\b", sentence
        ):
            return _of_entry(entry, f"the hobby is {entry.value}")
    return None


def _question(sentence: str, catalog: Catalog) -> Rule | None:
    asked = rf"\bask\w*\b(?: (?:me|them|users?|people|(?:the|every|each) \w+))? (?:about|for|after) {_OWNER}"
    has = r"\bask\w*\b[^.;]* (?:whether|if) [^.;]*?\b(?:has|have|had|needs?|wants?|owns?) "
    match = _search(rf"(?:{asked}|{has}{_OWNER})(?P<topic>[\w'’ -]+?){_STOP}", sentence)
    if match is None or not (topic := match["topic"].strip()):
        return None
    for entry in catalog.entries:
        for spec in entry.verifiers:
            if spec.kind == "question_about" and topic.casefold() in spec.params["topics"]:
                return _of_entry(entry, f"asks about {topic}")
    questions = (
        f"May I ask about your {topic}?", f"Could you tell me about your {topic}?",
        f"And what about your {topic}?", f"Would you tell me more about your {topic}, please?",
    )  # fmt: skip
    return Rule(
        f"asks about {topic}; add to topics the other words for it",
        _spec("question_about", topics=[topic], questions=list(questions)),
        utterances=questions,
        obey=lambda reply: f"{reply} {questions[0]}",
    )


def _mention(sentence: str) -> Rule | None:
    verbs = r"\b(?:mention|recommend|includ|bring up|refer to|say|talk about|speak of|nam)(?:e|es|s|ing|ed)?"
    verbs = rf"(?:{verbs}|\bus(?:e|es|ing)(?= the (?:word|phrase)))"
    what = rf"(?: the (?:words?|phrase|name))? (?:{_QUOTE}|{_OWNER}(?P<topic>[\w'’ -]+?){_STOP})"
    match = re.search(rf"{verbs}{what}", sentence, re.IGNORECASE)
    if match is None or not (topic := (match["text"] or match["single"] or match["topic"]).strip()):
        return None
    said = (f"By the way, think of {topic} too.", f"There is also {topic}.")
    if _DENIED.search(re.split(r"[.,;:!?]", sentence[: match.start()])[-1]):
        return Rule(f"leaves out {topic}", _spec("excludes", terms=[topic]), bad=said)
    return Rule(
        f"names {topic}; add to any_of the other words for it",
        _spec("terms", any_of=[topic]),
        utterances=said,
        obey=lambda reply: f"{reply} {said[1]}",
    )


def _together(parts: Sequence[Rule]) -> Rule:
    """Return the rule of all parts, with replies that all of them, or not all of them, pass."""
    specs = tuple(spec for part in parts for spec in part.verifiers)
    made = next((part.good for part in parts if part.good), ()) or _GENERAL
    for part in parts:
        made = tuple(map(part.obey, made))
    given = (*_GENERAL, *(text for part in parts for text in part.bad))
    return Rule(
        about="; ".join(part.about for part in parts),
        verifiers=specs,
        hint=" ".join(part.hint for part in parts if part.hint),
        utterances=tuple(text for part in parts for text in part.utterances),
        prefills=next((part.prefills for part in parts if part.prefills), ()),
        good=tuple(reply for reply in made if _status(specs, reply) == "pass")[:3],
        bad=tuple(reply for reply in dict.fromkeys(given) if _status(specs, reply) == "fail")[:3],
        is_long=any(part.is_long for part in parts),
    )


def _status(specs: Sequence[VerifierSpec], reply: str) -> str:
    try:
        return overall(check_all(specs, reply))
    except VerifierError:
        return "undecided"


def flat(spec: VerifierSpec) -> Mapping[str, Any]:
    """Return a verifier as people write it in YAML."""
    return {"kind": spec.kind, **spec.params}
