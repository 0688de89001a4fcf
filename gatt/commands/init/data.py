"""The dialogues of a start: the user's, those of an FAQ, or the examples. No torch here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from gatt.data.dialogue import Dialogue
from gatt.data.hash_split import partition
from gatt.errors import ConfigError, DataError
from gatt.sources.config import SourceConfig
from gatt.sources.faq import read_faq
from gatt.sources.load import load_dialogues

_MOST_TURNS: Final = 20
_MOST_JUDGED: Final = 10
_MOST_SAMPLES: Final = 200
_SAMPLES_PER_DIALOGUE: Final = 3
_FAQ_TURNS: Final = (6, 8)
_KEPT_SHARE: Final = 0.9


@dataclass(frozen=True)
class Data:
    """Where the dialogues come from, and the numbers of a run that follow from them."""

    source: Literal["jsonl", "faq"]
    path: str
    """As `source.path` takes it."""
    min_turns: int
    max_turns: int
    num_samples: int
    num_eval: int
    """Dialogues for the evaluation."""
    text: str = ""
    """Of `dialogues.jsonl`, where it is written; empty where the user's own file is read."""
    is_example: bool = False

    @property
    def turns(self) -> list[int]:
        """Turns at which replies are judged."""
        if self.is_example:
            return [1, 2, 4, 6]
        return list(range(1, min(self.min_turns, _MOST_JUDGED) + 1))

    def __str__(self) -> str:
        """Return in one line what there is."""
        if self.is_example:
            return "three example dialogues, to be replaced by yours (--from FILE)"
        return (
            f"{self.path}: {self.num_eval} dialogues for evaluation; {self.num_samples} samples of "
            f"{self.min_turns} to {self.max_turns} turns"
        )


def examples() -> Data:
    """Return the three dialogues that show that everything works."""
    text = (resources.files(__package__) / "dialogues.jsonl").read_text(encoding="utf-8")
    return Data("jsonl", "{here}/dialogues.jsonl", 6, 20, 6, 1, text, is_example=True)


def data_of(folder: Path, dialogues: Path | None, faq: Path | None) -> Data:
    """Return the user's data, or the examples where there is none.

    Args:
        folder: of the start.
        dialogues: a file that source `jsonl` reads; with an FAQ as well, one file of both is written.
        faq: a file that source `faq` reads.

    Raises:
        ConfigError: no such file, or too few dialogues for training and evaluation.
        DataError: a file that cannot be read as what it is.
    """
    for option, path in (("--from", dialogues), ("--faq", faq)):
        if path is not None and not path.is_file():
            raise ConfigError(f"{option} {path}: no such file: expected a file that can be read")
    if dialogues is None and faq is None:
        return examples()
    if dialogues is None:
        assert faq is not None
        fewest, most = _FAQ_TURNS
        list(_of_faq(faq))
        return Data("faq", _beside(folder, faq), fewest, most, 60, 12)
    # Without derived expectations: they depend on all dialogues of a file.
    config = SourceConfig(
        name="jsonl", path=str(dialogues), min_turns=1, max_turns=_MOST_TURNS, derive_expect=False
    )
    own, _ = load_dialogues(config, None)
    data = _numbers(own, _beside(folder, dialogues))
    if faq is None:
        return data
    # Nearly every turn asks: small talk stands in the user's own dialogues.
    num_asked = min(_FAQ_TURNS[1] - 1, len(read_faq(faq)))
    both = [*own, *_of_faq(faq, tuple(range(1, num_asked + 1)))]
    text = "".join(json.dumps(one.as_dict(), ensure_ascii=False) + "\n" for one in both)
    merged = _numbers(both, "{here}/dialogues.jsonl")
    return replace(merged, text=text)


def _of_faq(path: Path, asked: tuple[int, ...] | None = None) -> Iterable[Dialogue]:
    fewest, most = _FAQ_TURNS
    config = SourceConfig(
        name="faq", path=str(path), min_turns=fewest, max_turns=most, num=40, asked=asked
    )
    return load_dialogues(config, None)[0]


def _numbers(dialogues: Sequence[Dialogue], path: str) -> Data:
    lengths = sorted((d.num_turns for d in dialogues), reverse=True)
    shortest = lengths[min(len(lengths) - 1, int(_KEPT_SHARE * len(lengths)))]
    long = [d for d in dialogues if d.num_turns >= shortest]
    num = {part: sum(partition(d.id) == part for d in long) for part in ("train", "eval")}
    if not num["train"] or not num["eval"]:
        raise DataError(
            f"{path}: {num['train']} dialogues of at least {shortest} turns for training and {num['eval']} for "
            "evaluation, chosen by a hash of their ids: expected some of both: add dialogues"
        )
    return Data(
        "jsonl",
        path,
        shortest,
        max(min(lengths[0], _MOST_TURNS), shortest),
        min(_MOST_SAMPLES, _SAMPLES_PER_DIALOGUE * num["train"]),
        num["eval"],
    )


def _beside(folder: Path, path: Path) -> str:
    return "{here}/" + Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
