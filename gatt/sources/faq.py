"""An FAQ as dialogues: the user's questions and what a reply must hold, between small talk.

A CSV file with a header, or JSONL: `question`, `must_contain`, and if need be `must_not_contain` and `answer`
(the reply that stands in the history; without one it is the first text of `must_contain`). Several texts
are a list in JSONL and are parted by `|` in CSV.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, Final

from gatt.data.dialogue import Dialogue
from gatt.data.expectation import Expectation
from gatt.data.hash_split import SplitName
from gatt.errors import DataError
from gatt.runs.input_file import read_text
from gatt.runs.store import parsed_records
from gatt.runs.suggest import did_you_mean
from gatt.sources.base import SourceReport
from gatt.sources.config import DEFAULT_NUM, SourceConfig
from gatt.sources.conversations import Pool, Turn, conversation, identities, written_small_talk

COLUMNS: Final = ("question", "must_contain", "must_not_contain", "answer")
BETWEEN: Final = "|"
"""What parts several texts of a CSV field."""


def read(config: SourceConfig, report: SourceReport, part: SplitName | None) -> Iterator[Dialogue]:
    """Yield dialogues over the questions of a file, as many as the configuration asks for.

    The parts differ in their ids and small talk; the questions are the same, since they are few and the
    user's own. No question is asked again before all others were asked as often.

    Raises:
        ConfigError: more asked turns than the file has questions.
        DataError: with file and line, a row that is no question with an answer.
    """
    questions = read_faq(Path(config.path or "").expanduser())
    num_asked: Counter[str] = Counter()
    for identity, own_part in islice(
        identities("faq", config.seed, part), config.num or DEFAULT_NUM
    ):
        rng = random.Random(identity)
        num_turns = rng.randint(config.min_turns, config.max_turns)
        shuffled = rng.sample(questions, len(questions))
        pool = Pool(
            sorted(shuffled, key=lambda turn: num_asked[turn.say]),
            small_talk=written_small_talk(own_part, rng),
        )
        report.num_read += 1
        dialogue = conversation(identity, pool, config, num_turns, rng)
        num_asked.update({turn.say for turn in questions} & set(dialogue.user_turns))
        yield dialogue


def read_faq(path: Path) -> list[Turn]:
    """Return the questions of a CSV or JSONL file.

    Raises:
        DataError: it cannot be read, has no question, or a broken row; with file and line.
    """
    if path.suffix.lower() == ".csv":
        turns = list(_csv_turns(path))
    else:
        turns = [turn for _, turn in parsed_records(path, lambda _, row: _turn(row), is_whole=True)]
    if not turns:
        raise DataError(f"{path}: no question in it: expected rows with {', '.join(COLUMNS[:2])}")
    return turns


def _csv_turns(path: Path) -> Iterator[Turn]:
    try:
        reader = csv.DictReader(StringIO(read_text(path), newline=""), restkey="more")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}: expected CSV in UTF-8") from None
    for row in reader:
        filled = {name: value for name, value in row.items() if value not in (None, "")}
        for name in COLUMNS[1:3]:
            filled[name] = str(filled.get(name, "")).split(BETWEEN)
        try:
            yield _turn(filled)
        except DataError as error:
            raise DataError(f"{path} line {reader.line_num}: {error}") from None


def _turn(row: object) -> Turn:
    if not isinstance(row, Mapping):
        raise DataError(
            f"found {type(row).__name__}: expected an object with {', '.join(COLUMNS[:2])}"
        )
    for name in row:
        if name not in COLUMNS:
            raise DataError(
                f"the column {name!r} is none{did_you_mean(str(name), COLUMNS)}: expected some of "
                f"{', '.join(COLUMNS)}"
            )
    texts = {name: _texts(row, name) for name in COLUMNS}
    if len(texts["question"]) != 1 or not (texts["must_contain"] or texts["must_not_contain"]):
        raise DataError(
            f"found {dict(row)!r}: expected a question and what its answer must contain"
        )
    reply = [*texts["answer"], *texts["must_contain"], "I am not sure."][0]
    expect = Expectation(tuple(texts["must_contain"]), tuple(texts["must_not_contain"]))
    return Turn(texts["question"][0], reply, expect)


def _texts(row: Mapping[str, Any], name: str) -> list[str]:
    value = row.get(name)
    items = value if isinstance(value, list) else [] if value is None else [value]
    if any(isinstance(item, bool) or not isinstance(item, str | int | float) for item in items):
        raise DataError(f"{name!r} is {value!r}: expected a text or a list of texts")
    return [str(item).strip() for item in items if str(item).strip()]
