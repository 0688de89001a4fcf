"""Samples as a data set repository: the rows of the JSONL file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset

from data_synth.config import SynthConfig
from data_synth.run_folder import write_card
from gatt.commands.push.command import PushConfig
from gatt.commands.push.send import push
from gatt.data.instruction import Probe
from gatt.data.sample import GattSample, TurnTarget, read_samples
from gatt.errors import DataError
from gatt.models.base_card import read_card
from gatt.sources.base import SourceReport
from gatt.verifiers.spec import VerifierSpec
from tests.support.models.tiny import instruction, sample, write_samples
from tests.support.runs.switched import switched, to

PROVENANCE: dict[str, Any] = {"teacher": "org/teacher", "seed": 3, "versions": {"peft": None}}


def samples() -> list[GattSample]:
    verdict = {"status": "pass", "evidence": "French", "version": 3, "span": [0, 4]}
    rule = VerifierSpec("language", {"language": "fr"})
    probed = replace(instruction(), verifiers=(rule,), probes=(Probe("Who?", (rule,)),))
    targets = (
        TurnTarget(1, "Bonjour /home/me/x 🙂", None, "hinted", 3, (verdict,), refused=("cut", "rejected")),
        TurnTarget(2, None, "rejected", attempts=2), TurnTarget(3, "Oui.", kind="sampled", attempts=1),
    )  # fmt: skip
    rows = [
        replace(sample(1), instruction=None),
        replace(sample(2), instruction=probed, targets=targets),
        replace(switched([to("chess")]), id="s-3"),
    ]
    return [replace(row, provenance=PROVENANCE) for row in rows]


def made(folder: Path, rows: Sequence[GattSample]) -> Path:
    """Return a folder with the samples of `gatt synth`."""
    folder.mkdir(exist_ok=True)
    write_samples(folder / "samples.jsonl", rows)
    return folder


def pushed(folder: Path, to: Path, **values: Any) -> Any:
    push(PushConfig(what="dataset", folder=folder, output_dir=to, **values))
    return load_dataset(str(to), split="train", cache_dir=str(to.with_suffix(".cache")))


def test_the_folder_is_that_of_a_repository(tmp_path: Path) -> None:
    folder = made(tmp_path / "synth", samples())
    config = SynthConfig(output_dir=Path("/home/me/synth"))
    write_card(config, folder / "samples.jsonl", SourceReport("chitchat", 5, 3))
    (folder / "source.json").write_text('{"source": "chitchat", "num_read": 5}', encoding="utf-8")
    out = tmp_path / "out"
    assert pushed(folder, out)["id"] == [row.id for row in samples()]
    assert list(read_samples(out / "samples.jsonl")) == samples()
    names = sorted(p.relative_to(out).as_posix() for p in out.rglob("*.*"))
    assert names == ["README.md", "samples.jsonl"]
    text = (out / "README.md").read_text(encoding="utf-8")
    data = read_card(text).data
    assert data.configs == [{"config_name": "default", "data_files": "samples.jsonl"}]
    assert data.license == "mit"
    heads = {line for line in text.splitlines() if line.startswith("## ")}
    assert heads >= {"## By family and split", "## Configuration"}
    assert "output_dir: synth\n" in text


def test_local_places_go_from_the_provenance_alone(tmp_path: Path) -> None:
    rows = [replace(s, provenance={**PROVENANCE, "teacher": "/home/me/llama"}) for s in samples()]
    found = pushed(made(tmp_path / "synth", rows), tmp_path / "out", license="cc-by-4.0")
    assert {row["provenance"]["teacher"] for row in found} == {"llama"}
    assert found[1]["turns"][0]["reply"] == "Bonjour /home/me/x 🙂"
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "one JSON line a sample." in text
    assert "license: cc-by-4.0" in text


def test_a_key_in_a_text_does_not_go_out(tmp_path: Path) -> None:
    plain = sample(1)
    first = replace(plain.targets[0], reply="sk-proj-" + "a1B2" * 12)
    spoken = replace(plain, id="s-2", targets=(first, *plain.targets[1:]))
    with pytest.raises(DataError, match=r"sample 's-2', turns\.0\.reply: looks like an access key"):
        pushed(made(tmp_path / "synth", [plain, spoken]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_without_samples_or_with_a_broken_source(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"samples\.jsonl"):
        pushed(tmp_path, tmp_path / "out")
    (made(tmp_path, samples()) / "source.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"source\.json: broken"):
        pushed(tmp_path, tmp_path / "out")
