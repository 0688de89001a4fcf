"""The samples of a run, and its rows in its folder."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatt.data.sample import read_all_samples
from gatt.errors import DataError, StoreError, TrainingError
from gatt.train.data import rows as rows_module
from gatt.train.data.kept_rows import FOLDER, REPORT, TrainingRows, rows_of_run
from tests.support.models.built_rows import build, make
from tests.support.models.combs import combs_of
from tests.support.models.tiny import sample, tiny_tokenizer, write_samples

SAMPLES = [sample(1, 3), sample(2, 1), sample(3, 2)]


class Run:
    """A run's folder and its samples."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "out"
        self.samples = folder / "samples.jsonl"
        self.identity: dict[str, Any] = {"samples": ["1"], "max_length": 2048}
        write_samples(self.samples, SAMPLES)

    def rows(self, problem: str | None = None, **changes: Any) -> TrainingRows:
        config = replace(make(**changes), samples=(self.samples,), output_dir=self.folder)
        return rows_of_run(
            config, tiny_tokenizer(), self.folder, self.identity, why_not_packable=problem
        )


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def columns(rows: Any) -> list[Any]:
    return [combs_of(row) for row in rows]


def test_rows_on_disk_are_those_in_memory(run: Run) -> None:
    found = run.rows(gradient_accumulation_steps=4, pack_rows=True)
    rows, report = build(SAMPLES, gradient_accumulation_steps=4, pack_rows=True)
    assert columns(found.rows) == columns(rows)
    assert found.report == report
    assert report.num_rows == 1
    assert all(s.dialogue in found.trained_on for s in SAMPLES)
    assert found.trained_on.entries == frozenset(report.entries)


def test_kept_rows_are_not_made_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run.rows()
    monkeypatch.setattr(rows_module, "combs_of_sample", None)
    again = run.rows()
    assert columns(again.rows) == columns(first.rows)
    assert again.report == first.report
    assert again.trained_on == first.trained_on


def test_what_changes_the_rows_makes_them_anew(run: Run) -> None:
    assert run.rows().report.layout == "comb"
    assert run.rows("its layers look everywhere").report.layout == "expanded"
    run.identity["samples"] = ["2"]
    write_samples(run.samples, SAMPLES[:1])
    assert run.rows().report.num_samples == 1


def test_a_report_that_was_never_written_means_that_rows_are_made(run: Run) -> None:
    run.rows()
    (run.folder / FOLDER / REPORT).unlink()
    (run.folder / FOLDER / "combs.arrow").write_bytes(b"half")
    assert len(run.rows().rows) == len(SAMPLES)


def test_kept_rows_are_refused_where_too_much_was_lost(run: Run) -> None:
    write_samples(run.samples, [*SAMPLES, sample(4, 2, targets=["<|im_end|>", "Oui."])])
    report = run.rows(max_lost_targets=1.0).report
    assert report.num_encoded < report.num_wanted
    with pytest.raises(TrainingError, match="would be lost"):
        run.rows(max_lost_targets=0.0)


def test_a_full_disk_ends_in_one_line_and_leaves_no_rows(run, monkeypatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gatt.train.data.rows.store_combs", full)
    with pytest.raises(StoreError, match=r"combs.arrow: no space left"):
        run.rows()
    assert not (run.folder / FOLDER).exists()


def test_a_number_is_counted_on_until_the_id_is_free(tmp_path: Path) -> None:
    """Samples that were put into one file before have such ids already."""
    first = [sample(1), replace(sample(1), id="s-1.2", provenance={"seed": 1})]
    other = [replace(s, provenance={"seed": 2}) for s in first[::-1]]
    paths = [write_samples(tmp_path / f"{n}.jsonl", s) for n, s in enumerate((first, other))]
    found = [s.id for s in read_all_samples(paths)]
    assert found == ["s-1", "s-1.2", "s-1.2.2", "s-1.3"]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 2, 1], [], r"one sample 3: id 's-1' is that of .*one sample 1"),
        ([1], [1], r"two sample 1: the same as .*one sample 1: "),
    ],
)
def test_samples_that_are_there_twice(tmp_path, first, second, message) -> None:
    files = {"one": first, "two": second}
    paths = [write_samples(tmp_path / n, [sample(i) for i in ids]) for n, ids in files.items()]
    with pytest.raises(DataError, match=message):
        list(read_all_samples(paths))
