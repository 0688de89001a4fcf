"""What stays of a run whose dialogues, instructions or number changed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from data_synth.config import SynthConfig
from data_synth.plan import plan_samples
from data_synth.reuse import num_done
from gatt.data.sample import GattSample, read_samples
from gatt.errors import StoreError
from gatt.sources.load import load_dialogues
from tests.support.runs.synth_runs import make


def by_content(path: Path) -> dict[str, GattSample]:
    return {
        f"{s.dialogue.id} {s.dialogue.user_turns} {s.instruction and s.instruction.text}": replace(
            s, id=""
        )
        for s in read_samples(path)
    }


def add_dialogues(config: SynthConfig, num: int) -> list[str]:
    """Write more dialogues like the first one into the source; return their ids."""
    path = Path(config.source.path or "")
    first = path.read_text("utf-8").splitlines()[0]
    rows = [json.loads(first) for _ in range(num)]
    for n, row in enumerate(rows):
        row["id"] = f"new-{n}"
        row["messages"][0]["content"] += f" It is case {n}."
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return [row["id"] for row in rows]


def test_more_dialogues_draw_only_what_they_need(config, tmp_path, caplog) -> None:
    result, _ = make(config)
    before, text = by_content(result.samples), result.samples.read_bytes()
    new = add_dialogues(config, 3)
    more = replace(config, num_samples=14)
    result, engine = make(more)
    (line,) = [one for one in caplog.messages if "samples kept" in one]
    after = by_content(result.samples)
    kept = [name for name in before if name in after]
    assert len(after) == 14
    assert f"{len(kept)} of 14 samples kept, {result.num_new} to draw" in line
    assert "on new dialogues" in line
    assert len(kept) >= 7
    assert all(before[name] == after[name] for name in kept)
    assert {name.split()[0] for name in after} >= set(new)
    # Only the others were asked for.
    assert len({request.key.split("/")[0] for request in engine.requests}) == 14 - len(kept)
    assert result.samples.with_name("samples.before.jsonl").read_bytes() == text
    assert {s.id for s in read_samples(result.samples)} == {f"s{n:06d}" for n in range(14)}
    # It is the plan of a run from nothing, in another order.
    fresh, _ = make(replace(more, output_dir=tmp_path / "fresh"))
    assert by_content(fresh.samples).keys() == after.keys()
    assert make(more)[0].num_new == 0


@pytest.mark.parametrize("call", [1, 3, 5])
def test_a_stop_while_the_others_are_drawn_loses_nothing(config, tmp_path, call) -> None:
    make(config)
    add_dialogues(config, 3)
    folders = [config.output_dir, tmp_path / "stopped"]
    (tmp_path / "stopped").mkdir()
    for path in config.output_dir.iterdir():
        (tmp_path / "stopped" / path.name).write_bytes(path.read_bytes())
    make(config)
    stopped = replace(config, output_dir=folders[1])
    with pytest.raises(KeyboardInterrupt):
        make(stopped, interrupt_at=call)
    make(stopped)
    whole, again = ((folder / "samples.jsonl").read_bytes() for folder in folders)
    assert again == whole


def test_a_gap_that_an_old_expectation_made_is_drawn_again(config) -> None:
    path = Path(config.source.path or "")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def expect(*answers: str) -> None:
        for row in rows:
            row["messages"][2]["expect"] = {"any_of": [*answers]}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def first_gaps() -> int:
        return sum(s.targets[1].reply is None for s in read_samples(result.samples))

    expect("nobody says that")
    result, _ = make(config)
    store = result.samples
    plan = plan_samples(load_dialogues(config.source, None)[0], config.instructions.load(), config)
    assert (first_gaps(), num_done(store, plan)) == (10, 10)
    # Any reply holds one of these now.
    expect("tennis", "gardening", "inside", "Rain")
    plan = plan_samples(load_dialogues(config.source, None)[0], config.instructions.load(), config)
    before = store.read_bytes()
    assert num_done(store, plan) == 0
    assert store.read_bytes() == before
    with pytest.raises(StoreError, match="10 on dialogues with another expectation"):
        make(config)
    # Where the expectation stayed, the gap does.
    for row in rows[1:]:
        row["messages"][2]["expect"] = {"any_of": ["nobody says that"]}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    plan = plan_samples(load_dialogues(config.source, None)[0], config.instructions.load(), config)
    num = num_done(store, plan)
    result, _ = make(config)
    assert result.num_new == 10 - num > 0
    assert 0 < first_gaps() < 10


def test_a_changed_entry_is_drawn_again_and_named(config, caplog) -> None:
    result, _ = make(config)
    before = by_content(result.samples)
    (catalog,) = config.instructions.catalog
    file = Path(catalog) / "hobby.yaml"
    file.write_text(
        file.read_text("utf-8").replace("Say something on tennis", "Name tennis"), "utf-8"
    )
    result, _ = make(config)
    (line,) = [one for one in caplog.messages if "samples kept" in one]
    after = by_content(result.samples)
    assert 0 < result.num_new < 10
    assert f"{result.num_new} under entry hobby.tennis: hint)" in line
    for name, sample in after.items():
        is_same = sample.instruction is None or sample.instruction.id != "hobby.tennis"
        assert (before.get(name) == sample) == is_same


@pytest.mark.parametrize("can_stay", [True, False])
def test_what_changed_is_named_by_entry_and_key_or_by_dialogue(config, caplog, can_stay) -> None:
    """Wordings, a rule and messages are changed by hand, with and without samples that can stay."""
    config = replace(config, plain_fraction=0.3 if can_stay else 0.0)
    result, _ = make(config)
    (catalog,) = config.instructions.catalog
    files = list(Path(catalog).glob("*.yaml"))
    kept = {file: file.read_text("utf-8") for file in files}
    for file, text in kept.items():
        raw = yaml.safe_load(text)
        for entry in raw.get("entries") or ():
            entry["verbose"] = [f"{said} Always." for said in entry["verbose"]]
            entry["hint"] = "Do so."
        file.write_text(yaml.safe_dump(raw), "utf-8")
    named = r"under entry hobby\.\w+: [a-z_, ]*hint, verbose"
    if not can_stay:
        with pytest.raises(StoreError, match=f"none of its samples can stay.*{named}"):
            make(config)
        for file, text in kept.items():
            file.write_text(text, "utf-8")
        path = Path(config.source.path or "")
        path.write_text(
            path.read_text("utf-8").replace('"content": "', '"content": "So: '), "utf-8"
        )
        ids = {sample.dialogue.id for sample in read_samples(result.samples)}
        with pytest.raises(StoreError) as raised:
            make(config)
        shown = re.search(
            r"10 on changed dialogues \((.+?)(?: and (\d+) more)?\)", str(raised.value)
        )
        assert shown is not None
        assert ids > set(shown[1].split(", ")) or len(ids) == 3
        assert len(shown[1].split(", ")) + int(shown[2] or 0) == len(ids)
    else:
        make(config)
        (line,) = [one for one in caplog.messages if "samples kept" in one]
        assert re.search(named, line)


def test_nothing_is_thrown_away_where_nothing_can_stay(config) -> None:
    result, _ = make(config)
    text = result.samples.read_bytes()
    with pytest.raises(StoreError, match=r"changed: .*seed 0 -> 1"):
        make(replace(config, seed=1, num_samples=12))
    path = Path(config.source.path or "")
    path.write_text(path.read_text("utf-8").replace('"id": "', '"id": "other-'), "utf-8")
    with pytest.raises(StoreError, match=r"none of its samples can stay.* 10 on new dialogues"):
        make(config)
    assert result.samples.read_bytes() == text
    assert not result.samples.with_name("samples.before.jsonl").exists()
