"""What a sentence of the user's asks for, part by part, by the rules of `sentences.yaml`. No torch here.

Each part that is understood becomes a rule. A part that is not is named as not judged; where nothing is judged,
there is no rule: that is a judge's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from gatt.commands.init.clauses import clauses
from gatt.commands.init.foreign import CODES, foreign_mention, foreign_never
from gatt.commands.init.forms import json_keys, options
from gatt.commands.init.rule import PartChecks, SentencePart
from gatt.commands.init.speaker import FOREIGN_ROLE, speaker_of
from gatt.commands.init.topics import ask, ask_never, for_user, leave_out, mention, never, only
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec

_DENIED: Final = re.compile(
    r"\b(?:never|not|avoid|without|no|stop|keine?n?|nicht|nie|niemals|ohne|nunca|sin|jamais|sans|pas)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"\b(?:if|when|whenever|unless|until|wenn|falls|cuando|quand)\b|^si\b|^instead\b"
    r"|(?<!at least )(?<!exactly )(?<!only )(?<!just )\bonce\b(?! (?:per|a|in|every)\b)|\bwhere (?:possible"
    r"|needed|useful)\b"
    r"|^(?:\w+ )?ask\b.*\bfirst\b|\bbefore (?!(?:answer|reply|help|respond)ing)\w+ing\b"
    r"|^(?:for anything|in an? emergency)\b|\bdepending on\b"
    r"|\bbefore you (?!(?:answer|reply|help|respond|assist)\b)"
    r"|^(?!end|finish|clos|conclud)\w+ .*\bby asking\b"
    r"|\b(?:bullet\w*|lists?|tables?|emojis?|headings?|code blocks?|viñetas|puces)\b[^.;]* (?:for|para|pour"
    r"|für)\b"
    r"(?! (?:every|each|all|any|your|everything|clarity|readability|me|us|the user|better|easy)\b)",
    re.IGNORECASE,
)
_OF_A_PIECE: Final = (
    r"^(?:and )?each\b|\b<in_a_piece>s?\b(?=.*\b(?:words?|characters?|sentences?|lines?|case)\b)"
    r"|^(?:(?:keep|limit|write) )?(?:<quote>)|^wrap (?:all|any) (?!(?:of )?(?:repl|answer|respon|output|your))"
    r"|^(?:keep|limit|write) (?:the |all )?(?:\w+ )?(?:keywords?|titles?|headings?|names?|keys?|values?"
    r"|comments?|variables?|dates?|functions?|constants?|labels?)\b"
    r"|^(?:explain|justify) (?:it|this|why|your|each)\b"
    r"|\b(?:outside|apart|aside) (?:of|from) (?:the |any )?code\b"
    r"|\b(?:in|to|for|with|per) (?:your |the |all |each |every |any )+(?:code|functions?|class(?:es)?"
    r"|stor(?:y|ies)|recipes?|e-?mails?|events?|products?|dish(?:es)?|suggestions?|findings?|films?|books?|places?|tasks?)\b"
)
"""What says something of a piece of the reply: no rule of whole replies fits."""
_DENIED_ALL: Final = re.compile(
    r"^(?:(?:please|always|and|also|so) )*(?:(?:use|be|have|write|speak) no|never|do not|don['’]t|avoid|no"
    r"|without|use no|no uses?|keine?n?"
    r"|n['’]?utilise[zr]? (?:pas|jamais))\b(?! (?:more|less|fewer|longer)\b)",
    re.IGNORECASE,
)
_WORDS: Final = (
    "one two three four five six seven eight nine ten twelve fifteen twenty thirty fifty"
)
_NUMBERS: Final = {
    **dict(zip(_WORDS.split(), (*range(1, 11), 12, 15, 20, 30, 50), strict=True)),
    **dict.fromkeys(
        ("a", "an", "a single", "ein", "eine", "einem", "einen", "einer", "un", "una", "une"), 1
    ),
    **{"forty": 40, "sixty": 60, "eighty": 80, "hundred": 100},
    **dict(zip(["zwei", "drei", "vier", "fünf", "zehn"], (2, 3, 4, 5, 10), strict=True)),
    **dict(zip(["dos", "tres", "cuatro", "cinco", "diez"], (2, 3, 4, 5, 10), strict=True)),
    **dict(zip(["deux", "trois", "quatre", "cinq", "dix"], (2, 3, 4, 5, 10), strict=True)),
}
_MOST_EXAMPLES: Final = 3


def find_rule(sentence: str) -> PartChecks | None:
    """Return the verifiers of all parts of a sentence, with replies that they judge rightly; None for none.

    Args:
        sentence: what must hold, in English, as the user put it.
    """
    return together(find_parts(sentence))


def find_parts(sentence: str) -> tuple[SentencePart, ...]:
    """Return everything that a sentence asks for, in order; no word of it that asks for something is lost.

    A part is judged by a rule in every reply (a form, a mention, a role that is not left), at turns that ask
    for it (facts of the speaker, what is forbidden), or by nothing.
    """
    catalog, plain = _shipped(), _plain(sentence)
    for entry in catalog.entries:
        if plain in {_plain(text) for text in (*entry.verbose, entry.terse)}:
            return (SentencePart(sentence.rstrip(" ."), PartChecks.of(entry, entry.value)),)
    table = read_table()
    parts = [part for one in clauses(sentence) for part in _parts_of_clause(one, catalog, table)]
    return tuple(_in_language(part) for part in parts) if _is_foreign(parts) else tuple(parts)


_ENGLISH: Final = frozenset({"all", "question_about"})
"""Kinds of rules whose terms and patterns are English here."""
_IN_ANY_LANGUAGE: Final = frozenset({"name", "company", "home", "age"})
"""Facts whose answers are the same in every language."""


def _is_foreign(parts: Sequence[SentencePart]) -> bool:
    specs = [spec for part in parts if part.rule for spec in part.rule.verifiers]
    return any(v.kind == "language" and v.params.get("language") != "en" for v in specs)


def _in_language(part: SentencePart) -> SentencePart:
    """Return a part of a sentence in another language: rules that know only English judge nothing there."""
    rule = part.rule
    if rule is None or any(spec.kind in _ENGLISH for spec in rule.verifiers):
        return SentencePart(part.about)
    facts = rule.facts
    if not FOREIGN_ROLE.match(part.about):
        facts = {fact: some for fact, some in facts.items() if fact in _IN_ANY_LANGUAGE}
    return replace(part, rule=replace(rule, facts=facts))


@cache
def _shipped() -> Catalog:
    return load_catalog()


@cache
def read_table() -> Mapping[str, Any]:
    """Return what `sentences.yaml` and `wordings.yaml` hold."""
    table: dict[str, Any] = {}
    for name in ("sentences.yaml", "wordings.yaml"):
        table |= yaml.safe_load((resources.files(__package__) / name).read_text("utf-8"))
    table["rules"] = [one for rule in table["rules"] for one in _with_denial(rule)]
    return table


def _with_denial(rule: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a rule; one of a `thing` as two: that it is there, and, where it is denied, that it is not."""
    if "thing" not in rule:
        yield rule
        return
    yield {**rule, "about": "{hit}", "verifier": rule["thing"]}
    absent = {"kind": "not", "of": {**rule["thing"], "min": 1}}
    yield {**rule, "about": "no {hit}", "verifier": absent, "denied": True, "obey": "{reply}"}


