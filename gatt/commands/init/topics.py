"""Rules for what is to be mentioned, asked for or never given, with ten phrasings each. No torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gatt.commands.init.rule import PartJudgement
from gatt.verifiers.spec import VerifierSpec

Wordings = Mapping[str, Any]
_OWNERS: Final = {
    "their": "your", "his": "your", "her": "your", "your": "my", "users": "your", "user's": "your",
    "customer's": "your", "customers": "your", "client's": "your", "patient's": "your", "guest's": "your",
}  # fmt: skip
_DETERMINERS: Final = frozenset(
    {
        *_OWNERS,
        "the",
        "a",
        "an",
        "any",
        "our",
        "my",
        "some",
        "that",
        "is",
        "are",
        "we",
        "it",
        "of",
        "to",
        "for",
    }
)
_NEVER: Final = (
    r"^(?:please )?(?:never|do not|don['’]t|you must not|refuse to|decline to)(?: ever)? "
    r"(?P<deed>(?P<verb>{verbs}) (?P<np>.+?))[.!]?$"
)
_USER: Final = (
    r"(?:the |each |every |an? )?(?:user|customer|client|guest|patient|student|pupil|learner|player|caller"
    r"|visitor|reader|member|traveller|passenger)s?"
)
_TO_OTHERS: Final = re.compile(
    r" (?:to|with) (?:others?|anyone|anybody|strangers|third parties|other \w+)$", re.IGNORECASE
)
_MOST_WORDS: Final = 4
"""Of what is to be mentioned, that a reply must hold."""


def mention(found: Mapping[str, str], table: Wordings) -> PartJudgement:
    """Return the rule that a reply mentions a thing: in other words, in the plural, and without denying it.

    `says` knows denials, `terms` talk about the task.
    """
    quoted = found.get("text") or found.get("single")
    if quoted:
        return PartJudgement(
            f"names {quoted}",
            (VerifierSpec("terms", {"any_of": [quoted]}),),
            utterances=(),
            obey=f"{{reply}} There is also {quoted}.",
        )
    that = found.get("that", "")
    np = _for_user(found.get("np", ""))
    # "The price of the tent" is a price.
    whose, of, thing = np.partition(" of ")
    spelt = re.findall(r"[\w'’-]+", that or (f"{thing} {whose}" if of else np))
    spelt = [word for word in spelt if word.lower() not in _DETERMINERS]
    groups = [_forms(word, table["synonyms"]) for word in spelt[-_MOST_WORDS:]]
    *beside, head = groups or [[np]]
    if not re.search(r"[a-z]", "".join(spelt)):
        beside = []
    params = {"any_of": head, **({"beside": beside} if beside else {})}
    texts = table[
        "mention_that" if that else "mention_own" if np.startswith("your ") else "mention"
    ]
    if re.match(r"(?:an?|some|any|one)\b", np):
        # "Recommend a book": which one, a sentence of ours cannot say.
        texts = []
    utterances = tuple(text.format(np=np, that=that) for text in texts)
    return PartJudgement(
        f"mentions {that or np}",
        (
            VerifierSpec(
                "all", {"of": [{"kind": "terms", "any_of": head}, {"kind": "says", **params}]}
            ),
        ),
        utterances=utterances,
        obey=f"{{reply}} {utterances[0] if utterances else f'I would take {np}.'}",
        bad=(f"We have no {' '.join(spelt)}.",) if not that else (),
    )


def ask(found: Mapping[str, str], table: Wordings) -> PartJudgement:
    """Return the rule that a reply asks the user about a thing, or whether there is one."""
    topic = found.get("topic") or found.get("own", "")
    how = found.get("how", "whether").lower()
    np = _for_user(found.get("np") or found.get("thing", ""))
    if how != "whether" and not re.match(r"(?:your|the|our|an?)\b", np):
        np = f"your {np}"
    verb = re.sub(r"^(?:has|had)$", "have", found.get("verb", "have").lower())
    verb = verb if verb == "have" else verb.rstrip("s")
    asks = tuple(text.format(np=np, verb=verb) for text in table["ask"][how])
    spec = VerifierSpec("question_about", {"topics": [topic]})
    return PartJudgement(
        f"asks about {topic}; add to topics the other words for it",
        (spec,),
        utterances=asks,
        obey=f"{{reply}} {asks[0]}",
    )


def never(clause: str, table: Wordings) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return messages that ask for what a clause forbids, and replies that decline; None where nothing does."""
    for one in table["never"]:
        match = re.match(_NEVER.format(verbs=one["verbs"]), clause, re.IGNORECASE)
        if match is None:
            continue
        np, deed = match["np"], match["deed"]
        given = deed[:1].lower() + deed[1:]
        if any("{deed}" in text for text in one["asks"]):
            # What the user asks for is the user's; what others may not hear need not be.
            given = _for_user(given)
        asked = re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "me", given))
        asks = [text.format(np=_asked(_TO_OTHERS.sub("", np)), deed=asked) for text in one["asks"]]
        replies = [text.format(deed=given) for text in table["declines"]]
        for words, field in table["fields"].items():
            if re.search(rf"\b(?:{words})\b", np, re.IGNORECASE):
                asks += field["asks"]
                replies += [text.format(deed=given) for text in field["replies"]]
        return tuple(asks), tuple(replies)
    return None


def _for_user(text: str) -> str:
    """Return words as the bot says them: "the user's name" and "the name of the user" are "your name"."""
    told = re.sub(rf"\b(?:the|an?) ((?:[\w'’-]+ ){{1,3}})of {_USER}\b(?!['’])", r"your \1", text)
    told = re.sub(rf"\b(for|to|with) {_USER}\b(?!['’])", r"\1 you", told)
    told = re.sub(rf"\b{_USER}['’](?:s\b)?", "your", told)
    if told != text:
        return " ".join(told.split())
    spelt = text.replace("’", "'").split()
    if len(spelt) > 1 and spelt[0].lower() == "the" and spelt[1].lower() in _OWNERS:
        spelt.pop(0)
    if spelt and spelt[0].lower() in _OWNERS:
        spelt[0] = _OWNERS[spelt[0].lower()]
    return " ".join(spelt)


def _asked(np: str) -> str:
    """Return a noun phrase as the user says it to the bot: "our prices" is "your prices"."""
    return re.sub(r"^(?:our|my)\b", "your", np, flags=re.IGNORECASE)


def _forms(word: str, synonyms: Mapping[str, list[str]]) -> list[str]:
    for name in (word.lower(), word.lower().removesuffix("s"), word.lower().removesuffix("es")):
        if name in synonyms:
            return [str(one) for one in synonyms[name]]
    return [word]
