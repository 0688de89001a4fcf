"""What is told beside the rates, and who made the replies of a folder."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eval.config import EvalConfig
from eval.results import provenance as calls_module
from eval.results.notes import notes_of_replies
from eval.results.provenance import AGAIN, FILE, add_call, note_of_calls, read_calls, run_head
from gatt.errors import StoreError
from tests.support.runs.judged import sample


def test_replies_that_are_cut_are_told() -> None:
    told = [
        sample(arm=arm, turn=turn, finish="length" if turn <= num_cut else "stop")
        for arm, num_cut in (("base", 3), ("gatt", 1))
        for turn in range(1, 21)
    ]
    probe = sample(arm="gatt", kind="probe", finish="length")
    [note] = notes_of_replies([], [*told, probe], 48)
    assert note.startswith("Judged replies that the limit of 48 tokens cut: base 15 %, gatt 5 %.")
    few = [s for s in told if s.arm == "gatt"]
    assert notes_of_replies([], few, 48) == []


@pytest.fixture
def config(tmp_path) -> EvalConfig:
    adapters = {"gatt": tmp_path, "other": tmp_path}
    return EvalConfig(output_dir=tmp_path / "run", adapters=adapters)


def commit(monkeypatch, name: str) -> None:
    found = calls_module.provenance() | {"commit": {"id": name, "is_clean": True}}
    monkeypatch.setattr(calls_module, "provenance", lambda: dict(found))


def test_calls_of_one_machine_and_commit_are_told_as_one(config, monkeypatch) -> None:
    commit(monkeypatch, "aaaa")
    add_call(config, ["base"])
    add_call(config, ["gatt", "base"])
    (call,) = read_calls(config.output_dir)
    assert call["arms"] == ["base", "gatt"]
    run = run_head(config)
    assert run["commit"] == "aaaa"
    assert "calls" not in run
    assert "arms" not in run
    assert note_of_calls(run) == []
    assert "counted_at" not in run
    # Only closed again, by newer code: the replies are the old ones.
    commit(monkeypatch, "bbbb")
    assert [run_head(config)[key] for key in ("commit", "counted_at")] == ["aaaa", "bbbb"]


@pytest.mark.parametrize("text", ["{", '[{"commit": "a"}]', '[{"arms": 3}]'])
def test_a_broken_file_is_one_line(config, text) -> None:
    assert (read_calls(config.output_dir), run_head(config)["name"]) == ([], "run")
    config.output_dir.mkdir()
    (config.output_dir / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"calls\.json: broken: expected a list of calls"):
        read_calls(config.output_dir)


def test_other_code_is_told_and_what_was_judged_again_keeps_who_made_it(
    config, monkeypatch
) -> None:
    commit(monkeypatch, "aaaa")
    add_call(config, ["base"])
    commit(monkeypatch, "bbbb")
    add_call(config, ["gatt"])
    run = run_head(config)
    assert [run["commit"], *(c["commit"] for c in run["calls"])] == ["bbbb", "aaaa", "bbbb"]
    (note,) = note_of_calls(run)
    assert note.startswith("The replies were made in 2 calls by other code or on other machines (")
    # Of arms that are not asked for nothing is said.
    assert run_head(replace(config, arms=("base",)))["commit"] == "aaaa"
    commit(monkeypatch, "cccc")
    new = replace(
        config, output_dir=config.output_dir.with_name("new"), replies_from=config.output_dir
    )
    # Twice, as after an interruption; one arm after the other.
    for arms in (["base"], ["base"], ["gatt"]):
        add_call(new, arms)
    # An arm that replies here, by the same code, is none of them.
    add_call(replace(new, replies_from=None), ["other"])
    told = [
        (c["arms"], c["commit"], c.get(AGAIN, {}).get("commit")) for c in read_calls(new.output_dir)
    ]
    assert told == [
        (["base"], "aaaa", "cccc"), (["gatt"], "bbbb", "cccc"), (["other"], "cccc", None),
    ]  # fmt: skip
    notes = note_of_calls(run_head(new))
    assert notes[0].startswith(
        "Replies of an earlier run (base, gatt), judged again by the rules of commit cccc; "
    )
    assert notes[1].startswith("The replies were made in 3 calls")