def together(parts: Sequence[SentencePart]) -> PartChecks | None:
    """Return the rule of all parts that anything judges; None where nothing does."""
    table = read_table()
    rules = [part.rule for part in parts if part.rule]
    if not rules and any(part.asks for part in parts):
        rules = [PartChecks("declines what is forbidden", (ANY_WORDS,), bad=("Yes.",))]
    return _together(rules, tuple(table["general"])) if rules else None


ANY_WORDS: Final = VerifierSpec("words", {"min": 2})
"""Stands in every reply's place where only turns that ask for something are judged."""


def _parts_of_clause(
    clause: str, catalog: Catalog, table: Mapping[str, Any]
) -> Iterator[SentencePart]:
    about = clause.rstrip(" .!;,")
    if rule := ask_never(clause):
        yield SentencePart(about, rule)
        return
    if topic := only(clause, table) or (not _CONDITION.search(clause) and never(clause, table)):
        yield SentencePart(about, None, *topic)
        return
    speaker = speaker_of(clause)
    found_with_spans = list(_rules(clause, catalog, table))
    if speaker and not found_with_spans:
        left = speaker.left if _left_over(speaker.left, (), table) else ""
        tail = r"\W+(?:[\w'’]+\W+){0,2}?".join(map(re.escape, left.split()))
        if left and (rest := re.search(rf"(?<=\w)\W+(?:and )?(?P<left>{tail})$", about)):
            about, left = about[: rest.start()], rest["left"]
        spec = VerifierSpec.from_dict(speaker.role)
        name = speaker.facts.get("name", ("",))[0]
        yield SentencePart(
            about,
            PartChecks(
                f"the role: {', '.join(speaker.facts)}",
                (spec,),
                hint="Answer plainly and usefully, in the first person."
                + (f" Asked who you are, you are {name}." if name else ""),
                bad=_OUT_OF_ROLE,
                facts=speaker.facts,
            ),
        )
        if left:
            yield SentencePart(left)
        return
    if not found_with_spans:
        yield SentencePart(about)
        return
    left = _left_over(clause, [span for _, span in found_with_spans], table)
    for rule, (start, end) in found_with_spans:
        is_whole = len(found_with_spans) == 1 and not left
        yield SentencePart(about if is_whole else clause[start:end].strip(" .!;,"), rule)
    if left:
        yield SentencePart(left)


