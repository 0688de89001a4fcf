"""Rules for what is to be mentioned, asked for or never given, with ten phrasings each. No torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gatt.commands.init.rule import PartChecks
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
        "you",
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
_QUOTED: Final = re.compile(r"(?:[\"“„«]|(?<!\w)['‘])\s*([^\"“”„«»]+?)\s*(?:[\"”“»]|['’](?!\w))")
_TO_OTHERS: Final = re.compile(
    r" (?:to|with) (?:others?|anyone|anybody|strangers|third parties|other \w+)$", re.IGNORECASE
)
_MOST_WORDS: Final = 4
"""Of what is to be mentioned, that a reply must hold."""


def mention(groups: Mapping[str, str], table: Wordings) -> PartChecks | None:
    """Return the rule that a reply mentions a thing: in other words, in the plural, and without denying it.

    `says` knows denials, `terms` talk about the task.
    """
    quoted = groups.get("text") or groups.get("single")
    if quoted:
        return PartChecks(
            f"names {quoted}",
            (VerifierSpec("terms", {"any_of": [quoted]}),),
            utterances=(),
            obey=f"{{reply}} There is also {quoted}.",
        )
    if groups.get("to"):
        return _remind(groups["to"], table)
    that = groups.get("that", "")
    if re.search(r"\b(?:not|never|no)\b|n['’]t\b", that):
        # "That you are not a doctor": `says` takes what is denied for not said.
        return None
    if re.match(
        r"(?:(?:at least|at most|up to|no more than|exactly|only) )?(?:an?|some|any|one|two|three|\d+) ",
        groups.get("np", ""),
    ):
        # "An animal fact": which one, no word of the sentence tells.
        return None
    np = for_user(groups.get("np", ""))
    # "The price of the tent" is a price.
    whose, of, thing = np.partition(" of ")
    spelt = re.findall(r"[\w'’-]+", that or (f"{thing} {whose}" if of else np))
    spelt = [word for word in spelt if word.lower() not in _DETERMINERS]
    alternatives = [_forms(word, table["synonyms"]) for word in spelt[-_MOST_WORDS:]]
    *beside, head = alternatives or [[np]]
    if not re.search(r"[a-z]", "".join(spelt)):
        beside = []
    params = {"any_of": head, **({"beside": beside} if beside else {})}
    if re.match(r"upsell|promot|advertis", groups["hit"], re.IGNORECASE):
        # A question offers as well: "And garlic bread with it?"
        return PartChecks(
            f"offers {np}",
            (VerifierSpec("terms", {"any_of": [" ".join(spelt)]}),),
            utterances=tuple(text.format(np=np) for text in table["offer"]),
            obey=f"{{reply}} How about {np}?",
        )
    texts = table[
        "mention_that" if that else "mention_own" if np.startswith("your ") else "mention"
    ]
    if re.match(r"(?:an?|some|any|one)\b", np):
        # "Recommend a book": which one, a sentence of ours cannot say.
        texts = []
    utterances = tuple(text.format(np=np, that=that) for text in texts)
    return PartChecks(
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


def _remind(deed: str, table: Wordings) -> PartChecks:
    """Return the rule that a reply tells the user to do a thing, in its main words."""
    common = {*table["stopwords"].split(), "from", "before", "after"}
    spelt = [word for word in re.findall(r"[\w'’-]+", deed) if word.lower() not in common]
    *beside, head = [_forms(word, table["synonyms"]) for word in spelt[-_MOST_WORDS:]]
    given = re.sub(r"\btheir\b", "your", deed)
    return PartChecks(
        f"reminds to {deed}",
        tuple(VerifierSpec("terms", {"any_of": words}) for words in (head, *beside)),
        utterances=tuple(text.format(deed=given) for text in table["remind"]),
        obey=f"{{reply}} Please remember to {given}.",
    )


def ask(groups: Mapping[str, str], table: Wordings) -> PartChecks:
    """Return the rule that a reply asks the user about a thing, or whether there is one."""
    topic = groups.get("topic") or groups.get("own", "")
    how = groups.get("how", "whether").lower()
    np = for_user(groups.get("np") or groups.get("thing", ""))
    if how != "whether" and not re.match(r"(?:your|the|our|an?)\b", np):
        np = f"your {np}"
    verb = re.sub(r"^(?:has|had)$", "have", groups.get("verb", "have").lower())
    verb = verb if verb == "have" else verb.rstrip("s")
    asks = tuple(text.format(np=np, verb=verb) for text in table["ask"][how])
    # "The pet's name" is "the name of your pet" as well.
    owner, is_owned, owned = topic.replace("’", "'").partition("'s ")
    params = {"topics": [owned], "beside": [[owner]]} if is_owned else {"topics": [topic]}
    spec = VerifierSpec("question_about", params)
    return PartChecks(
        f"asks about {topic}; add to topics the other words for it",
        (spec,),
        utterances=asks,
        obey=f"{{reply}} {asks[0]}",
    )


_ASK_NEVER: Final = re.compile(
    r"^(?:please )?(?:never|do not|don['’]t|you must not)(?: ever)? ask (?:(?:the |any )?\w+ )??(?:for"
    r"|about) (?P<np>.+?)[.!]?$",
    re.IGNORECASE,
)
_TOPICS_OF: Final = re.compile(
    r"^(?:talking about|speaking about|discussing|mentioning|(?:the )?topics?(?: of| like| such as)?"
    r"|discussions? (?:of|about)) ",
    re.IGNORECASE,
)
_KIND: Final = re.compile(r"(?!(?:the|our|your|any|an?|that|this) )(?:[a-z]+ )?[a-z]+$")
_NAMES: Final = re.compile(r"mention|bring|refer|nam(?:e|ing)\b", re.IGNORECASE)
_GIVEN: Final = re.compile(
    r"\b(?:advice|guidance|refunds?|discounts?|diagnos[ei]s|spoilers?|prices?|opinions?)\b"
)
_EXAMPLES: Final = re.compile(r",? (?:such as|like|including|e\.g\.|for example),? ", re.IGNORECASE)
_OPEN: Final = re.compile(
    r"\b(?:any|some|no)(?:thing|one|body)\b|\byour\b|\bopinions?\b|['’]s\b|\bother\b", re.IGNORECASE
)


def ask_never(clause: str) -> PartChecks | None:
    """Return the rule that no reply asks for a thing; None where the clause forbids no question."""
    match = _ASK_NEVER.match(clause)
    if match is None:
        return None
    topics = [
        form for one in _listed(match["np"]) for form in dict.fromkeys((one, one.removesuffix("s")))
    ]
    spec = {"kind": "not", "of": {"kind": "question_about", "topics": topics}}
    bad = (f"Please tell me your {topics[0]}.",)
    return PartChecks(f"never asks for {topics[0]}", (VerifierSpec.from_dict(spec),), bad=bad)


def leave_out(groups: Mapping[str, str], _table: Wordings) -> PartChecks | None:
    """Return the rule that a reply does not name a thing, or any of several; None for "anything sad"."""
    quoted = groups.get("text") or groups.get("single")
    if quoted:
        terms = [quoted, *(m[1] for m in _QUOTED.finditer(groups.get("more", "")))]
    else:
        np = groups.get("np", groups.get("that", ""))
        is_kind = _KIND.match(np) and _NAMES.match(groups["hit"])
        if (
            not np
            or is_kind
            or _OPEN.search(np)
            or groups["hit"].lower().startswith(("say", "add", "includ"))
        ):
            return None
        terms = [term for some in _EXAMPLES.split(np) for term in _listed(some)]
    return PartChecks(
        f"leaves out {', '.join(terms)}",
        (VerifierSpec("excludes", {"terms": terms}),),
        bad=tuple(f"There is also {term}." for term in terms),
    )


def _listed(np: str) -> list[str]:
    """Return the things of "passwords, PINs or the codes", without articles."""
    things = re.split(r",? (?:or|and|nor) |, ", np)
    names = [
        re.sub(
            r"^(?:(?:the|an?|any|our|your|their|his|her|user['’]?s|names of) )+",
            "",
            thing.strip(),
            flags=re.I,
        )
        for thing in things
    ]
    return [thing for thing in names if thing]


def only(clause: str, table: Wordings) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return messages that have nothing to do with the only topics of a clause, and replies that decline."""
    wording = table["only"]
    if not re.match(wording["match"], clause, re.IGNORECASE):
        return None
    return tuple(wording["asks"]), tuple(wording["replies"])


