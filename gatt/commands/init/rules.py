"""Which verifiers fit a sentence of the user's, by the rules of `sentences.yaml`. No torch here.

A sentence may ask for several things; each part that is understood becomes a verifier. What is not
understood is not judged, and where nothing is, there is no rule: that is a judge's place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import yaml

from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.instruction import Entry
from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec

_DENIED: Final = re.compile(r"\b(?:never|not|avoid|without|no|stop)\b|n['’]t\b", re.IGNORECASE)
_CONDITION: Final = re.compile(r"\b(?:if|when|whenever|unless|until|once)\b", re.IGNORECASE)
_WORDS: Final = (
    "one two three four five six seven eight nine ten twelve fifteen twenty thirty fifty"
)
_NUMBERS: Final = {
    **dict(zip(_WORDS.split(), (*range(1, 11), 12, 15, 20, 30, 50), strict=True)),
    **dict.fromkeys(("a", "an", "a single"), 1),
}
_LONG_KINDS: Final = frozenset({"bullets", "haiku", "lines", "paragraphs", "json_object"})
_LEAST_LONG: Final = {"words": 13, "sentences": 3}
_MOST_EXAMPLES: Final = 3


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
    obey: str = "{reply}"
    """Makes a reply follow it, where words can be added for that."""

    @property
    def is_long(self) -> bool:
        """Whether a reply of one short sentence cannot follow it."""
        return any(
            spec.kind in _LONG_KINDS or spec.params.get("min", 0) >= _LEAST_LONG.get(spec.kind, 99)
            for spec in self.verifiers
        )

    @classmethod
    def of(cls, entry: Entry, about: str) -> Rule:
        """Return the rule of a catalogue entry."""
        names = ("verifiers", "utterances", "prefills", "good", "bad")
        return cls(about, hint=entry.hint or "", **{name: getattr(entry, name) for name in names})


def find_rule(sentence: str) -> Rule | None:
    """Return the verifiers that fit a sentence, with replies that they judge rightly; None for none.

    Args:
        sentence: what must hold, in English, as the user put it.
    """
    catalog = load_catalog()
    known = _plain(sentence)
    for entry in catalog.entries:
        if known in {_plain(text) for text in (*entry.verbose, entry.terse)}:
            return Rule.of(entry, entry.value)
    table = yaml.safe_load((resources.files(__package__) / "sentences.yaml").read_text("utf-8"))
    parts = list(_parts(sentence, catalog, table))
    return _together(parts, tuple(table["general"])) if parts else None


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).casefold().strip()


def _parts(sentence: str, catalog: Catalog, table: Mapping[str, Any]) -> Iterator[Rule]:
    """Yield the rule of each thing that a sentence asks for."""
    quote = table["pieces"]["quote"]
    asked = re.sub(r"(?i)\bask\w*\b[^.;]*? if\b", "", re.sub(quote, "", sentence))
    if _CONDITION.search(asked):
        # A verifier judges every reply, whatever the user said.
        return
    rules = sorted(table["rules"], key=lambda rule: not rule.get("raw"))
    seen: set[str] = set()
    for rule in rules:
        if rule.get("not_with_form") and "form" in seen:
            continue
        match = _search(
            _pattern(rule["match"], table["pieces"]), sentence, rule.get("denied", False)
        )
        part = match and _part(rule, match, catalog)
        # One thing is judged once: figures before other roles, "at most two" before "two".
        if not part or seen & (kinds := {spec.kind for spec in part.verifiers}):
            continue
        seen |= kinds | ({"form"} if rule.get("form") else set())
        yield part
        if rule.get("raw"):
            # What stands in quotation marks is to be said, and asks for nothing.
            sentence = (
                sentence.replace(match["text"] or match["single"], "…") if match else sentence
            )


def _pattern(text: str, pieces: Mapping[str, str]) -> str:
    return re.sub(r"(?<!\?P)<(\w+)>", lambda piece: pieces[piece[1]], text)


def _search(pattern: str, sentence: str, is_denied: bool | str) -> re.Match[str] | None:
    """Return the first hit that is denied by a word in front of it, or that none denies."""
    for match in re.finditer(pattern, sentence, re.IGNORECASE):
        clause = re.split(r"[.,;:!?]| and | but ", sentence[: match.start()])[-1]
        if is_denied == "any" or bool(_DENIED.search(clause)) == is_denied:
            return match
    return None


def _part(rule: Mapping[str, Any], match: re.Match[str], catalog: Catalog) -> Rule | None:
    """Return what a rule of the table makes of its hit."""
    found = {key: value.strip() for key, value in match.groupdict().items() if value}
    found.setdefault("topic", found.get("text") or found.get("single") or "")
    found["hit"] = match[0]
    if "entry" in rule:
        return Rule.of(catalog.entry(rule["entry"]), match[0])
    for entry in catalog.entries:
        is_named = re.search(rf"\b{re.escape(entry.value)}\b", match[0], re.IGNORECASE)
        if entry.family == rule.get("family") and is_named:
            return Rule.of(entry, rule["about"].format(value=entry.value))
    if "verifier" not in rule:
        return None
    number = found.get("num", "").casefold()
    if number:
        found["num"] = str(_NUMBERS.get(number) or int(number))
        found["below"] = str(int(found["num"]) - 1)
    made = _filled({key: rule[key] for key in rule if key not in ("match", "obey")}, found)
    spec = {key: int(v) if key in ("min", "max") else v for key, v in made["verifier"].items()}
    lists = {key: tuple(made.get(key, ())) for key in ("utterances", "prefills", "bad")}
    obey = _filled(rule.get("obey", "{reply}"), {**found, "reply": "{reply}"})
    return Rule(
        made["about"], (VerifierSpec.from_dict(spec),), made.get("hint", ""), **lists, obey=obey
    )


def _filled(value: Any, found: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda name: found.get(name[1], name[0]), value)
    if isinstance(value, Mapping):
        return {key: _filled(item, found) for key, item in value.items()}
    return [_filled(item, found) for item in value] if isinstance(value, list) else value


def _together(parts: Sequence[Rule], general: tuple[str, ...]) -> Rule:
    """Return the rule of all parts, with replies that all of them, or not all of them, pass."""
    specs = tuple(spec for part in parts for spec in part.verifiers)
    good = next((part.good for part in parts if part.good), ()) or general
    for part in parts:
        good = tuple(part.obey.replace("{reply}", reply) for reply in good)
    bad = dict.fromkeys((*general, *(text for part in parts for text in part.bad)))

    def judged(replies: Sequence[str], status: str) -> tuple[str, ...]:
        found = [reply for reply in replies if overall(check_all(specs, reply)) == status]
        return tuple(found[:_MOST_EXAMPLES])

    return Rule(
        about="; ".join(part.about for part in parts),
        verifiers=specs,
        hint=" ".join(part.hint for part in parts if part.hint),
        utterances=tuple(text for part in parts for text in part.utterances),
        prefills=next((part.prefills for part in parts if part.prefills), ()),
        good=judged(good, "pass"),
        bad=judged(list(bad), "fail"),
    )