_OUT_OF_ROLE: Final = (
    "As an AI language model, I cannot be anybody.",
    "I am an AI language model, trained by a company.",
)


def _left_over(clause: str, spans: Sequence[tuple[int, int]], table: Mapping[str, Any]) -> str:
    """Return the words of a clause outside some spans that ask for something; "" for none."""
    kept = [not any(start <= place < end for start, end in spans) for place in range(len(clause))]
    rest = "".join(letter if is_kept else " " for letter, is_kept in zip(clause, kept, strict=True))
    common = set(table["stopwords"].split())
    spelt = re.findall(r"[\w'’-]+", rest)
    asking = [place for place, word in enumerate(spelt) if word.lower() not in common]
    return " ".join(spelt[asking[0] : asking[-1] + 1]) if asking else ""


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).casefold().strip()


def _rules(
    sentence: str, catalog: Catalog, table: Mapping[str, Any]
) -> Iterator[tuple[PartChecks, tuple[int, int]]]:
    """Yield the rule of each thing that a clause asks for, and where the clause says it."""
    quote = table["pieces"]["quote"]
    asked = re.sub(r"(?i)\bask\w*\b[^.;]*? if\b", "", re.sub(quote, "", sentence))
    if _CONDITION.search(asked) or re.search(
        _pattern(_OF_A_PIECE, table["pieces"]), sentence, re.IGNORECASE
    ):
        # A verifier judges every reply, whatever the user said.
        return
    rules = sorted(table["rules"], key=lambda rule: not rule.get("raw"))
    seen: set[str] = set()
    spans: list[tuple[int, int]] = []
    for rule in rules:
        if rule.get("not_with_form") and "form" in seen:
            continue
        match = _search(
            _pattern(rule["match"], table["pieces"]),
            sentence,
            rule.get("denied", False),
            rule.get("form", False),
        )
        if match and rule.get("raw") and "…" in match[0]:
            # Read by another rule before.
            continue
        part = match and _part(rule, match, catalog, table)
        # One thing is judged once: figures before other roles, "at most two" before "two".
        if not match or not part or seen & (kinds := {_thing(spec) for spec in part.verifiers}):
            continue
        start, end = match.span()
        if any(first <= start and end <= last for first, last in spans):
            # Part of what another rule has read.
            continue
        spans.append((start, end))
        seen |= kinds | ({"form"} if rule.get("form") else set())
        yield part, (start, end)
        if rule.get("raw"):
            # What stands in quotation marks is to be said, and asks for nothing.
            given = match.groupdict()
            said = given.get("text") or given.get("single") or ""
            sentence = sentence.replace(said, "…" * len(said)) if said else sentence


def _thing(spec: VerifierSpec) -> str:
    """Return what a rule judges, in a word: one thing is judged once."""
    return f"{spec.kind} {spec.params}" if spec.kind in _OF_MANY_THINGS else spec.kind


_OF_MANY_THINGS: Final = frozenset({"excludes", "markup", "not", "terms"})


def _pattern(text: str, pieces: Mapping[str, str]) -> str:
    return re.sub(r"(?<!\?P)<(\w+)>", lambda piece: pieces[piece[1]], text)


def _search(
    pattern: str, sentence: str, is_denied: bool | str, is_form: bool
) -> re.Match[str] | None:
    """Return the first hit that is denied by a word in front of it, or that none denies.

    "Do not use tables, lists or links" denies every form that it names.
    """
    denies_all = is_form and bool(_DENIED_ALL.match(sentence))
    for match in re.finditer(pattern, sentence, re.IGNORECASE):
        clause = re.split(r"[.,;:!?]| and | but ", sentence[: match.start()])[-1]
        if is_denied == "any" or (denies_all or bool(_DENIED.search(clause))) == is_denied:
            return match
    return None


