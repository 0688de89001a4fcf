"""Perplexity before and after: by hand, and as the command writes it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from eval.perplexity import PerplexityConfig, as_rows, measure_perplexity, perplexity
from gatt.data.dialogue import Dialogue
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.errors import ConfigError, DataError, StoreError
from gatt.generation.servers.config import ServerConfig
from gatt.sources.config import SourceConfig
from gatt.sources.load import load_dialogues
from tests.support.runs.stages import write_dialogues

BASE = [(20.0, 10), (10.0, 10)]
SERVER = ServerConfig(urls=("http://localhost:1/v1",))


class LossEngine:
    """Charges one nat a token, adapters 0.2 more, which cannot read the dialogue `broken`."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        self.read: list[str] = []

    def reply_loss(self, dialogue: Dialogue, adapter: str | None = None) -> tuple[float, int]:
        self.read.append(dialogue.id)
        if adapter and dialogue.id == self.broken:
            raise DataError(f"dialogue {dialogue.id!r}: a control token")
        num = 10 * (dialogue.num_turns - 1)
        return num * (1.0 if adapter is None else 1.2), num


def config(folder: Path, num_turns: int = 3, num: int = 4, **changes) -> PerplexityConfig:
    folder.mkdir(exist_ok=True)
    path = write_dialogues(folder / "d.jsonl", num + 2, num_turns)
    source = SourceConfig(name="jsonl", path=str(path), min_turns=1, max_turns=9)
    settings = {"output": folder / "p.json", "source": source, "part": None, "num_dialogues": num}
    return PerplexityConfig(**(settings | changes))


def test_tokens_weigh_the_same_and_the_ratio_is_paired() -> None:
    base = perplexity("base", BASE, BASE)
    assert base.perplexity == pytest.approx(math.exp(1.5))
    assert (base.ratio, base.low, base.high) == (1.0, None, None)
    assert (base.num_dialogues, base.num_tokens) == (2, 20)
    dearer = [(nll + 0.1 * num, num) for nll, num in BASE]
    found = perplexity("gatt", dearer, BASE)
    assert found.ratio == pytest.approx(math.exp(0.1))
    assert found.perplexity == pytest.approx(math.exp(1.6))


def test_the_interval_holds_the_ratio_and_rests_on_dialogues() -> None:
    base = [(10.0, 10)] * 40
    uneven = [(10.0 + (n % 4), 10) for n in range(40)]
    found = perplexity("gatt", uneven, base)
    assert found.low < found.ratio < found.high
    assert found == perplexity("gatt", uneven, base)
    few = perplexity("gatt", uneven[:12], base[:12])
    assert few.high - few.low > found.high - found.low


def test_the_file_says_what_was_measured_and_how(tmp_path) -> None:
    settings = config(tmp_path, adapters={"gatt": tmp_path / "adapter"})
    (tmp_path / "adapter").mkdir()
    found = measure_perplexity(settings, LossEngine())
    assert [one.arm for one in found] == ["base", "gatt"]
    assert found[1].ratio == pytest.approx(math.exp(0.2))
    assert found[1].num_tokens == 4 * 20
    raw = json.loads(settings.output.read_text(encoding="utf-8"))
    assert raw["perplexity"][1]["ratio"] == found[1].ratio
    assert raw["not_checked_for_overlap"] == ["gatt"]
    assert raw["run"]["config"]["num_dialogues"] == 4
    assert raw["dropped"] == {}
    assert as_rows(found)[1][2] == "1.221 (no interval from 4 dialogues)"
    many = measure_perplexity(config(tmp_path, 3, 20, adapters={"gatt": tmp_path}), LossEngine())
    assert as_rows(many)[1][2] == "1.221 [1.221, 1.221]"


def test_a_dialogue_that_is_skipped_or_cannot_be_read_counts_for_no_arm(tmp_path) -> None:
    settings = config(tmp_path, skip_dialogues=1, adapters={"gatt": tmp_path})
    everything, engine = LossEngine(), LossEngine("d-002")
    measure_perplexity(config(tmp_path), everything)
    found = measure_perplexity(settings, engine)
    assert list(dict.fromkeys(engine.read))[:3] == everything.read[1:]
    assert [one.num_dialogues for one in found] == [3, 3]
    raw = json.loads(settings.output.read_text(encoding="utf-8"))
    assert raw["dropped"] == {"a control token": 1}


def test_what_cannot_be_measured_is_one_line(tmp_path) -> None:
    with pytest.raises(DataError, match=r"none of 4 dialogues .*\(4: no reply to an earlier"):
        measure_perplexity(config(tmp_path / "one", num_turns=1), LossEngine())
    unwritable = config(tmp_path / "two", output=tmp_path / "two" / "d.jsonl" / "p.json")
    with pytest.raises(StoreError, match=r"p\.json: .*d\.jsonl is a file"):
        measure_perplexity(unwritable, None)
    with pytest.raises(ConfigError, match=r"skip_dialogues is 6: .* 6 dialog"):
        measure_perplexity(config(tmp_path, skip_dialogues=6), LossEngine())


def test_dialogues_that_an_adapter_was_trained_on_are_refused(tmp_path) -> None:
    adapter = tmp_path / "adapter"
    settings = config(tmp_path, adapters={"gatt": adapter})
    adapter.mkdir()
    write_marks(adapter, TrainedOn.of(load_dialogues(settings.source, None)[0]))
    with pytest.raises(DataError, match="4 of 4 dialogues of the evaluation are among"):
        measure_perplexity(settings, LossEngine())
