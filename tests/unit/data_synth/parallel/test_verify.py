"""Every way a file can be wrong is one line; a sound run has none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data_synth import pipeline
from data_synth.config import SynthConfig
from data_synth.parallel.merge import merge_shards
from data_synth.parallel.verify import VerifyCounts, verify_run
from data_synth.shards.shard import WHOLE, Shard
from gatt.errors import StoreError
from gatt.runs.store import meta_path
from tests.support.runs.synth_runs import make, synth_config

Row = dict[str, Any]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SynthConfig:
    monkeypatch.setattr(pipeline, "provenance", lambda: {"commit": None})
    return synth_config(tmp_path)


def problems(folder: Path, *, recheck: bool = False) -> list[str]:
    return list(verify_run(folder, VerifyCounts(), recheck=recheck))


def test_a_sound_run_has_no_problem(config: SynthConfig) -> None:
    result, _ = make(config)
    counts = VerifyCounts()
    seen: list[int] = []
    assert not list(verify_run(config.output_dir, counts, recheck=True, on_sample=seen.append))
    assert counts == VerifyCounts(1, 10, result.num_targets)
    assert seen == [1] * 10


def test_shards_are_verified_alone_and_joined(config: SynthConfig) -> None:
    for number in (1, 2):
        make(config, Shard(number, 2))
    assert not problems(config.output_dir)
    merge_shards(config.output_dir)
    counts = VerifyCounts()
    assert not list(verify_run(config.output_dir, counts))
    assert (counts.num_files, counts.num_samples) == (3, 20)
    WHOLE.path(config.output_dir).unlink()
    Shard(2, 2).path(config.output_dir).unlink()
    (found,) = problems(config.output_dir)
    assert found.endswith("00002-of-00002.jsonl: missing, expected all 2 shards")


def test_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match="no samples in it: expected an output_dir of `gatt synth`"
    ):
        problems(tmp_path)


def edited(config: SynthConfig, edit: Callable[[list[Row]], object]) -> list[str]:
    """Return the problems once the rows were edited."""
    make(config)
    path = config.output_dir / "samples.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    edit(rows)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return [line.removeprefix(f"{path}").strip() for line in problems(config.output_dir)]


def target(rows: list[Row]) -> Row:
    """Return a turn of the first instructed sample that has a target."""
    turns = (t for r in rows if r["instruction"] for t in r["turns"] if t["reply"])
    return next(turns)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda rows: rows.pop(4), [": 1 of 10 planned samples missing: s000004"]),
        (
            lambda rows: rows.insert(5, rows[4]),
            ["line 6: sample 's000004' stands there twice"],
        ),
        (
            lambda rows: rows.append(rows.pop(0)),
            ["line 10: sample 's000000' stands behind 's000009', expected the order of the plan"],
        ),
        (
            lambda rows: rows[2].update(id="s2"),
            ["line 3: sample 's2': not planned for this file",
             ": 1 of 10 planned samples missing: s000002"],
        ),
        (
            lambda rows: rows[9].update(id="s000010"),
            ["line 10: sample 's000010': not planned for this file",
             ": 1 of 10 planned samples missing: s000009"],
        ),
        (
            lambda rows: rows[0]["provenance"].update(seed=4),
            ["line 1: sample 's000000': seed 4 in its provenance, expected 0"],
        ),
        (
            lambda rows: rows[3].update(id=3),
            ["line 4: sample 3: the id is int: expected a string",
             ": 1 of 10 planned samples missing: s000003"],
        ),
        (
            lambda rows: rows[0].update(provenance=["t"]),
            ["line 1: sample 's000000': provenance is list: expected an object",
             ": 1 of 10 planned samples missing: s000000"],
        ),
        (
            lambda rows: rows[0]["turns"][1].update(refused=["cut"]),
            ["line 1: turn 2: refused is list: expected a string of reasons",
             ": 1 of 10 planned samples missing: s000000"],
        ),
        (
            lambda rows: rows[0].pop("turns"),
            ["line 1: no 'turns': expected a sample written by `gatt synth`",
             ": 1 of 10 planned samples missing: s000000"],
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_rows_is_one_line_each(config, edit, found) -> None:
    assert edited(config, edit) == found


def test_a_folder_in_the_place_of_a_file_is_one_line(config: SynthConfig) -> None:
    result, _ = make(config)
    result.samples.unlink()
    result.samples.mkdir()
    (found,) = problems(config.output_dir)
    assert found == f"{result.samples}: cannot read: Is a directory: expected a file of samples"


def test_a_line_nested_without_end_is_a_problem(config: SynthConfig) -> None:
    result, _ = make(config)
    rows = result.samples.read_bytes().splitlines(keepends=True)
    rows[4] = b"[" * 100_000 + b"]" * 100_000 + b"\n"
    result.samples.write_bytes(b"".join(rows))
    broken, missing = problems(config.output_dir)
    assert "line 5: broken JSON (maximum recursion depth" in broken
    assert missing.endswith("1 of 10 planned samples missing: s000004")


def test_many_missing_samples_are_one_line(config: SynthConfig) -> None:
    assert edited(config, lambda rows: rows.clear()) == [
        ": 10 of 10 planned samples missing: s000000, s000001, s000002, s000003, s000004, s000005, "
        "s000006, s000007 and 2 more"
    ]


def test_verdicts_that_are_none_or_no_pass_are_found(config: SynthConfig) -> None:
    (none,) = edited(config, lambda rows: target(rows).update(verdicts=[]))
    assert none.endswith(": its verdicts are not those of the instruction's verifiers")
    other = replace(config, output_dir=config.output_dir.with_name("other"))
    (failed,) = edited(other, lambda rows: target(rows)["verdicts"][0].update(status="fail"))
    assert failed.endswith(": a target that a verifier did not pass")
    third = replace(config, output_dir=config.output_dir.with_name("third"))
    (old,) = edited(third, lambda rows: target(rows)["verdicts"][0].update(version=0))
    assert old.endswith(": its verdicts are not those of the instruction's verifiers")


def test_verifiers_are_run_again_on_request(config: SynthConfig) -> None:
    assert not edited(config, lambda rows: target(rows).update(reply="We stayed at home."))
    (found,) = problems(config.output_dir, recheck=True)
    assert "verifier 'terms' says fail" in found
    assert "the file says pass" in found


def test_a_verifier_that_is_gone_is_a_problem(config: SynthConfig, monkeypatch) -> None:
    make(config)
    monkeypatch.setattr("gatt.verifiers.table.VERIFIERS", {})
    monkeypatch.setattr("gatt.verifiers.table._build", lambda kind, _: verifier_class(kind))
    from gatt.verifiers.table import verifier_class

    found = problems(config.output_dir, recheck=True)
    assert found
    assert all("unknown verifier kind 'terms'" in line for line in found)


def test_broken_and_torn_lines_are_found(config: SynthConfig) -> None:
    result, _ = make(config)
    rows = result.samples.read_bytes().splitlines(keepends=True)
    result.samples.write_bytes(b"".join([*rows[:3], b"{broken\n", *rows[4:9], rows[9][:40]]))
    broken, torn, missing = problems(config.output_dir)
    assert "line 4: broken JSON" in broken
    assert torn.endswith("line 10: torn: start the same command again, which cuts it off")
    assert missing.endswith("2 of 10 planned samples missing: s000003, s000009")


def test_what_the_files_belong_to_must_agree(config: SynthConfig) -> None:
    make(config, Shard(1, 2))
    make(config, Shard(2, 2))
    other = replace(config, output_dir=config.output_dir.with_name("other"), seed=1)
    make(other, Shard(2, 2))
    path = meta_path(Shard(2, 2).path(config.output_dir))
    path.write_bytes(meta_path(Shard(2, 2).path(other.output_dir)).read_bytes())
    found = problems(config.output_dir)
    assert "fingerprint" in found[0]
    assert found[0].endswith("as in the run's other files")
    assert all("seed 0 in its provenance, expected 1" in line for line in found[1:])
    path.unlink()
    (gone,) = problems(config.output_dir)
    assert "meta.json: missing, expected what `gatt synth` wrote there: copy it from where" in gone
