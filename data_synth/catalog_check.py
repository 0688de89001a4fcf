"""What `gatt catalog check` does: every file, entry and verifier against its own examples and junk.

No rule may accept junk, words about a role from outside, or talk about an instruction. Talk is made of
every wording of an entry: the instruction itself, refusals that quote it, promises to follow it and
questions back. Its hint is echoed too, as it is, in part and turned round: that must fail by a verifier, or
be seen as an echo where replies are judged. The texts stand in `gauntlet.yaml`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gatt.data.answers import answers
from gatt.data.bank.read import load_bank
from gatt.data.catalog.ordinary_replies import is_ordinary
from gatt.data.catalog.programs import apply_program
from gatt.data.catalog.read import CONFLICTS_FILE, load_catalog, parse_family, read_files
from gatt.data.expectation import Expectation
from gatt.data.instruction import Entry
from gatt.errors import CatalogError, MissingPackageError, VerifierError
from gatt.verifiers import check_all, overall
from gatt.verifiers.spec import VerifierSpec
from gatt.verifiers.table import all_kinds, verifier_class
from gatt.verifiers.text.echo import echoed
from gatt.verifiers.text.sentences import sentences
from gatt.verifiers.text.words import words

SHOWN_CHARACTERS = 60
NUM_FORMS, NUM_PLAIN = 20, 10
"""Forms that are drawn of an entry with parameters, and plain replies that each of them gets."""
MOST_BY_CHANCE = 0.02
"""Share of plain replies that may have a form unasked, where ordinary replies do not have it."""
MIN_PLAIN_WORDS = 3
_PLAIN = re.compile(r"[A-Z][A-Za-z',-]*(?: [A-Za-z',-]+)* [A-Za-z'-]{3,}[.]")


def check_catalog(place: Path) -> tuple[tuple[Entry, ...], list[str]]:
    """Check the catalogue of one folder or file, and the examples of every verifier kind.

    All good replies of an entry must pass its verifiers together; no bad or junk reply may, nor one
    that only talks about the instruction or echoes its hint. No canned string, echo or copy may count as
    right at a question of the bank or about the speaker. No junk reply may pass the verifiers of a probe.
    Of an entry with parameters the same is checked of drawn forms, and of what its program makes
    (`check_forms`). Wordings are unique over the folder, values within their family.

    Returns:
        The entries that could be read, and the problems as `file entry: what`.

    Raises:
        CatalogError: the folder holds no catalogue file.
    """
    files, broken = read_files(place)
    problems = [f"{path.name} file: {error}" for path, error in broken]
    read: list[tuple[str, Entry]] = []
    for path, raw in files:
        if path.name != CONFLICTS_FILE:
            read += _read_entries(path, raw, problems)
    if not problems:
        try:
            load_catalog(place)
        except CatalogError as error:
            problems.append(f"{place.name} catalogue: {error}")
    problems += find_duplicates(read)
    for file, entry in read:
        problems += [f"{file} {entry.id}: {what}" for what in check_entry(entry)]
    for kind in all_kinds():
        problems += [f"verifiers {kind}: {what}" for what in check_verifier(kind)]
    return tuple(entry for _, entry in read), problems


def check_entry(entry: Entry) -> list[str]:
    """Return what is wrong with the replies and verifiers of one entry."""
    specs = entry.verifiers
    problems = [
        f"no {name!r} reply: expected at least one"
        for name in ("good", "bad")
        # What its program makes of plain replies is checked instead.
        if not getattr(entry, name) and not (name == "good" and entry.program)
    ]
    try:
        problems += _wrong_verdicts(specs, entry.good, entry.bad)
        problems += check_forms(entry)
        right = [(turn, reply) for turn, reply in joint_junk(entry) if turn.is_joint(entry, reply)]
        # "Returns are free within 30 days." holds the answer to one question by chance.
        num_right = Counter(reply for _, reply in right)
        problems += [
            f"reply {_shown(reply)} to {_shown(turn.ask)} counts as right: expected that it does not"
            for turn, reply in right
            if reply not in entry.utterances or num_right[reply] > 1
        ]
        # A role is known by what it says of itself: its talk is judged where it is asked.
        is_asked = bool(entry.facts) or _is_asked_for(entry)
        talk = () if is_asked else talk_about(entry)
        problems += [
            f'{problem}: expected wordings that speak of replies ("in every reply") or verifiers that '
            "such talk fails"
            for problem in _passing(specs, talk, "talk about the instruction")
        ]
        if not is_asked:
            problems += _passing(specs, echoes_unseen(entry), "echo of the hint")
        for probe in entry.probes:
            problems += _passing(probe.verifiers, JUNK, f"probe {probe.question!r}: junk")
    except VerifierError as error:
        # A kind that is not shipped fails on one of the replies.
        problems.append(str(error))
    return problems


def _is_asked_for(entry: Entry) -> bool:
    """Whether every part that anything judges is judged where a message asks for it."""
    judged = [part for part in entry.parts if part.is_judged]
    return bool(judged) and all(part.is_asked_for for part in judged)


def check_forms(entry: Entry) -> list[str]:
    """Return what is wrong with drawn forms of an entry that has a program or parameters.

    What the program makes of plain replies must pass, and hardly a plain reply may pass as it is, unless an
    ordinary reply keeps to the form. Good, bad and junk replies and talk are judged in every drawn form.
    """
    if not (entry.program or entry.variants):
        return []
    of_forms: dict[str, None] = {}
    unasked: list[str] = []
    rng, num_made, num_plain = random.Random(entry.id), 0, 0
    for _ in range(NUM_FORMS if entry.variants else 1):
        form = entry.draw(rng)
        # An only form gets more of them.
        plain = rng.sample(_plain_replies(), NUM_PLAIN if entry.variants else 5 * NUM_PLAIN)
        # Other parts may ask for a sentence beside the form.
        whole = [f"{r} {rng.choice(form.utterances)}" for r in plain] if form.utterances else plain
        made = [
            text for reply in whole if form.program and (text := apply_program(form.program, reply))
        ]
        num_made += len(made)
        problems = _failing(form.verifiers, made, "what the program makes,")
        problems += _wrong_verdicts(form.verifiers, form.good, form.bad)
        problems += _passing(form.verifiers, talk_about(form), "talk about the instruction")
        if not is_ordinary(form.verifiers):
            unasked += _passing(form.verifiers, plain, f"{form.id}: plain reply")
        num_plain += len(plain)
        of_forms |= dict.fromkeys(f"{form.id}: {problem}" for problem in problems)
    # A word that is asked for may stand in a reply by chance.
    if len(unasked) > MOST_BY_CHANCE * num_plain:
        of_forms |= dict.fromkeys(unasked)
    if entry.program and not num_made:
        of_forms["the program makes nothing of any plain reply"] = None
    return list(of_forms)


@cache
def _plain_replies() -> tuple[str, ...]:
    """Return replies of the bank that are sentences: of some words, without digits and single letters."""
    bank = load_bank()
    replies = [row.reply for row in bank.questions]
    replies += [row.reply for row in bank.told]
    replies += [row.reply for row in bank.small_talk]
    return tuple(r for r in replies if _PLAIN.fullmatch(r) and len(words(r)) > MIN_PLAIN_WORDS)


def check_verifier(kind: str) -> list[str]:
    """Return what is wrong with a verifier kind by its own examples and by junk."""
    try:
        sets = verifier_class(kind).examples
        problems = [] if sets else ["no examples: expected at least one set"]
        for examples in sets:
            problems += _wrong_verdicts(
                [VerifierSpec(kind, examples.params)], examples.good, examples.bad
            )
    except MissingPackageError:
        # Whoever uses the kind is told to install it.
        return []
    except VerifierError as error:
        return [f"examples cannot be judged: {error}"]
    return problems


@dataclass(frozen=True)
class AskedTurn:
    """A message at which replies are judged as an evaluation does."""

    ask: str
    expect: Expectation

    def is_joint(self, entry: Entry, reply: str) -> bool:
        """Whether a reply both keeps an instruction, in whichever wording, and answers the message."""
        return overall(check_all(entry.verifiers, reply)) == "pass" and all(
            answers(self.expect, reply, self.ask, instruction=wording).status == "pass"
            for wording in _wordings(entry)
        )


def joint_junk(entry: Entry) -> Iterator[tuple[AskedTurn, str]]:
    """Yield replies that may not count as right, each with the message that it replies to.

    They are: the hint and the wordings said back, one fixed string for all messages (an utterance, a
    beginning, "I am NAME."), the message itself, and words about a role from outside.
    """
    names = entry.facts.get("name", ())
    echoes = _wordings(entry)
    canned = [*CANNED, *entry.utterances, *entry.prefills, *(f"I am {name}." for name in names[:1])]
    canned += [f"I love {hobby}." for hobby in entry.facts.get("hobby", ())[:1]]
    # "I am Mia, your assistant" is right where the role says so.
    roles = (spec for spec in entry.verifiers if spec.kind == "role")
    titles = {str(title) for spec in roles for title in spec.params.get("titles", ())}
    for turn in question_turns():
        yield from ((turn, reply) for reply in (turn.ask, *echoes, *canned))
    for turn in speaker_turns(entry):
        outside = [
            text.format(name=names[0], term=turn.expect.any_of[0])
            for text in (NAME_JUNK if turn.expect.fact == "name" else TERM_JUNK if names else ())
            if titles.isdisjoint(words(text.lower()))
        ]
        if turn.expect.fact == "hobby":
            outside = [text.format(term=turn.expect.any_of[0]) for text in DENIAL_JUNK]
        talk = list(talk_about(entry))
        yield from ((turn, reply) for reply in (turn.ask, *echoes, *CANNED, *outside, *talk))


def _wordings(entry: Entry) -> list[str]:
    return [*filter(None, [entry.hint]), *entry.verbose, entry.terse]


@cache
def question_turns() -> tuple[AskedTurn, ...]:
    """Return one question of the bank of each kind whose answer is not yes, no or one of two."""
    asked = [q for q in load_bank().questions if q.kind not in ("yes_no", "choice")]
    by_kind = {question.kind: question for question in reversed(asked)}
    return tuple(AskedTurn(question.ask, question.expectation) for question in by_kind.values())


def speaker_turns(entry: Entry) -> Iterator[AskedTurn]:
    """Yield a question for each fact of an entry that the bank asks for."""
    for fact, right in entry.facts.items():
        asked = next((question for question in load_bank().speaker if question.fact == fact), None)
        if asked is not None:
            yield AskedTurn(asked.ask, asked.expectation(right))


def echoes_unseen(entry: Entry) -> Iterator[str]:
    """Yield the echoes of an entry's hint that the general rule does not see, so that a verifier has to."""
    if not entry.hint:
        return
    hinted = sentences(entry.hint)
    turned = _TURNED.sub(lambda word: _TURNED_TO[word[0].lower()], entry.hint)
    parts = [
        " ".join(part)
        for spelt in map(str.split, hinted)
        if len(spelt) >= _LONG_HINT_WORDS
        for part in (spelt[: 2 * len(spelt) // 3], spelt[len(spelt) // 3 :])
    ]
    for text in dict.fromkeys((entry.hint, turned, *hinted, *parts)):
        for frame in ECHOES:
            echo = frame.format(hint=text)
            if echoed(echo, entry.hint, wanted=(*entry.utterances, *entry.prefills)) is None:
                yield echo


def find_duplicates(read: Iterable[tuple[str, Entry]]) -> list[str]:
    """Return wordings that stand twice anywhere, and values that stand twice in a family."""
    problems = []
    seen: dict[tuple[str, str], str] = {}
    for file, entry in read:
        wordings = [(f"wording {_shown(t)}", "", t) for t in (*entry.verbose, entry.terse)]
        for shown, family, text in (
            *wordings,
            (f"value {entry.value!r}", entry.family, entry.value),
        ):
            if first := seen.get((family, text.casefold())):
                problems.append(f"{file} {entry.id}: {shown} already stands in {first}")
            seen.setdefault((family, text.casefold()), entry.id)
    return problems


def _read_entries(
    path: Path, raw: dict[str, Any], problems: list[str]
) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a file that can be read; every problem and not only the first is noted."""
    try:
        yield from ((path.name, entry) for entry in parse_family(raw)[2])
        return
    except (CatalogError, VerifierError) as error:
        whole_file = f"{path.name} file: {error}"
    by_error: dict[str, str] = {}
    listed = raw.get("entries")
    for number, item in enumerate(listed if isinstance(listed, list) else [], start=1):
        name = item.get("id") if isinstance(item, dict) else None
        try:
            some = parse_family({**raw, "entries": [item]})[2]
            yield from ((path.name, entry) for entry in some)
        except (CatalogError, VerifierError) as error:
            # What is wrong with the head of the file comes back with every entry.
            by_error.setdefault(str(error), f"{path.name} {name or f'entry {number}'}: {error}")
    problems += by_error.values() or [whole_file]


def _failing(specs: Sequence[VerifierSpec], replies: Iterable[str], what: str) -> list[str]:
    return [
        f"{what} {_shown(reply)} does not pass: {_evidence(specs, reply)}"
        for reply in replies
        if overall(check_all(specs, reply)) != "pass"
    ]


def _wrong_verdicts(
    specs: Sequence[VerifierSpec], good: Sequence[str], bad: Sequence[str]
) -> list[str]:
    failing = _failing(specs, good, "good reply")
    return failing + _passing(specs, bad, "bad reply") + _passing(specs, JUNK, "junk")


def _passing(specs: Sequence[VerifierSpec], replies: Iterable[str], what: str) -> list[str]:
    return [
        f"{what} {_shown(reply)} passes: {_evidence(specs, reply)}"
        for reply in replies
        if overall(check_all(specs, reply)) == "pass"
    ]


def _evidence(specs: Sequence[VerifierSpec], reply: str) -> str:
    verdicts = check_all(specs, reply)
    decisive = [v for v in verdicts if v.status != "pass"] or list(verdicts)
    return "; ".join(f"{v.verifier} says {v.status} ({v.evidence})" for v in decisive)


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…")


_TEXTS = yaml.safe_load(Path(__file__).with_name("gauntlet.yaml").read_text(encoding="utf-8"))
JUNK: tuple[str, ...] = tuple(_TEXTS["junk"])
CANNED: tuple[str, ...] = tuple(_TEXTS["canned"])
NAME_JUNK: tuple[str, ...] = tuple(_TEXTS["name_junk"])
TERM_JUNK: tuple[str, ...] = tuple(_TEXTS["term_junk"])
DENIAL_JUNK: tuple[str, ...] = tuple(_TEXTS["denial_junk"])
QUOTING: tuple[tuple[str, ...], ...] = tuple(map(tuple, _TEXTS["quoting"]))
DOING: tuple[str, ...] = tuple(_TEXTS["doing"])
ECHOES: tuple[str, ...] = tuple(_TEXTS["echoes"])
_LONG_HINT_WORDS = 10
"""Of a sentence that is also echoed in part."""
_TURNED_TO = {"me": "you", "your": "my", "you": "I"}
_TURNED = re.compile(rf"\b(?:{'|'.join(_TURNED_TO)})\b", re.IGNORECASE)
_VERBS = frozenset(_TEXTS["verbs"].split())
_LABEL = re.compile(r"^[\w -]{1,30}: (?P<asked>.+?)[.!]?$", re.DOTALL)


def talk_about(entry: Entry) -> Iterator[str]:
    """Yield the replies that only talk about the instruction of an entry, in all its wordings."""
    for number, wording in enumerate(dict.fromkeys((*entry.verbose, entry.terse))):
        yield wording
        for frames in QUOTING:
            for offset in range(2):
                yield frames[(2 * number + offset) % len(frames)].format(wording=wording)
    asked = _LABEL.match(entry.terse)
    if asked is None:
        return
    deed = asked["asked"]
    if deed.split()[0].lower() not in _VERBS:
        deed = f"mention {deed}"
    for frame in DOING:
        yield frame.format(deed=deed)
