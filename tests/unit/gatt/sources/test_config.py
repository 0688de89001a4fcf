"""What a configuration asks of a source reaches it, or is refused before anything is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gatt.errors import ConfigError, DataError
from gatt.sources.config import NAMES, SourceConfig
from gatt.sources.load import ENDLESS, READERS, load_dialogues

CARD = """---
configs:
- config_name: de
  data_files: [{split: train, path: de/train.jsonl}, {split: test, path: de/test.jsonl}]
- config_name: en
  data_files: [{split: train, path: en/train.jsonl}, {split: test, path: en/test.jsonl}]
---
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set of two configurations and two splits whose messages stand in `chat`."""
    root = tmp_path / "talk"
    for name in ("de", "en"):
        (root / name).mkdir(parents=True)
        for split in ("train", "test"):
            rows = []
            for index in range(4):
                chat = [
                    {"role": "user", "content": f"{name} {split} {index}?"},
                    {"role": "assistant", "content": "Yes."},
                ]
                rows.append(json.dumps({"id": f"{name}-{split}-{index}", "chat": chat}) + "\n")
            (root / name / f"{split}.jsonl").write_text("".join(rows), encoding="utf-8")
    (root / "README.md").write_text(CARD, encoding="utf-8")
    return root


def hub(folder: Path, **settings: Any) -> SourceConfig:
    fixed = {"name": "hub", "path": str(folder), "min_turns": 1, "max_turns": 1}
    return SourceConfig(**{**fixed, **settings})


def ids(config: SourceConfig) -> set[str]:
    return {dialogue.id for dialogue in load_dialogues(config, None)[0]}


def test_configuration_split_and_column_reach_the_data_set(folder: Path) -> None:
    assert ids(hub(folder, config_name="en", split="test", column="chat")) == {
        "en-test-0", "en-test-1", "en-test-2", "en-test-3",
    }  # fmt: skip
    assert ids(hub(folder, config_name="de", split="train[:2]", column="chat")) == {
        "de-train-0", "de-train-1",
    }  # fmt: skip


@pytest.mark.parametrize("streaming", [False, True])
def test_no_more_than_max_rows_are_read(folder: Path, streaming: bool) -> None:
    config = hub(folder, config_name="de", column="chat", streaming=streaming, max_rows=3)
    dialogues, report = load_dialogues(config, None)
    assert report.num_read == 3
    assert {d.id.rpartition("-")[0] for d in dialogues} == {"de-train"}


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"column": "chat"}, ["Config name is missing", "de"]),
        ({"config_name": "fr", "column": "chat"}, ["'fr'", "'de', 'en"]),
        ({"config_name": "de"}, ["'messages' or 'conversations'", "id, chat"]),
        ({"config_name": "de", "column": "talk"}, ["'talk'", "id, chat"]),
    ],
)
def test_what_the_data_set_has_not(folder: Path, settings: Any, facts: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        load_dialogues(hub(folder, **settings), None)
    assert all(fact in str(caught.value) for fact in facts)


@pytest.mark.parametrize(
    ("key", "value"),
    [("config_name", "de"), ("split", "test"), ("streaming", True), ("max_rows", 5)],
)
@pytest.mark.parametrize("name", ["chitchat", "jsonl"])
def test_what_only_a_data_set_takes(name: str, key: str, value: object) -> None:
    path = "d.jsonl" if name == "jsonl" else None
    with pytest.raises(
        ConfigError, match=rf"^source '{name}' takes no '{key}', found {value!r}: only 'hub' does$"
    ):
        SourceConfig(name=name, path=path, **{key: value})


@pytest.mark.parametrize(("key", "value"), [("column", "chat"), ("max_lost", 3)])
def test_what_only_sources_of_rows_take(key: str, value: object) -> None:
    for name in ("hub", "jsonl"):
        assert getattr(SourceConfig(name=name, path="d", **{key: value}), key) == value  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match=rf"'chitchat' takes no '{key}', found {value!r}.*'jsonl'"
    ):
        SourceConfig(**{key: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "chat"}, r"^name is 'chat': expected one of chitchat, "),
        ({"asked": "every"}, "takes no 'asked'"),
        ({"name": "conversations", "asked": (0, 3)}, r"^asked is \[0, 3\]"),
        ({"small_talk": "people"}, "takes no 'small_talk'"),
        ({"name": "faq"}, "needs 'path'"),
        ({"name": "jsonl"}, "^source 'jsonl' needs 'path'$"),
        ({"path": "x"}, "^source 'chitchat' takes no 'path', found 'x'$"),
        ({"name": "hub", "path": "x", "max_rows": 0}, "^max_rows is 0: expected at least 1, or nu"),
        ({"name": "hub", "path": "x", "max_lost": -1}, "^max_lost is -1: expected at least 0, or n"),
        ({"name": "hub", "path": "x", "streaming": True}, "^streaming needs 'max_rows', the most"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SourceConfig(**settings)


def test_each_name_has_a_reader() -> None:
    assert {*READERS, *ENDLESS, "questions"} == set(NAMES)
