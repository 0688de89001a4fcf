"""Samples as a data set repository: the rows of the JSONL file, typed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datasets import List, Value, load_dataset

from data_synth.card import write_card
from data_synth.config import SynthConfig
from gatt.commands.push import parquet
from gatt.commands.push.config import PushConfig
from gatt.commands.push.features import sample_features
from gatt.commands.push.parquet import write_parquet
from gatt.commands.push.send import push
from gatt.data.instruction import Probe
from gatt.data.sample import GattSample, TurnTarget, read_samples
from gatt.errors import DataError
from gatt.models.base_card import read_card
from gatt.sources import SourceReport
from gatt.verifiers.spec import VerifierSpec
from tests.support.models.tiny import instruction, sample, write_samples
from tests.support.runs.switched import cancel, switched, to

PROVENANCE: dict[str, Any] = {
    "teacher": "org/teacher",
    "adapter": "",
    "sampling": {"max_new_tokens": 32, "temperature": 0.7, "top_p": 0.9},
    "seed": 3,
    "versions": {
        "ghost-attention": "0.1.0", "torch": "2.13.0", "transformers": "5.23.0", "trl": "1.16.0",
        "peft": None, "accelerate": "1.15.0", "datasets": "5.2.0",
    },
    "commit": "abc",
}  # fmt: skip


def samples() -> list[GattSample]:
    verdict = {
        "status": "pass",
        "evidence": "French",
        "verifier": "language",
        "version": 3,
        "span": [0, 4],
    }
    rule = VerifierSpec("language", {"language": "fr"})
    told = replace(
        instruction(),
        verifiers=(rule,),
        probes=(Probe("Who?", (rule,)),),
        hint="Oui",
        prefills=("Je",),
    )
    targets = (
        TurnTarget(1, "Bonjour /home/me/x 🙂", None, "hinted", 3, (verdict,), ("cut", "rejected")),
        TurnTarget(2, None, "rejected", attempts=2),
        TurnTarget(3, "Oui.", kind="sampled", attempts=1),
    )
    rows = [
        replace(sample(1), instruction=told, targets=targets),
        replace(sample(2), instruction=None),
        sample(3, 2),
    ]
    return [replace(row, provenance=PROVENANCE) for row in rows]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder as `gatt synth` leaves it."""
    folder = tmp_path / "synth"
    folder.mkdir()
    path = write_samples(folder / "samples.jsonl", samples())
    config = SynthConfig(output_dir=Path("/home/me/synth"))
    write_card(config, path, SourceReport("chitchat", 5, 3))
    meta = {"kind": "sample", "describe": {"source": {"path": "/home/me/d.jsonl"}}}
    (folder / "samples.jsonl.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    (folder / "source.json").write_text('{"source": "chitchat", "num_read": 5}', encoding="utf-8")
    return folder


def loaded(folder: Path, cache: Path) -> Any:
    return load_dataset(str(folder), split="train", cache_dir=str(cache))


def test_what_datasets_reads_is_what_the_jsonl_holds(made: Path, tmp_path: Path) -> None:
    push(PushConfig(what="dataset", folder=made, to=tmp_path / "out"))
    lines = (made / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    found = loaded(tmp_path / "out", tmp_path / "cache")
    assert list(found) == [json.loads(line) for line in lines]
    assert found.features == sample_features()
    assert found.features["turns"].feature["verdicts"].feature["span"] == List(Value("int64"))
    # And back again, as training reads it.
    found.to_json(tmp_path / "again.jsonl")
    again = list(read_samples(tmp_path / "again.jsonl"))
    assert again == list(read_samples(made / "samples.jsonl"))


def test_changes_of_the_instruction_have_their_types(tmp_path: Path) -> None:
    """One with a change, one whose instruction ends, and one without among them."""
    made = [
        replace(switched(changes), id=f"s-{number}", provenance=PROVENANCE)
        for number, changes in enumerate(([to("chess")], [cancel(2, "system")], []))
    ]
    path = write_samples(tmp_path / "samples.jsonl", made)
    assert write_parquet(path, tmp_path / "data") == 3
    found = loaded(tmp_path / "data", tmp_path / "cache")
    assert found.features == sample_features(has_switches=True)
    assert found.features["switches"].feature["turn"] == Value("int64")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert list(found) == [json.loads(line) for line in lines]
    found.to_json(tmp_path / "again.jsonl")
    assert list(read_samples(tmp_path / "again.jsonl")) == made
    # In files that somebody put together, rows of a run without changes stand beside these.
    mixed = write_samples(tmp_path / "mixed.jsonl", [made[0], replace(samples()[2], id="s-4")])
    assert write_parquet(mixed, tmp_path / "mixed") == 2


def test_samples_say_what_they_were_spliced_of(tmp_path: Path) -> None:
    spliced = PROVENANCE | {"spliced": ["runs/a/samples.jsonl/s-1", "runs/b/samples.jsonl/s-2"]}
    made = [replace(switched([to("chess")]), id="s-1", provenance=spliced)]
    path = write_samples(tmp_path / "samples.jsonl", made)
    assert write_parquet(path, tmp_path / "data") == 1
    found = loaded(tmp_path / "data", tmp_path / "cache")
    assert found.features == sample_features(has_switches=True, is_spliced=True)
    assert found[0]["provenance"]["spliced"] == spliced["spliced"]


def test_the_folder_is_that_of_a_repository(made: Path, tmp_path: Path) -> None:
    push(PushConfig(what="dataset", folder=made, to=tmp_path / "out"))
    names = sorted(
        p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.*")
    )
    assert names == [
        "README.md", "data/train-00000-of-00001.parquet", "samples.jsonl.meta.json", "source.json",
    ]  # fmt: skip
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    data = read_card(text).data
    assert data.configs == [{"config_name": "default", "data_files": "data/train-*.parquet"}]
    assert data.license == "mit"
    assert data.size_categories == ["n<1K"]
    assert 'Read it with `datasets.load_dataset("FOLDER", split="train")`.' in text
    assert 'data_files="samples.jsonl"' not in text
    assert "One row a sample:" in text
    for part in (
        "## By family and split",
        "## Configuration",
        "## Files",
        "## Limits",
        "## Licence",
    ):
        assert part in text
    assert "output_dir: synth\n" in text
    meta = json.loads((tmp_path / "out" / "samples.jsonl.meta.json").read_text(encoding="utf-8"))
    assert meta["describe"]["source"]["path"] == "d.jsonl"


def test_a_licence_can_be_given_and_a_card_is_made_where_there_is_none(
    made: Path, tmp_path: Path
) -> None:
    for name in ("README.md", "source.json", "samples.jsonl.meta.json"):
        (made / name).unlink()
    push(PushConfig(what="dataset", folder=made, to=tmp_path / "a"))
    text = (tmp_path / "a" / "README.md").read_text(encoding="utf-8")
    assert "3 samples of `gatt synth`." in text
    assert "Not stated; the dialogues keep that of their source." in text
    push(PushConfig(what="dataset", folder=made, to=tmp_path / "b", license="cc-by-4.0"))
    assert "license: cc-by-4.0" in (tmp_path / "b" / "README.md").read_text(encoding="utf-8")


def test_local_places_go_from_the_provenance_alone(tmp_path: Path) -> None:
    rows = [replace(s, provenance={**PROVENANCE, "teacher": "/home/me/llama"}) for s in samples()]
    path = write_samples(tmp_path / "samples.jsonl", rows)
    assert write_parquet(path, tmp_path / "data") == 3
    found = load_dataset(str(tmp_path / "data"), split="train", cache_dir=str(tmp_path / "cache"))
    assert {row["provenance"]["teacher"] for row in found} == {"llama"}
    assert found[0]["turns"][0]["reply"] == "Bonjour /home/me/x 🙂"


def test_many_rows_stand_in_several_files_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "ROWS_A_FILE", 3)
    monkeypatch.setattr(parquet, "_ROWS_A_GROUP", 2)
    path = write_samples(tmp_path / "s.jsonl", [sample(n) for n in range(7)])
    assert write_parquet(path, tmp_path / "data") == 7
    names = [f"train-{n:05d}-of-00003.parquet" for n in range(3)]
    assert sorted(p.name for p in (tmp_path / "data").iterdir()) == names
    found = load_dataset(str(tmp_path / "data"), split="train", cache_dir=str(tmp_path / "cache"))
    assert found["id"][:] == [f"s-{n}" for n in range(7)]


@pytest.mark.parametrize(
    ("provenance", "said"),
    [
        (
            {**PROVENANCE, "mood": "good"},
            r"sample 's-1', provenance\.mood: the declared types have",
        ),
        (
            {**PROVENANCE, "seed": "three"},
            r"a sample from 's-1' on does not fit the declared types \(",
        ),
        ({**PROVENANCE, "seed": 3.0, "sampling": 3}, r"does not fit the declared types \("),
        ({**PROVENANCE, "seed": 2**70}, r"does not fit the declared types \("),
    ],
)
def test_what_the_types_do_not_hold_is_an_error_and_not_lost(
    tmp_path: Path, provenance: dict[str, Any], said: str
) -> None:
    path = write_samples(tmp_path / "s.jsonl", [replace(sample(1), provenance=provenance)])
    with pytest.raises(DataError, match=said):
        write_parquet(path, tmp_path / "data")


def test_a_key_in_a_text_does_not_go_out(tmp_path: Path) -> None:
    told = sample(1)
    first = replace(told.targets[0], reply="sk-proj-" + "a1B2" * 12)
    spoken = replace(told, targets=(first, *told.targets[1:]))
    path = write_samples(tmp_path / "s.jsonl", [told, replace(spoken, id="s-2")])
    with pytest.raises(DataError, match=r"sample 's-2', turns\.0\.reply: looks like an access key"):
        write_parquet(path, tmp_path / "data")


def test_values_are_compared_to_the_bottom() -> None:
    difference = parquet._difference
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}], "c": None}) is None
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == "a[1].b"
    assert difference({"a": [1]}, {"a": [1, 2]}) == "a"


def test_a_folder_without_samples(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"no samples\.jsonl: expected a folder that `gatt synth` made"
    ):
        push(PushConfig(what="dataset", folder=tmp_path, to=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_broken_meta_file(made: Path, tmp_path: Path) -> None:
    (made / "source.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"source\.json: broken JSON: make it again"):
        push(PushConfig(what="dataset", folder=made, to=tmp_path / "out"))