_MAKERS: Final[
    Mapping[str, Callable[[Mapping[str, str], Mapping[str, Any]], PartChecks | None]]
] = {
    "mention": mention,
    "ask": ask,
    "leave_out": leave_out,
    "json": json_keys,
    "options": options,
    "foreign": foreign_mention,
    "foreign_never": foreign_never,
}
"""Functions that make a rule of the groups of a hit, by the name that `sentences.yaml` gives under `make`."""


def _part(
    rule: Mapping[str, Any], match: re.Match[str], catalog: Catalog, table: Mapping[str, Any]
) -> PartChecks | None:
    """Return what a rule of the table makes of its hit."""
    groups = {key: value.strip() for key, value in match.groupdict().items() if value}
    groups["hit"] = match[0]
    if "make" in rule:
        return _MAKERS[rule["make"]](groups, table)
    groups.setdefault("topic", groups.get("text") or groups.get("single") or "")
    if "entry" in rule:
        return PartChecks.of(catalog.entry(rule["entry"]), match[0])
    for entry in catalog.entries:
        is_named = re.search(rf"\b{re.escape(entry.value)}\b", match[0], re.IGNORECASE)
        if entry.family == rule.get("family") and is_named:
            return PartChecks.of(entry, rule["about"].format(value=entry.value))
    if "verifier" not in rule:
        return None
    groups["code"] = CODES.get(groups.get("value", "").casefold(), "")
    wanted = VerifierSpec("language", {"language": groups["code"]})
    for entry in catalog.entries:
        if entry.verifiers == (wanted,):
            # "auf Deutsch" has the examples of "in German".
            return PartChecks.of(entry, match[0])
    number = groups.get("num", "").casefold()
    if number:
        groups["num"] = str(_NUMBERS.get(number) or int(number))
        groups["below"] = str(int(groups["num"]) - 1)
    least = groups.get("least", "").casefold()
    if least:
        groups["least"] = str(_NUMBERS.get(least) or int(least))
    groups["own_np"] = for_user(groups["np"]) if "np" in groups else "your patience"
    made = _filled({key: rule[key] for key in rule if key not in ("match", "obey")}, groups)
    spec = {key: int(v) if key in ("min", "max") else v for key, v in made["verifier"].items()}
    if spec["kind"] == "ends_with" and groups["topic"][-1:].isalnum():
        # A sentence at the end may have its stop.
        spec["any_of"] = [groups["topic"], f"{groups['topic']}.", f"{groups['topic']}!"]
    obey = _filled(rule.get("obey", "{reply}"), {**groups, "reply": "{reply}"})
    return PartChecks(
        made["about"],
        (VerifierSpec.from_dict(spec),),
        made.get("hint", ""),
        utterances=tuple(made.get("utterances", ())),
        prefills=tuple(made.get("prefills", ())),
        bad=tuple(made.get("bad", ())),
        obey=obey,
    )


def _filled(value: Any, groups: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda name: groups.get(name[1], name[0]), value)
    if isinstance(value, Mapping):
        return {key: _filled(item, groups) for key, item in value.items()}
    return [_filled(item, groups) for item in value] if isinstance(value, list) else value


def _together(parts: Sequence[PartChecks], general: tuple[str, ...]) -> PartChecks:
    """Return the rule of all parts, with replies that all of them, or not all of them, pass."""
    specs = tuple(spec for part in parts for spec in part.verifiers)
    good = tuple(dict.fromkeys((*(text for part in parts for text in part.good), *general)))
    for part in parts:
        good = tuple(
            reply
            if overall(check_all(part.verifiers, reply)) == "pass"
            else part.obey.replace("{reply}", reply)
            for reply in good
        )
    bad = dict.fromkeys((*(text for part in parts for text in part.bad), *general))

    def with_status(replies: Sequence[str], status: str) -> tuple[str, ...]:
        matching = [reply for reply in replies if overall(check_all(specs, reply)) == status]
        return tuple(matching[:_MOST_EXAMPLES])

    programs = [part.program for part in parts if part.program]
    return PartChecks(
        about="; ".join(part.about for part in parts),
        verifiers=specs,
        hint=" ".join(part.hint for part in parts if part.hint),
        utterances=tuple(text for part in parts for text in part.utterances),
        prefills=next((part.prefills for part in parts if part.prefills), ()),
        good=with_status(good, "pass"),
        bad=with_status(list(bad), "fail"),
        facts={fact: some for part in reversed(parts) for fact, some in part.facts.items()},
        # A second one would undo the first; of sentences it is given one.
        program=programs[0]
        if len(programs) == 1 and sum(bool(part.utterances) for part in parts) <= 1
        else "",
    )
