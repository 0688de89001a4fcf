"""What a clause says of the one who replies: facts that a user may ask for. No torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NAME: Final = (
    r"[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|the (?=[A-Z][a-z]+(?:,|$))|de|van|von|der|da))*(?<! the)"
)
_COMPANY: Final = (
    r"(?!\d+(?:[ ,.]|$))[A-Z0-9][\w'’&-]*(?: (?:(?:[dl]['’])?[A-Z0-9][\w'’&-]*|&|and (?=[A-Z])))*"
)
_ROLE: Final = re.compile(
    r"(?i:^(?:please |always |from now on,? |i want you to |your job is to |you (?:will|must"
    r"|should) )*(?:you are|you['’]re"
    r"|act as|act like|speak as|answer as|reply as|role-?play as|respond as|behave (?:as|like)|impersonate"
    r"|play(?: the role of)?"
    r"|pretend (?:to be|you are)|as(?= (?:the|an?) [^,]+, you\b)|be|your name is|call yourself"
    r"|you are called|your role is)) "
    r"(?:(?i:named|called) )?(?P<rest>.+)$"
)
_FIRST_NAME: Final = re.compile(
    rf"^(?P<name>{_NAME})(?=,|$| (?:from|at|of|for|and|who|in|the|working)\b)"
)
_AGE: Final = re.compile(
    r"(?:^|, )(?P<age>\d{1,3})(?: years old)?(?=,|$| and\b)|\b(?P<years>\d{1,3}) years old\b"
)
_WORK: Final = re.compile(
    r"(?:^ *|, |and )(?P<work>(?:the|an?|our) (?!shop\b|company\b)(?:(?!AI\b)[A-Z]\w+ )?[a-z][\w'’ -]*?"
    r"(?: of (?:an?|this|our) [a-z][\w'’ -]*?)?)"
    r"(?= (?:of|at|for|from|in|named|called|who|with)\b|,|$| and )"
)
_TEAM: Final = (
    r"(?:from|in|on) (?:the|our) (?:[\w-]+ ){0,3}"
    r"(?:team|desk|department|service|hotline|office|staff|crew) (?:of|at|for)"
)
_AT: Final = re.compile(
    rf"\b(?:{_TEAM}|of|at|for|with) (?:the |our )?(?:[a-z]+ ){{0,3}}?(?P<company>{_COMPANY})"
)
_SERVES: Final = re.compile(
    r"\b(?:assistant|bot|agent|helper|receptionist|concierge|representative|rep|advis[eo]r|consultant|clerk"
    r"|host(?:ess)?"
    r"|manager|operator|librarian|support|service|team|desk|employee|staff|seller|waiter|waitress|guide"
    r"|secretary"
    r"|teller|butler|voice|face|mascot|nurse|doctor|dentist|pharmacist|teacher|tutor|coach|trainer|planner"
    r"|chef|cook"
    r"|recruiter|CEO|founder|owner|director|expert|chatbot|salesperson|member|editor|head|chief"
    r"|president)s?\b",
    re.IGNORECASE,
)
"""Words of those who are "of" a company, as others are "of" a sea or a village."""
_FROM: Final = re.compile(rf"\b(?:from|(?:who )?liv(?:es?|ing) in|based in) (?P<home>{_COMPANY})")
_HOUSES: Final = (
    "Bank|Inc|Ltd|GmbH|AG|Corp|Group|Hotel|Shop|Store|Clinic|Dental|Airlines|Air|Media|Insurance|Energy|Telecom"
    "|Labs|Software|Systems|Services|Support|Farm|Bakery|Restaurant|Caf[eé]|Books|School|University|Library|Museum"
    "|Studio|Pharmacy|Solutions|Technologies|Travel|Outdoor|Company|Practice|Provider|Agency|Firm|Startup|Platform"
)
_A_HOUSE: Final = rf"an? (?i:(?:[\w-]+ )*(?:{_HOUSES}))(?=,|$| (?:in|for|that|which|with)\b)"
_FROM_COMPANY: Final = re.compile(
    rf"\bfrom (?:the )?(?P<company>(?=[^,]*\b(?:{_HOUSES})\b|[^,]*, {_A_HOUSE}){_COMPANY})"
)
_FROM_ANY: Final = re.compile(rf"\bfrom (?:the )?(?P<company>{_COMPANY})")
_DESK: Final = re.compile(
    r"\b(?:assistant|(?:chat)?bot|agent|helper|reception(?:ist)?|concierge|representative|rep|clerk|operator|support"
    r"|service|team|desk|employee|staff|secretary|hotline|office)\b",
    re.IGNORECASE,
)
"""Words of those who are from a company, as others are from a town."""
_IN_TOWN: Final = re.compile(
    r"^\W*(?:[\w'’ -]+,? )??in (?P<home>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*)$"
)
_NAMED: Final = re.compile(rf"\b(?:named|called|name is) (?P<name>{_NAME})")
_KIND: Final = re.compile(r"(?:^|, )(?P<kind>an? [a-z][\w'’ -]*?)(?=,|$)")
_WORKS_FOR: Final = re.compile(
    rf"(?i:^you (?:(?:work|speak|answer|are here) (?:for|at)|represent)) "
    rf"(?P<company>{_COMPANY}|(?:the|an?|our) [\w'’ -]+)(?P<rest>.*)$"
)
_INNER: Final = re.compile(
    rf"(?:the|an?|our) [a-z][a-z -]* (?:of|from|at|for) (?:the )?(?P<company>{_COMPANY})"
)
"""The company of "the front desk of Lindenhof Dental"."""
_SPEAKS: Final = re.compile(
    r"\b(?:assistant|chat ?bot|bot|agent|helper|ai|a\.i\.|language model)\b", re.IGNORECASE
)
_EMPTY: Final = frozenset({
    "helpful", "friendly", "polite", "good", "great", "nice", "kind", "useful", "expert", "professional",
})  # fmt: skip


FOREIGN_ROLE: Final = re.compile(
    r"(?i:^(?:du bist|sie sind|du heißt|sie heißen|dein name ist|eres|usted es|te llamas|tu nombre es"
    r"|actúa como|actúe como"
    r"|tu es|vous êtes|tu t['’]appelles|vous vous appelez|ton nom est|agis comme|sei|você é|je bent"
    r"|jij bent)) (?P<rest>.+)$"
)
_OF_COMPANY: Final = re.compile(
    r"(?:(?P<noun>(?i:service client|servicio al cliente|équipe|equipo|boutique|tienda|hôtel|\w*as+istente?\w*"
    r"|agente?|\w*bot|rece[pc]\w+ist[ae]|réceptionniste|asesora?|conseill\w+|secret\w+|emplead[oa]|employée?|concierge|conserje"
    r"|gerente|vend\w+|operador\w*|support|soporte)) d(?:e |['’])(?:las? |l['’]|los )?"
    r"|(?<=\w )(?:des|der|von|vom|bei|beim|für|del|de la|para|chez|du|della|van) )"
    r"(?P<company>(?:Dr\. )?[A-ZÄÖÜÉ][\w'’&-]*(?: (?:(?:Dr|St)\. )?[A-ZÄÖÜÉ][\w'’&-]*)*)"
)
_NAMED_ELSEWHERE: Final = re.compile(
    r"\b(?:namens|nommée?|appelée?|llamad[oa]) (?P<name>[A-ZÄÖÜÉ][\w'’-]*(?: [A-ZÄÖÜÉ][\w'’-]*)*)"
)
_MOST_WORK_WORDS: Final = 5
_AT_HOME: Final = re.compile(r"\b(?:aus|à|en|in|a) (?P<home>[A-ZÄÖÜÉ][\w'’-]+)")


@dataclass(frozen=True)
class Speaker:
    """Facts of the speaker, by the names of the bank (`gatt/data/bank/speaker.yaml`)."""

    facts: Mapping[str, tuple[str, ...]]
    titles: tuple[str, ...] = ()
    """What the speaker may call itself though it sounds like a machine."""
    left: str = ""
    """What of the clause gives no fact."""

    @property
    def role(self) -> dict[str, object]:
        """The verifier that no reply may fail: another name or company, or stepping out of the role."""
        names = {"names": self.facts.get("name"), "companies": self.facts.get("company")}
        rule = {key: list(some) for key, some in names.items() if some}
        return {"kind": "role", **rule, **({"titles": list(self.titles)} if self.titles else {})}


def speaker_of(clause: str) -> Speaker | None:
    """Return what a clause says of the speaker, such as "You are Mia, the assistant of Bergfreund, a shop.".

    None where it says no name, company, home, age or trade. "A helpful assistant" is none of them.
    """
    text = clause.strip().rstrip(".!;")
    facts: dict[str, tuple[str, ...]] = {}
    if works := _WORKS_FOR.match(text):
        company, rest = works["company"], works["rest"]
        if inner := _INNER.match(company):
            company, rest = inner["company"], company[inner.end() :] + rest
        bare = re.sub(r"^(?:the|an?|our) ", "", company)
        facts["company"] = tuple(dict.fromkeys((re.sub("^our ", "the ", company), bare)))
    elif role := _ROLE.match(text):
        rest = role["rest"]
    elif role := FOREIGN_ROLE.match(text):
        return _of_foreign(role["rest"])
    else:
        return None
    left = rest

    def take(pattern: re.Pattern[str], fact: str) -> None:
        nonlocal left
        match = pattern.search(left)
        value = next((v for v in match.groupdict().values() if v), "") if match else ""
        if match and value and fact not in facts:
            facts[fact] = (value.strip(),)
            left = f"{left[: match.start()]} {left[match.end() :]}"

    take(_FIRST_NAME, "name")
    take(_NAMED, "name")
    take(_AGE, "age")
    if not _DESK.search(text):
        take(_FROM_COMPANY, "company")
    work = _WORK.search(left)
    take(_WORK, "work")
    place = _AT.search(left)
    if place and (not place[0].startswith("of ") or _SERVES.search(text)):
        take(_AT, "company")
    if _DESK.search(text):
        take(_FROM_ANY, "company")
    take(_FROM, "home")
    if "company" in facts:
        take(_IN_TOWN, "home")
        take(_KIND, "business")
        if re.fullmatch(_A_HOUSE, facts.get("work", ("",))[0]):
            facts["business"] = facts.pop("work")
    titles = tuple(dict.fromkeys(one.lower() for one in _SPEAKS.findall(text)))
    if "work" in facts:
        trade = facts["work"][0]
        bare = re.sub(r"^(?:the|an?|our) ", "", trade)
        words = set(bare.lower().split())
        if words - _EMPTY - set(titles) or "company" in facts:
            company = facts.get("company", ("",))[0]
            whole = re.sub(r"^our ", "the ", trade)
            named = (
                (f"{whole} of {company}",) if company and trade.startswith(("the", "our")) else ()
            )
            short = (whole.partition(" of ")[0], bare, bare.partition(" of ")[0])
            facts["work"] = tuple(dict.fromkeys((*named, whole, *short)))
        else:
            # "a helpful assistant": nothing that anybody would ask for.
            del facts["work"]
            left = f"{work[0] if work else ''} {left}"
    if "business" in facts:
        kind = facts["business"][0]
        facts["business"] = (kind, re.sub(r"^an? ", "", kind))
    else:
        left = re.sub(r"\b(?:an?|the)\b", " ", _SPEAKS.sub(" ", left))
    if not facts:
        return None
    return Speaker(facts, titles, " ".join(re.sub(r"[^\w\s'’-]", " ", left).split()))


def _of_foreign(rest: str) -> Speaker | None:
    """Return name, company and home, which are the same in every language, and few words left as the work."""
    facts: dict[str, tuple[str, ...]] = {}
    for fact, pattern in (
        ("name", _FIRST_NAME),
        ("name", _NAMED_ELSEWHERE),
        ("company", _OF_COMPANY),
        ("home", _AT_HOME),
    ):
        match = pattern.search(rest)
        if match and fact not in facts:
            value = match[fact]
            # "des Möbelhauses Eichwald" is Eichwald, and may be said so.
            facts[fact] = tuple(
                dict.fromkeys((value, value.rpartition(" ")[2] if fact == "company" else value))
            )
            noun = match.groupdict().get("noun") or ""
            rest = f"{rest[: match.start()]} {noun} {rest[match.end() :]}"
    left = " ".join(re.sub(r"[^\w\s'’-]", " ", rest).split())
    if facts and 0 < len(left.split()) <= _MOST_WORK_WORDS:
        # Without its article as well.
        facts["work"] = tuple(
            dict.fromkeys((left, re.sub(r"^(?:\w{2,3} |eine |\w['’])", "", left)))
        )
        left = ""
    return Speaker(facts, (), left) if facts else None
