"""The file of rows, and what came of the samples on the way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from gatt.commands.rows.formats import RowMaker
from gatt.commands.rows.targets import targets_of
from gatt.errors import TrainingError
from gatt.runs.atomic_file import atomic_stream
from gatt.train.config import TrainConfig
from gatt.train.data.drop_counts import Dropped
from gatt.train.data.samples import read_all_samples


@dataclass
class Written:
    """How much a file of rows holds."""

    num_rows: int = 0
    num_targets: int = 0
    num_supervised_tokens: int = 0
    num_tokens: int = 0
    """Of the longest prompt with its target."""

    def summary(self, dropped: Dropped) -> str:
        """Return one line on it."""
        return (
            f"{self.num_rows} rows, {self.num_targets} targets with {self.num_supervised_tokens} tokens; "
            f"{dropped.counts.total()} left out{dropped.as_text()}"
        )


def write_rows(path: Path, maker: RowMaker, config: TrainConfig, dropped: Dropped) -> Written:
    """Write the rows of the samples of a run, whole or not at all; return how much they hold.

    Raises:
        DataError: a file of samples cannot be read.
        TemplateError: see `targets_of`.
        TrainingError: no target can be written.
        StoreError: the file cannot be written.
    """
    written = Written()
    samples = read_all_samples(config.samples, dropped.add_line)
    with atomic_stream(path) as stream:
        for targets in targets_of(samples, maker.tokenizer, config, dropped):
            usable = maker.usable(targets, dropped)
            for row in maker.rows(usable):
                stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                written.num_rows += 1
            for target in usable:
                written.num_targets += 1
                written.num_supervised_tokens += len(target.ids)
                num_tokens = len(target.prompt_ids) + len(target.ids)
                written.num_tokens = max(written.num_tokens, num_tokens)
        if not written.num_rows:
            raise TrainingError(
                f"no row for {maker.format}{dropped.as_text()}: loosen what drops them, or use another "
                "--format"
            )
    return written
