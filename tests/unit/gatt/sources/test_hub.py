from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from gatt.data.dialogue import Dialogue
from gatt.errors import ConfigError, DataError
from gatt.sources.base import SourceReport
from gatt.sources.config import SourceConfig
from gatt.sources.load import load_dialogues

PAIR = [{"role": "user", "content": "Hi {}"}, {"role": "assistant", "content": "Hello"}]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def load(path: object, **changes: Any) -> tuple[list[Dialogue], SourceReport]:
    return load_dialogues(
        SourceConfig(name="hub", path=str(path), min_turns=1, max_turns=4, **changes), None
    )


def messages(num: int) -> list[list[dict[str, str]]]:
    return [[{**m, "content": m["content"].format(i)} for m in PAIR] for i in range(num)]


def test_saved_folder_parquet_folder_and_file_give_the_same(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"id": ["a", "b"], "messages": messages(2)})
    data.save_to_disk(str(tmp_path / "saved"))
    datasets.DatasetDict({"train": data}).save_to_disk(str(tmp_path / "dict"))
    (tmp_path / "files").mkdir()
    data.to_parquet(str(tmp_path / "files" / "train.parquet"))
    found = [
        load(tmp_path / where)[0] for where in ("saved", "dict", "files", "files/train.parquet")
    ]
    assert {d.id for d in found[0]} == {"a", "b"}
    assert found[1:] == [found[0]] * 3


def test_broken_rows_are_counted(tmp_path: Path) -> None:
    rows = [*messages(2), [{"role": "narrator", "content": "Once"}]]
    data = datasets.Dataset.from_dict({"id": ["a", "a", "c"], "messages": rows})
    data.save_to_disk(str(tmp_path / "saved"))
    dialogues, report = load(tmp_path / "saved")
    assert [d.id for d in dialogues] == ["a"]
    assert report.dropped == {"repeated id": 1, "unknown speaker": 1}
    assert report.examples["unknown speaker"] == "row 3: unknown speaker: message 1: 'narrator'"


def test_stream_names_rows_by_position_whatever_the_seed(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"messages": messages(9)}).save_to_disk(str(tmp_path / "talk"))
    for seed in (0, 1):
        dialogues, report = load(tmp_path / "talk", seed=seed, streaming=True, max_rows=5)
        assert report.num_read == 5
        for d in dialogues:
            assert d.id == f"talk-{int(d.user_turns[0].removeprefix('Hi ')) + 1}"


def test_what_cannot_be_loaded_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = datasets.Dataset.from_dict({"messages": messages(1)})
    datasets.DatasetDict({"train": data}).save_to_disk(str(tmp_path / "d"))
    data.to_parquet(str(tmp_path / "one.parquet"))
    for name in ("d", "one.parquet"):
        with pytest.raises(DataError, match=r"^data set '[^\n]*', split 'test', [^\n]*$"):
            load(tmp_path / name, split="test")

    def load_dataset(*_: Any, **__: Any) -> None:
        raise ConnectionError("odd\nthing")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DataError, match=r"^data set 'a/b', .* \(ConnectionError: odd thing\): "):
        load("a/b")


def test_what_has_no_configurations(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"messages": messages(1)})
    data.save_to_disk(str(tmp_path / "saved"))
    data.to_parquet(str(tmp_path / "one.parquet"))
    for name, what in (("saved", "a folder of `save_to_disk`"), ("one.parquet", "a single file")):
        with pytest.raises(
            ConfigError,
            match=rf"{name} is {what} and has no configurations: .* no config_name, found 'de'$",
        ):
            load(tmp_path / name, config_name="de")


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("data", "facts"),
    [
        ('{"messages": [{"role": "user", "content": "Né"}]}\n'.encode("cp1252"), ["Windows-1252"]),
        ('{"messages": []}\n'.encode("utf-16"), ["UTF-16"]),
        (b'{"messages": []}\n{oops\n', ["line 2", "broken JSON"]),
    ],
)
def test_a_broken_file_of_a_folder_is_named_in_one_line(
    tmp_path: Path,
    data: bytes,
    facts: list[str],
    streaming: bool,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "talk" / "train.jsonl"
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"^[^\n]*$") as caught:
        load(path.parent, streaming=streaming, max_rows=9)
    assert [fact for fact in ("train.jsonl", *facts) if fact not in str(caught.value)] == []
    assert "Failed" not in capfd.readouterr().err
