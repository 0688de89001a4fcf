"""What a card takes out of a results.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import ModelCardData

from eval.report.data.selection import SCHEMA
from gatt.commands.export.evaluation import (
    RESULTS_SCHEMA,
    adapter_evaluation,
    eval_results,
    read_evaluation,
    refuse_other_adapter,
)
from gatt.errors import DataError
from tests.support.models.trained import record, write_results


def test_rates_become_a_model_index(tmp_path: Path) -> None:
    curves = [
        record(rate=0.87654321, low=0.7, high=0.95),
        record(turn=20, rate=0.5),
        record(turn=3),
        record(turn=33, rate=1.0),
        record(turn=4, rate=None, low=None, high=None),
        record(family="language"),
        record(metric="repetition"),
        record(arm="base", rate=0.0),
        record(history="own", metric="survival", rate=0.25),
    ]
    found = read_evaluation(write_results(tmp_path, curves))
    assert found.arm == "gatt"
    # Those of the paper, and the last one.
    assert found.turns == (1, 20, 33)
    assert found.histories == ("reference", "own")
    data = ModelCardData(model_name="m", eval_results=eval_results(found)).to_dict()
    (index,) = data["model-index"]
    reference, own = index["results"]
    assert reference["task"]["type"] == "text-generation"
    assert reference["dataset"] == {
        "type": "chitchat",
        "name": "gatt eval behaviour, reference history, all instructions",
        "config": "reference history, all instructions",
        "args": {"history": "reference", "instructions": "all"},
    }
    assert reference["metrics"][0] == {
        "type": "adherence",
        "name": "Adherence at turn 1",
        "value": 0.8765,
        "args": {"turn": 1, "low": 0.7, "high": 0.95, "num_dialogues": 16},
    }
    assert [m["args"]["turn"] for m in reference["metrics"]] == [1, 20, 33]
    assert [(m["type"], m["value"]) for m in own["metrics"]] == [("survival", 0.25)]


def test_splits_stand_apart_unless_there_is_one(tmp_path: Path) -> None:
    curves = [record(split=s) for s in ("all", "train", "heldout_value")]
    many = read_evaluation(write_results(tmp_path / "many", curves))
    assert [split for _, split, _, _ in many.rows("reference")] == ["all", "train", "heldout_value"]
    one = read_evaluation(write_results(tmp_path / "one", curves[:2]))
    assert [split for _, split, _, _ in one.rows("reference")] == ["train"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"source": {"name": "jsonl", "path": "/home/me/d.jsonl"}}, "jsonl"),
        ({"source": {"name": "hub", "path": "org/chats"}}, "org/chats"),
        ({"source": {"name": "hub", "path": "/home/me/chats"}}, "hub"),
        ({"source": {"name": "chitchat", "path": None}, "cases": "/home/me/c.jsonl"}, "cases"),
        ({}, "dialogues"),
    ],
)
def test_the_data_set_is_named_without_paths(
    tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    config = {"adapters": {"gatt": "a"}, "suite": "/home/me/mine.yaml", **changes}
    evaluation = read_evaluation(write_results(tmp_path, [record()], config=config))
    (found,) = eval_results(evaluation)
    assert found.dataset_type == expected
    assert found.dataset_name == "gatt eval mine, reference history, all instructions"


def test_an_arm_is_named_or_the_only_one(tmp_path: Path) -> None:
    curves = [record(arm=arm) for arm in ("one", "two")]
    folder = write_results(tmp_path, curves, config={"adapters": {"one": "a"}})
    assert read_evaluation(folder).arm == "one"
    assert read_evaluation(folder / "results.json", "two").arm == "two"
    with pytest.raises(DataError, match=r"json: no arm 'three' in it \(found: one, two\): name on"):
        read_evaluation(folder, "three")
    write_results(tmp_path, curves, config={"adapters": {"one": "a", "two": "b"}})
    with pytest.raises(DataError, match=r"arms of adapters in it: one, two: name the one that is"):
        read_evaluation(folder)


def test_no_results_and_broken_ones(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"results\.json: cannot read: No such file or directory: expected what"
    ):
        read_evaluation(tmp_path)
    for text in (
        "{",
        "[]",
        '{"run": {}}',
        '{"run": {}, "curves": [3]}',
        '{"run": 1, "curves": []}',
    ):
        (tmp_path / "results.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"results\.json: broken: expected what `gatt eval`"):
            read_evaluation(tmp_path)


def test_an_evaluation_of_another_adapter_is_refused(tmp_path: Path) -> None:
    folder = write_results(tmp_path, [record()])
    refuse_other_adapter(folder, "gatt", "feed")  # no roll-outs: nothing is known
    rows = [
        {"key": "base/reference/d1"},
        {"key": "gatt/reference/d1", "weights": "feed"},
        {"key": "other/reference/d1", "weights": "beef"},
        {"key": "served/reference/d1", "weights": "served as gatt"},
    ]
    (tmp_path / "rollouts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    refuse_other_adapter(folder, "gatt", "feed")
    refuse_other_adapter(folder, "served", "feed")
    for place in (folder, folder / "results.json"):
        with pytest.raises(DataError, match=r"arm 'other' is an adapter with digest beef, this on"):
            refuse_other_adapter(place, "other", "feed")


@pytest.mark.parametrize("arm", ["base", "base+reminder"])
def test_an_arm_without_an_adapter_stands_on_no_adapter_s_card(tmp_path: Path, arm: str) -> None:
    folder = write_results(tmp_path, [record(arm=arm), record()])
    assert read_evaluation(folder, arm).arm == arm
    with pytest.raises(DataError, match="has no adapter: its rates would stand on the card as"):
        adapter_evaluation(folder, arm)
    assert adapter_evaluation(folder).arm == "gatt"


def test_results_of_another_form_are_refused(tmp_path: Path) -> None:
    assert RESULTS_SCHEMA == SCHEMA
    folder = write_results(tmp_path, [record()])
    path = folder / "results.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**found, "schema": SCHEMA - 1}), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"schema is 2: expected 3, evaluate again with this version"
    ):
        read_evaluation(folder)
