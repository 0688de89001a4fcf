"""What a reply says of its speaker against the facts of a persona: "My name is Sara", not Tom.

English only, and in the first person only. A claim counts as one if its form leaves little
doubt: a name by an introduction, an age with "years old" or at the end of a clause, a home by
"I live in" and a known city, a work by "I am a" and a known occupation. What is neither said
nor denied contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gatt.errors import VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.verifiers.persona.own_life import WORKS_IN
from gatt.verifiers.phrases import read_phrases, word_set
from gatt.verifiers.text.folding import fold, fold_text

FACTS = ("name", "age", "city", "work")
_FIRST_NAMES = word_set("persons", "first_names")
_CITIES: tuple[str, ...] = tuple(read_phrases("persons")["cities"])
_OCCUPATIONS: list[list[str]] = read_phrases("persons")["occupations"]
_NO_WORK = word_set("persons", "no_work")
_DEEDS = [(one["of"], re.compile(one["deed"])) for one in read_phrases("persons")["deeds"]]

# Every claim has one of these; most replies to a role have, most others have not.
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]m|my|me|this is|here in|love|best|regards|yours|sincerely|cheers)\b|[-–—]",
    re.IGNORECASE,
)
_I_AM = r"\b[Ii](?: am|['’]m)"
_MY_NAME = r"\b[Mm]y name(?: is|['’]s)"
_NOT = r"(?: not|n['’]t| never)(?: really| actually)?"
# "When I am 60", "I feel like I am a doctor": no claim about now.
_SUPPOSED = re.compile(
    r"\b(?:when|whenever|until|till|before|by the time|if|once|after|since|like|pretend(?:ing)?"
    r"|imagine|think|thinks|says?|said|wish|dream(?:ed|t)?|suppose|as though)"
    r"(?: that)? $",
    re.IGNORECASE,
)
_TITLES = frozenset({
    "the", "of", "a", "an", "and", "i", "ii", "iii", "jr", "sr", "st", "dr", "mr", "mrs", "ms",
    "miss", "sir", "lady", "lord", "king", "queen", "great", "general", "emperor", "president",
    "captain", "saint",
})  # fmt: skip

_PROPER = r"(?P<said>[^\W\d_a-z][\w'’.-]*(?: [^\W\d_a-z][\w'’.-]*){0,3})"
_NAMED = re.compile(
    r"(?i:\bmy name(?:['’]s| is|, is)|\bi(?: am|['’]m) (?:called|named))"
    r"(?i: (?:just|simply|actually|still|and always will be))?[ ,:]+[\"“*_]*"
    + rf"(?:{_PROPER}|(?P<small>[a-z]+))"
)
_CALLED = re.compile(
    rf"(?:(?i:\bcall me|\bcalls? me|\bthis is|, it['’]s) |{_I_AM} )[\"“*_]*"
    rf"{_PROPER}(?=[\"”*_]*(?:[.,!;:?\n]|$| (?:and|from|of|here|speaking|the|your)\b))"
)
# "I'm Raymond, I fix elevators", "I'm Hemi, a school psychologist"; not "I'm French, and proud of it".
_PRESENTED = re.compile(
    rf"{_I_AM} {_PROPER}(?<!ish)(?<!ese)(?<!an)(?<!ench)(?<!ic)(?<!eek)(?<!ss)"
    r"(?=, (?:I|I['’]m|an?|the|from|your)\b)"
)
_SIGNED = re.compile(
    rf"(?:\n[ ]*[-–—]+|(?i:\b(?:yours|love|best|regards|sincerely|cheers)),)\s*{_PROPER}\s*\Z"
)

_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {
    **{word: 1 + n for n, word in enumerate(_UNITS)},
    **{word: 10 + n for n, word in enumerate(_TEENS)},
    **{word: 20 + 10 * n for n, word in enumerate(_TENS)},
}
_NUMBER = (
    rf"(?P<said>\d{{1,3}}|(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS)}))?|{'|'.join(_TEENS)})"
)
_AGED = re.compile(
    rf"{_I_AM} (?:now |only |just |already )?{_NUMBER}"
    r"(?: years? (?:old|young|of age)\b|[- ]years?[- ]old\b"
    r"|(?=[.!;:)]|,(?! \d)|$|\n| (?:and (?:i|my|a|still)|now|but|today|this year)\b))"
    rf"|\b(?:my age is|[Ii] (?:just|recently) turned) {_NUMBER.replace('said', 'other')}"
    # "I'm Olga, 30, and I sew."
    rf"|(?:{_I_AM}|{_MY_NAME}) (?-i:[^\W\d_a-z]\w*), (?:aged? )?{_NUMBER.replace('said', 'beside')}"
    r"(?=,(?! \d)|[.!;)]| and\b| years?\b|$)",
    re.IGNORECASE,
)

_ADVERBS = r"(?: (?:now|happily|still|currently|right|here|actually|only))*"
_SCENE = (
    r"(?:(?:the (?:heart|middle|centre|center|outskirts|suburbs?|city) of|beautiful|sunny|downtown"
    r"|central|rainy|busy|an? (?:\w+ )?(?:flat|house|apartment|studio|cottage) in) )?"
)
_LIVES = (
    rf"(?:\b(?:[Ii]|[Ww]e){_ADVERBS} (?:live|reside|work){_ADVERBS} in"
    rf"|{_I_AM}{_ADVERBS} (?:living|based|working|residing){_ADVERBS} in"
    r"|\b[Mm]y (?:home|home ?town|city) is(?: in)?)"
)
_COMES = (
    rf"(?:{_I_AM}(?:{_ADVERBS}| an? [\w -]{{1,30}}| [A-Z]\w+(?:, \w[\w -]{{0,20}},)?) from"
    r"|\b[Ii] (?:come|hail) from|\b[Hh]ere in)"
)

_JOB = re.compile(
    rf"(?:{_I_AM}{_ADVERBS}|{_I_AM} (?-i:[^\W\d_a-z]\w*(?: [^\W\d_a-z]\w*)?),"
    rf"|\b[Ii](?:['’]ve been| have been)?{_ADVERBS} (?:work|working) as"
    r"|\b[Mm]y job is (?:being|as)|\b[Ii] earn my living as|\b[Mm]y profession is being"
    rf"|{_MY_NAME} (?-i:[^\W\d_a-z]\w*(?: [^\W\d_a-z]\w*)?),)"
    r" an? (?P<said>(?:(?!(?:of|for|at|in|on|who|and|with|to|from|by)\b)[\w-]+ ){0,3}?"
    rf"(?:{'|'.join(sorted((w for line in _OCCUPATIONS for w in line), key=len, reverse=True))}))"
    r"\b(?!['’]s\b| (?:of|at heart|fan|friend)\b|-)",
    re.IGNORECASE,
)
# "I'm a handyman in Dakar": by its ending a work, which may be none.
_PERHAPS_JOB = re.compile(
    rf"(?:{_I_AM}{_ADVERBS}|(?:{_I_AM}|{_MY_NAME}) (?-i:[^\W\d_a-z]\w*),) an? "
    r"(?P<said>(?:(?!of\b|for\b)[\w-]+ ){0,2}?"
    r"[\w-]{2,}(?:man|woman|person|smith|wright|ist|[a-z]ian|er|or))"
    r"(?=[.!,;\n]|$| (?:in|from|at|near|by|here|and (?:i|my))\b)",
    re.IGNORECASE,
)
_STEM = 4
_JOBLESS = re.compile(
    rf"(?:{_I_AM}{_ADVERBS} (?:retired|unemployed|jobless|out of work|between jobs)\b"
    r"|\b[Ii] (?:do not|don['’]t) (?:have|do) (?:a |any )?(?:job|work)\b)",
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A first-person claim that is another than the persona's."""

    fact: str
    """`name`, `age`, `city` or `work`."""
    span: tuple[int, int]
    """Where it stands: [start, end) in characters."""


