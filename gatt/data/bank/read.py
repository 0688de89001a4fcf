"""The bank of turns: what a user may say, a plain reply to it, and which answers are right. No torch here.

Six files of this folder hold it, each a mapping of names to rows:

- `questions.yaml`: by kind. `ask`, `reply`, and the right answers in one or more of these forms:
  `number: 8` (digits, and the words of `number_words.yaml`), `words: [cold]` (names of `words.yaml`: a word
  in all languages of the catalogue), `sequence: [2, 5, 9]` (in this order, however parted), `says: "yes"`
  (yes or no in all these languages), `any_of: [mice]` (texts as they stand).
  The wrong ones: `not_words: [hot]` (names of `words.yaml`), `none_of: [mouses]`.
- `told.yaml`: `tell`, `tell_reply`, `ask`, `reply`, and the answers in the same forms.
- `small_talk.yaml`: by kind (`small_talk`, `opinion`). `say` and `reply`.
- `speaker.yaml`: by fact. `ask` (a list of wordings) and `reply` (a list; it reveals no fact).
- `speaker_other.yaml`: the same in other languages, by ISO 639-1 code.
- `words.yaml`: by language, words of one meaning; a slash parts those that count alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from gatt.data.bank.answer_forms import AnswerForms
from gatt.data.expectation import Expectation
from gatt.data.hash_split import SplitName, partition
from gatt.errors import CatalogError, ConfigError
from gatt.runs.suggest import did_you_mean
from gatt.runs.values import read_mapping

FOLDER: Final = Path(__file__).parent
QUESTION_KINDS: Final = (
    "numbers",
    "time",
    "geography",
    "opposites",
    "everyday",
    "sorting",
    "sums",
    "spelling",
    "yes_no",
    "choice",
)
SMALL_TALK_KINDS: Final = ("small_talk", "opinion")
ENGLISH: Final = "en"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with a known, short answer."""

    id: str
    """Such as `numbers.spider-legs`."""
    kind: str
    """One of `QUESTION_KINDS`."""
    ask: str
    any_of: tuple[str, ...]
    """Right answers, in the languages of the catalogue where the answer is a word."""
    none_of: tuple[str, ...]
    """Wrong answers."""
    reply: str
    """A plain right reply in English, by somebody who has no instruction."""

    @property
    def expectation(self) -> Expectation:
        """What a reply must hold."""
        return Expectation(any_of=self.any_of, none_of=self.none_of, kind="question")


@dataclass(frozen=True, slots=True)
class Told:
    """A fact that the user tells at one turn and asks for at a later one."""

    id: str
    tell: str
    tell_reply: str
    """A plain reply to `tell`."""
    ask: str
    any_of: tuple[str, ...]
    none_of: tuple[str, ...]
    reply: str
    """A plain right reply to `ask`."""

    @property
    def expectation(self) -> Expectation:
        """What a reply to `ask` must hold."""
        return Expectation(any_of=self.any_of, none_of=self.none_of, kind="told")


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """A message without a known answer, and a plain reply."""

    id: str
    kind: str
    """One of `SMALL_TALK_KINDS`."""
    say: str
    reply: str


@dataclass(frozen=True, slots=True)
class SpeakerQuestion:
    """A question about the one who replies; the instruction has the answer."""

    id: str
    fact: str
    """Such as `name`."""
    ask: str
    reply: str
    """A plain reply that reveals no fact."""
    language: str = ENGLISH
    """Of both, an ISO 639-1 code."""

    def expectation(self, answers: Iterable[str]) -> Expectation:
        """What a reply must hold of a speaker whose fact has these answers."""
        return Expectation(any_of=tuple(answers), kind="speaker", fact=self.fact)


BankRow = TypeVar("BankRow", Question, Told, SmallTalk, SpeakerQuestion)


@dataclass(frozen=True, slots=True)
class Bank:
    """All rows, in the order of the files."""

    questions: tuple[Question, ...]
    told: tuple[Told, ...]
    small_talk: tuple[SmallTalk, ...]
    speaker: tuple[SpeakerQuestion, ...]

    def part(self, part: SplitName) -> Bank:
        """Return the rows of one part: training, validation and evaluation share none."""
        return Bank(
            _of_part(self.questions, part),
            _of_part(self.told, part),
            _of_part(self.small_talk, part),
            _of_part(self.speaker, part),
        )

    def counts(self) -> str:
        """Return one line on how many rows there are."""
        return (
            f"bank: {len(self.questions)} questions of {len({q.kind for q in self.questions})} kinds, "
            f"{len(self.told)} told facts, {len(self.small_talk)} messages of small talk and opinion, "
            f"{len(self.speaker)} questions about the speaker"
        )