def never(clause: str, table: Wordings) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return messages that ask for what a clause forbids, and replies that decline; None where nothing does."""
    topics = table["topics"]
    if no := re.match(
        rf"(?:[^,]+, (?:but )?)?(?:no|not) (?=(?:\w+ ){{0,2}}(?:{topics}))", clause, re.IGNORECASE
    ):
        verb = "give" if _GIVEN.search(clause) else "discuss"
        clause = f"never {verb} {clause[no.end() :]}"
    clause = re.sub(
        r" yourself(?=[.!]?$)", "", re.sub(r"(?<=\bdiagnose)(?=[.!]?$)", " illnesses", clause)
    )
    clause = re.sub(r"^(?:please )?avoid (?=\w)", "never avoid ", clause, flags=re.IGNORECASE)
    for ban in table["never"]:
        verbs = ban["verbs"].replace("{topics}", topics)
        match = re.match(_NEVER.replace("{verbs}", verbs), clause, re.IGNORECASE)
        if match is None:
            continue
        np, deed = match["np"], match["deed"]
        if match["verb"].lower() == "avoid":
            np = _TOPICS_OF.sub("", np)
            deed = f"discuss {np}"
        np, deed = (re.sub(r"\banything\b", "something", text) for text in (np, deed))
        given = deed[:1].lower() + deed[1:]
        if any("{deed}" in text for text in ban["asks"]):
            # What the user asks for is the user's; what others may not hear need not be.
            given = for_user(given)
        asked = re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "me", given))
        asks = [text.format(np=_asked(_TO_OTHERS.sub("", np)), deed=asked) for text in ban["asks"]]
        replies = [text.format(deed=given) for text in table["declines"]]
        for words, field in table["fields"].items():
            if re.search(rf"\b(?:{words})\b", np, re.IGNORECASE):
                asks += field["asks"]
                replies += [text.format(deed=given) for text in field["replies"]]
        return tuple(asks), tuple(replies)
    return None


def for_user(text: str) -> str:
    """Return words as the bot says them: "the user's name" and "the name of the user" are "your name"."""
    addressed = re.sub(
        rf"\b(?:the|an?) ((?:[\w'’-]+ ){{1,3}})of {_USER}\b(?!['’])", r"your \1", text
    )
    addressed = re.sub(rf"\b(for|to|with) {_USER}\b(?!['’])", r"\1 you", addressed)
    addressed = re.sub(rf"\b{_USER}['’](?:s\b)?", "your", addressed)
    if addressed != text:
        return " ".join(addressed.split())
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
