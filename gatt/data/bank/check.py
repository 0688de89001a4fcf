"""The checks of the bank by `gatt catalog check`, so that each question can tell right from wrong replies.

- A question, and the message that asks for a told fact, does not hold its own answer: a copy of it would
  pass. In `choice` and `yes_no` the options stand in the question by nature; the wrong one is in `none_of`.
- The plain reply holds a right answer and no wrong one, and no right answer is matched as a wrong one.
- No message stands twice in the bank.
- Training, validation and evaluation all have rows of each kind and of each fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from gatt.data.bank.read import FOLDER, Bank, Question, Told, load_bank
from gatt.data.hash_split import PARTS, partition
from gatt.verifiers.text.folding import fold_text
from gatt.verifiers.text.matching import TermMatcher

ANSWER_IN_QUESTION: Final = ("choice", "yes_no")
MOST_WORDS: Final = 25
"""Of a plain reply: longer ones are no short answers."""


def check_bank(folder: Path = FOLDER) -> list[str]:
    """Return what is wrong with the bank of a folder, as `row: what`.

    Raises:
        CatalogError: a file or a row cannot be read.
    """
    bank = load_bank(folder)
    problems = [f"{row.id}: {what}" for row in bank.questions for what in _check_question(row)]
    problems += [f"{row.id}: {what}" for row in bank.told for what in _check_told(row)]
    problems += _doubles(bank)
    return [*problems, *_missing_in_parts(bank)]


def _check_question(row: Question) -> Iterator[str]:
    right, wrong = TermMatcher(row.any_of), TermMatcher(row.none_of)
    if row.kind in ANSWER_IN_QUESTION:
        if not row.none_of:
            yield "no wrong answer: expected the other option in not_words or none_of"
    else:
        yield from _standing_in("ask", row.ask, right)
    yield from _check_reply(row.reply, right, wrong)
    yield from _clashes(row, right, wrong)


def _check_told(row: Told) -> Iterator[str]:
    right, wrong = TermMatcher(row.any_of), TermMatcher(row.none_of)
    yield from _standing_in("ask", row.ask, right)
    if right.first(row.tell) is None:
        yield f"tell {row.tell!r} does not tell the answer: expected one of {right}"
    yield from _check_reply(row.reply, right, wrong)
    yield from _clashes(row, right, wrong)


def _standing_in(name: str, text: str, right: TermMatcher) -> Iterator[str]:
    if hit := right.first(text):
        yield f"{name} {text!r} holds the answer {hit.text!r}: a copy of it would pass"


def _check_reply(reply: str, right: TermMatcher, wrong: TermMatcher) -> Iterator[str]:
    if right.first(reply) is None:
        yield f"reply {reply!r} holds no right answer: expected one of {right}"
    if hit := wrong.first(reply):
        yield f"reply {reply!r} holds the wrong answer {hit.text!r}"
    if len(reply.split()) > MOST_WORDS:
        yield f"reply {reply!r}: expected at most {MOST_WORDS} words"


def _clashes(row: Question | Told, right: TermMatcher, wrong: TermMatcher) -> Iterator[str]:
    """Yield the right answers that count as wrong, and the other way round."""
    for text in row.any_of if row.none_of else ():
        if wrong.first(text):
            yield f"the right answer {text!r} counts as a wrong one"
    # Texts such as "não sei" are wrong although they hold a right word.
    for text in row.none_of:
        if " " not in text and right.first(text):
            yield f"the wrong answer {text!r} counts as a right one"


def _doubles(bank: Bank) -> Iterator[str]:
    messages = [(question.id, question.ask) for question in bank.questions]
    messages += [(asked.id, asked.ask) for asked in bank.speaker]
    messages += [pair for row in bank.told for pair in ((row.id, row.tell), (row.id, row.ask))]
    messages += [(row.id, row.say) for row in bank.small_talk]
    seen: dict[str, str] = {}
    for row_id, message in messages:
        folded = " ".join(fold_text(message).split()).rstrip("?!. ")
        if first := seen.get(folded):
            yield f"{row_id}: {message!r} already stands in {first}"
        seen.setdefault(folded, row_id)


def _missing_in_parts(bank: Bank) -> Iterator[str]:
    groups: dict[str, set[str]] = {}
    rows: Iterable[tuple[str, str]] = (
        *((row.id, row.kind) for row in bank.questions),
        *((row.id, row.kind) for row in bank.small_talk),
        *((row.id, "told") for row in bank.told),
        *((row.id, f"speaker {row.fact}, {row.language}") for row in bank.speaker),
    )
    for row_id, group in rows:
        groups.setdefault(group, set()).add(partition(row_id))
    for group, parts in groups.items():
        for part in PARTS:
            if part not in parts:
                yield f"{group}: no row falls into the part {part!r}: expected one; add or rename rows"