def _of_part(rows: Iterable[BankRow], part: SplitName) -> tuple[BankRow, ...]:
    return tuple(row for row in rows if partition(row.id) == part)


@cache
def load_bank(folder: Path = FOLDER) -> Bank:
    """Return the bank of a folder; the same value at every call.

    Raises:
        CatalogError: a file or a row is broken.
    """
    forms = AnswerForms(_mapping(folder / "words.yaml"), _mapping(folder / "number_words.yaml"))
    return Bank(
        tuple(_questions(folder / "questions.yaml", forms)),
        tuple(_told(folder / "told.yaml", forms)),
        tuple(_small_talk(folder / "small_talk.yaml")),
        tuple(_all_speaker(folder)),
    )


def _questions(path: Path, forms: AnswerForms) -> Iterator[Question]:
    for kind, name, row in _rows(path, QUESTION_KINDS):
        texts = _texts(path, name, row, ("ask", "reply"), AnswerForms.KEYS)
        any_of, none_of = forms.read(f"{path.name} {kind}.{name}", row)
        yield Question(f"{kind}.{name}", kind, texts["ask"], any_of, none_of, texts["reply"])


def _told(path: Path, forms: AnswerForms) -> Iterator[Told]:
    for name, row in _mapping(path).items():
        texts = _texts(path, name, row, ("tell", "tell_reply", "ask", "reply"), AnswerForms.KEYS)
        any_of, none_of = forms.read(f"{path.name} {name}", row)
        yield Told(id=f"told.{name}", any_of=any_of, none_of=none_of, **texts)


def _small_talk(path: Path) -> Iterator[SmallTalk]:
    for kind, name, row in _rows(path, SMALL_TALK_KINDS):
        yield SmallTalk(f"{kind}.{name}", kind, **_texts(path, name, row, ("say", "reply")))


def _all_speaker(folder: Path) -> Iterator[SpeakerQuestion]:
    path = folder / "speaker.yaml"
    yield from _speaker(path.name, _mapping(path), ENGLISH)
    path = folder / "speaker_other.yaml"
    for language, facts in _mapping(path).items() if path.exists() else ():
        if not isinstance(facts, Mapping):
            raise CatalogError(f"{path.name} {language}: expected facts, as in speaker.yaml")
        yield from _speaker(f"{path.name} {language}", facts, language)


def _speaker(place: str, facts: Mapping[str, Any], language: str) -> Iterator[SpeakerQuestion]:
    """Yield each wording with one of the plain replies of its fact; ids are made of the wordings."""
    for fact, row in facts.items():
        if not isinstance(row, Mapping) or set(row) != {"ask", "reply"}:
            raise CatalogError(f"{place} {fact}: expected the lists 'ask' and 'reply'")
        for number, ask in enumerate(row["ask"]):
            digest = hashlib.sha256(ask.encode()).hexdigest()[:6]
            reply = row["reply"][number % len(row["reply"])]
            yield SpeakerQuestion(f"speaker.{fact}.{digest}", fact, ask, reply, language)


def _rows(path: Path, kinds: tuple[str, ...]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for kind, rows in _mapping(path).items():
        if kind not in kinds or not isinstance(rows, Mapping):
            raise CatalogError(
                f"{path.name} {kind}: no kind of rows{did_you_mean(kind, kinds)}: expected one of "
                f"{', '.join(kinds)}, each a mapping of names to rows"
            )
        yield from ((kind, name, row) for name, row in rows.items())


def _texts(
    path: Path,
    name: str,
    row: object,
    wanted: tuple[str, ...],
    others: tuple[str, ...] = (),
) -> dict[str, str]:
    if not isinstance(row, Mapping):
        raise CatalogError(
            f"{path.name} {name}: {row!r}: expected a mapping with {', '.join(wanted)}"
        )
    for key in row:
        if key not in (*wanted, *others):
            raise CatalogError(
                f"{path.name} {name}: unknown key {key!r}{did_you_mean(key, (*wanted, *others))}: "
                f"expected some of {', '.join((*wanted, *others))}"
            )
    for key in wanted:
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise CatalogError(f"{path.name} {name}: {key} is {row.get(key)!r}: expected a text")
    return {key: row[key] for key in wanted}


def _mapping(path: Path) -> dict[str, Any]:
    try:
        return read_mapping(path).values
    except ConfigError as error:
        raise CatalogError(str(error)) from None
