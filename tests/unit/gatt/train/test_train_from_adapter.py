"""Training that goes on from an adapter, and what an adapter says it was trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gatt.data.training_marks import TrainedOn, read_marks, write_marks
from gatt.errors import ModelError
from gatt.train.run import train
from tests.support.models.first_step import ready
from tests.support.models.tiny import (
    sample,
    save_tiny_model,
    write_samples,
)
from tests.support.runs.switched import switched, to


def test_goes_on_from_an_adapter(make: Any, tmp_path: Path) -> None:
    first = train(make(learning_rate=1e-2)).adapter
    config = make(init_adapter=first, output_dir=tmp_path / "more")
    weights = dict(ready(config).model.named_parameters())
    saved = load_file(first / "adapter_model.safetensors")
    name = next(n for n in saved if "lora_B" in n)
    trained = weights[name.replace(".weight", ".default.weight")]
    assert trained.requires_grad
    assert torch.equal(trained, saved[name])


def test_dialogues_of_the_first_adapter_count_as_trained_on(
    make: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = train(make()).adapter
    other = write_samples(tmp_path / "other.jsonl", [sample(7, 2)])
    more = {"init_adapter": first, "samples": (other,)}
    second = train(make(output_dir=tmp_path / "b", **more)).adapter
    found = read_marks(second)
    assert found is not None
    assert all(sample(n, 2).dialogue in found for n in (0, 1, 2, 7))
    mine = {entry for n in (0, 1, 2) for entry in sample(n, 2).instruction.entries}
    assert found.entries == {*mine, *sample(7, 2).instruction.entries}
    assert not caplog.records
    (first / "trained_on.json").unlink()
    third = train(make(output_dir=tmp_path / "c", **more)).adapter
    # One that knew a part would be believed to know all.
    assert read_marks(third) is None
    said = [
        r.getMessage() for r in caplog.records if "does not say which dialogues" in r.getMessage()
    ]
    assert len(said) == 1
    # As it was written before there were entries.
    write_marks(first, TrainedOn.of([sample(0, 2).dialogue]))
    fourth = read_marks(train(make(output_dir=tmp_path / "d", **more)).adapter)
    assert fourth is not None
    assert fourth.entries is None
    assert sample(7, 2).dialogue in fourth
    assert "does not say which catalogue entries it was trained on" in caplog.text


def test_entries_without_a_target_are_not_trained_on(make: Any, tmp_path: Path) -> None:
    changes = switched((to("golf", 2), to("chess", 3)), 4)
    silent = tuple(
        replace(t, reply=None, kind=None, reason="rejected") if t.turn == 1 else t
        for t in changes.targets
    )
    path = write_samples(tmp_path / "changing.jsonl", [replace(changes, targets=silent)])
    found = read_marks(train(make(samples=(path,), max_turns=2)).adapter)
    assert found is not None
    assert found.entries == {"hobby.golf"}


def test_entries_of_targets_that_do_not_fit_are_not_trained_on(make: Any, tmp_path: Path) -> None:
    long = switched((to("golf", 2),), 2)
    reply = replace(long.targets[1], reply="Golf. " * 400)
    path = write_samples(tmp_path / "long.jsonl", [replace(long, targets=(long.targets[0], reply))])
    found = read_marks(train(make(samples=(path,), max_length=300)).adapter)
    assert found is not None
    assert found.entries == {"hobby.tennis"}


def test_an_adapter_that_is_none(make: Any, tmp_path: Path) -> None:
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match=r"no adapter_config\.json: expected a folder saved by"):
        train(make(init_adapter=tmp_path))


def test_an_adapter_that_does_not_fit(make: Any, tmp_path: Path) -> None:
    first = train(make()).adapter
    other = save_tiny_model(tmp_path / "other", hidden_size=16)
    config = make(model=str(other), init_adapter=first, output_dir=tmp_path / "more")
    with pytest.raises(
        ModelError, match=r"out/adapter: the adapter does not fit .*other: .*size mismatch"
    ):
        train(config)