class PersonaFacts:
    """The facts of one persona, and what contradicts them.

    Args:
        kind: of the verifier that was given them, for messages.
        facts: any of `name`, `age`, `city`, `work`; an age is a whole number, also as a text.
        terms: what else the persona calls its own; nobody contradicts himself with these.

    Raises:
        VerifierError: no mapping, an unknown fact, a blank one, or an age that is no number.
    """

    def __init__(self, kind: str, facts: Mapping[str, Any], terms: Sequence[str]) -> None:
        if not isinstance(facts, Mapping):
            raise VerifierError(
                f"verifier {kind!r}: 'facts' is {facts!r}: expected an object with any of "
                f"{', '.join(FACTS)}"
            )
        for key, value in facts.items():
            if key not in FACTS:
                hint = did_you_mean(key, FACTS)
                raise VerifierError(
                    f"verifier {kind!r}: unknown fact {key!r}{hint} (known: {', '.join(FACTS)})"
                )
            if not str(value).strip() or isinstance(value, bool):
                raise VerifierError(
                    f"verifier {kind!r}: fact {key!r} is {value!r}: expected a text"
                )
        age = facts.get("age")
        if age is not None and not re.fullmatch(r"\d{1,3}", str(age)):
            raise VerifierError(
                f"verifier {kind!r}: fact 'age' is {age!r}: expected a whole number of years"
            )
        self._age = None if age is None else int(age)
        self._name = str(facts.get("name") or "")
        self._city = str(facts.get("city") or "")
        self._work = str(facts.get("work") or "")
        self._terms = tuple(fold_text(term) for term in terms)
        self._names = _name_words(self._name, *(t for t in terms if t[:1].isupper()))
        self._rules: list[tuple[str, Callable[[str], Iterator[tuple[int, int]]]]] = [
            (fact, rule)
            for fact, rule in (
                ("name", self._other_names),
                ("age", self._other_ages),
                ("city", self._other_homes),
                ("work", self._other_works),
            )
            if facts.get(fact) is not None
        ]

    def contradiction(self, reply: str) -> Contradiction | None:
        """Return the first claim, fact by fact, that is not the persona's; None if there is none.

        Args:
            reply: the text, without the first person of those whom it quotes.
        """
        if not self._rules or not _FIRST_PERSON.search(reply):
            return None
        for fact, regex in self._denials:
            denied = regex.search(reply)
            if denied:
                return Contradiction(fact, denied.span())
        for fact, rule in self._rules:
            for start, end in rule(reply):
                if not _SUPPOSED.search(reply[:start]):
                    return Contradiction(fact, (start, end))
        return None

    def perhaps_other_work(self, reply: str) -> tuple[int, int] | None:
        """Return where a reply claims a work, by the form of a word or a deed, that may not be the persona's.

        Args:
            reply: the text, without the first person of those whom it quotes.
        """
        if not self._work:
            return None
        own = self._own_works()
        for found in _PERHAPS_JOB.finditer(reply):
            said = re.split("[ -]", fold_text(found["said"]))
            # "A carpet seller" deals in carpets.
            is_own = any(word[:_STEM] == work[:_STEM] for word in said for work in own)
            if said[-1] not in _NO_WORK and not is_own:
                return found.span()
        folded = fold(reply)
        for line, deed in _DEEDS:
            claimed = deed.search(folded.text)
            if claimed and own.isdisjoint(line) and not any(w in self._work for w in line):
                return folded.span(*claimed.span())
        return None

    def _own_works(self) -> set[str]:
        """Return the persona's work, its words, its terms and what others may call the same work."""
        own = fold_text(self._work)
        known = {own, *own.split(), *self._terms}
        return known | {word for line in _OCCUPATIONS if known.intersection(line) for word in line}

    @cached_property
    def _denials(self) -> list[tuple[str, re.Pattern[str]]]:
        """The patterns of this persona, compiled at first use: a run uses few of a catalogue's."""
        return list(self._denied())

    def _denied(self) -> Iterator[tuple[str, re.Pattern[str]]]:
        name, city, work = map(re.escape, (self._name, self._city, self._work))
        no = r"(?:do not|don['’]t|never|no longer|did not|didn['’]t)"
        if self._name:
            yield "name", re.compile(rf"\bmy name (?:is not|isn['’]t) {name}\b", re.IGNORECASE)
        if self._city:
            yield (
                "city",
                re.compile(
                    rf"\bI (?:{no} (?:live|come|work) (?:in|from)|(?:have|['’]ve) never been (?:to|in))"
                    rf" {city}\b|{_I_AM}{_NOT} (?:from|in|living in|based in) {city}\b",
                    re.IGNORECASE,
                ),
            )
        if self._work:
            yield (
                "work",
                re.compile(
                    rf"\bI (?:{no} work as|(?:have|['’]ve) never been|was never) an? {work}\b"
                    rf"|{_I_AM}(?: not| no| no longer) (?:an? )?{work}\b",
                    re.IGNORECASE,
                ),
            )
        if self._age is not None:
            yield "age", re.compile(rf"{_I_AM}{_NOT} {self._age}\b(?! (?:minutes|hours|days|km))")

    def _other_names(self, reply: str) -> Iterator[tuple[int, int]]:
        for found in _NAMED.finditer(reply):
            said = found["said"] or found["small"]
            if found["small"] and fold_text(said) not in _FIRST_NAMES:
                continue
            if self._names.isdisjoint(_name_words(said)):
                yield found.span()
        for found in _PRESENTED.finditer(reply):
            if self._names.isdisjoint(_name_words(found["said"])):
                yield found.span()
        for regex in (_CALLED, _SIGNED):
            for found in regex.finditer(reply):
                said_words = _name_words(found["said"])
                if not _FIRST_NAMES.isdisjoint(said_words) and self._names.isdisjoint(said_words):
                    yield found.span()

    def _other_ages(self, reply: str) -> Iterator[tuple[int, int]]:
        for found in _AGED.finditer(reply):
            if _number(found["said"] or found["other"] or found["beside"]) != self._age:
                yield found.span()

    def _other_homes(self, reply: str) -> Iterator[tuple[int, int]]:
        own = fold_text(self._city)
        folded = fold_text(reply)
        for found in _HOMES.finditer(reply):
            said = fold_text(found["said"])
            is_known = own in said or any(said in term for term in self._terms)
            # "I am from London, but Lisbon is my home."
            is_only_origin = not found["lives"] and own in folded
            if not is_known and not is_only_origin:
                yield found.span()

    def _other_works(self, reply: str) -> Iterator[tuple[int, int]]:
        for found in _JOBLESS.finditer(reply):
            yield found.span()
        if found_field := WORKS_IN.search(fold_text(reply)):
            yield found_field.span()
        own = self._own_works()
        for found in _JOB.finditer(reply):
            said = fold_text(found["said"])
            is_own = any(said == work or said.endswith(f" {work}") for work in own)
            if not is_own and own.isdisjoint(said.split()):
                yield found.span()


_HOMES = re.compile(
    rf"(?:(?P<lives>{_LIVES})|{_COMES}) {_SCENE}"
    rf"(?P<said>{'|'.join(sorted(_CITIES, key=len, reverse=True))})\b(?!['’]s\b)"
)


def _name_words(*names: str) -> set[str]:
    folded = (fold_text(name).replace("'s", "").replace(".", " ") for name in names)
    return {word for name in folded for word in re.findall(r"[^\W_]+", name)} - _TITLES


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    return sum(_NUMBERS[word] for word in re.split(r"[ -]", text.lower()))
