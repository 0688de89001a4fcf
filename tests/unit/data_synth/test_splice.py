"""`gatt synth splice`: which samples make a pair, what stands on both sides, what is refused."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data_synth.splice import SpliceConfig, splice
from gatt.catalog import load_catalog
from gatt.cli import main
from gatt.dialogue import Dialogue, Message
from gatt.errors import CatalogError, DataError, StoreError
from gatt.instruction import Instruction, compose
from gatt.sample import GattSample, TurnTarget, read_samples
from gatt.schedule import Switch
from gatt.switch_config import SwitchConfig
from tests.support.tiny import write_samples

CATALOG = load_catalog()
TENNIS, CHESS = "hobby.tennis", "hobby.chess"
FRENCH = "language.fr"
NUM_TURNS = 6


def told(*names: str) -> Instruction:
    return compose([CATALOG.entry(name) for name in names], random.Random(0), 0.0)


def sample(
    name: str, entries: tuple[str, ...], dialogue: int = 1, **targets: str | None
) -> GattSample:
    """Return a sample whose targets say where they come from; `t3=…` is another one."""
    messages = []
    for turn in range(1, NUM_TURNS + 1):
        messages += [
            Message("user", f"What of day {turn}, {dialogue}?"),
            Message("assistant", f"It was day {turn}."),
        ]
    replies = [targets.get(f"t{turn}", f"{name} at {turn}") for turn in range(1, NUM_TURNS + 1)]
    return GattSample(
        id=name,
        dialogue=Dialogue(f"d-{dialogue}", tuple(messages)),
        instruction=told(*entries) if entries else None,
        targets=tuple(
            TurnTarget(turn, reply, None if reply else "rejected", "sampled" if reply else None)
            for turn, reply in enumerate(replies, start=1)
        ),
        provenance={"teacher": "t"},
    )


@pytest.fixture
def make(tmp_path: Path) -> Any:
    def made(samples: list[GattSample], kind: str = "replace", **changes: Any) -> list[GattSample]:
        switch = {"replace": 0.0, "add": 0.0, "cancel": 0.0, kind: 1.0, **changes.pop("switch", {})}
        config = SpliceConfig(
            samples=(write_samples(tmp_path / "samples.jsonl", samples),),
            switch=SwitchConfig(**switch),
            **{"output_dir": tmp_path / "out", "num_samples": 1, **changes},
        )
        return list(read_samples(splice(config).samples))

    return made


def the_switch(sample: GattSample) -> Switch:
    (switch,) = sample.switches or ()
    return switch


def replies(sample: GattSample) -> list[str | None]:
    return [target.reply for target in sample.targets]


def test_targets_of_the_first_are_followed_by_those_of_the_second(make: Any) -> None:
    pair = [sample("a", (TENNIS,)), sample("b", (CHESS,))]
    seen = Counter()
    for made in make(pair, num_samples=10):
        switch = the_switch(made)
        one, other = ("a", "b") if made.instruction == pair[0].instruction else ("b", "a")
        turns = range(1, NUM_TURNS + 1)
        assert replies(made) == [f"{one if t < switch.turn else other} at {t}" for t in turns]
        held = pair[one == "a"].instruction
        assert (switch.kind, switch.instruction) == ("replace", held)
        assert held.text in switch.text
        assert made.dialogue == pair[0].dialogue
        assert made.provenance == {"teacher": "t", "spliced": [one, other]}
        seen[one, switch.turn] += 1
    # Every turn of both orders, none of them twice.
    assert seen == {(name, turn): 1 for name in "ab" for turn in range(2, NUM_TURNS + 1)}


def test_every_pair_comes_once_before_any_comes_again(make: Any) -> None:
    samples = [
        sample(f"{d}{e}", (entry,), d) for d in (1, 2, 3) for e, entry in ((1, TENNIS), (2, CHESS))
    ]
    pairs = [tuple(s.provenance["spliced"]) for s in make(samples, num_samples=12)]
    assert sorted(pairs[:6]) == sorted(pairs[6:])
    assert len(set(pairs)) == 6
    assert {a[0] for a, b in pairs if a[0] == b[0]} == {"1", "2", "3"}


def test_a_larger_run_begins_with_the_smaller_one(make: Any, tmp_path: Path) -> None:
    samples = [sample("a", (TENNIS,)), sample("b", (CHESS,)), sample("c", ())]
    switch = {"cancel": 0.5, "replace": 0.5}
    few = make(samples, num_samples=4, switch=switch)
    many = make(samples, num_samples=8, switch=switch, output_dir=tmp_path / "many")
    other = make(samples, num_samples=8, switch=switch, output_dir=tmp_path / "other", seed=1)
    assert many[:4] == few
    assert many != other


def test_what_is_taken_back_turns_plain(make: Any) -> None:
    (made,) = make([sample("a", (TENNIS,)), sample("b", ())], "cancel")
    switch = the_switch(made)
    assert switch.instruction is None
    assert made.instruction is not None
    assert made.instruction_at(switch.turn) is None
    assert replies(made)[switch.turn - 2 : switch.turn] == [
        f"a at {switch.turn - 1}",
        f"b at {switch.turn}",
    ]


def test_what_is_added_is_told_alone_and_both_hold(make: Any) -> None:
    pair = [sample("a", (TENNIS,)), sample("b", (TENNIS, FRENCH)), sample("c", (CHESS,))]
    (made,) = make(pair, "add", terse_probability=0.0)
    switch = the_switch(made)
    assert made.provenance["spliced"] == ["a", "b"]
    assert switch.instruction is not None
    assert switch.instruction.entries == (TENNIS, FRENCH)
    assert "French" in switch.text
    assert "tennis" not in switch.text.lower()


@pytest.mark.parametrize("is_own", [False, True])
def test_a_target_that_follows_what_was_ended_is_none_unless_it_is_the_topic(
    make: Any, is_own: bool
) -> None:
    late = "I have a racket for tennis."
    one, other = sample("a", (TENNIS,)), sample("b", (CHESS,), t6=late)
    if is_own:
        messages = (*one.dialogue.messages[:-1], Message("assistant", "Tennis it was."))
        one, other = (replace(s, dialogue=Dialogue("d-1", messages)) for s in (one, other))
    for made in make([one, other], num_samples=10):
        if made.provenance["spliced"] == ["a", "b"]:
            last = made.targets[-1]
            found = (last.reply, last.reason, last.kind)
            assert found == ((late, None, "sampled") if is_own else (None, "leaks", None))


def test_the_turns_have_a_target_on_both_sides_and_lie_where_told(make: Any) -> None:
    early = dict.fromkeys(("t1", "t2"))
    one, other = sample("a", (TENNIS,), **early), sample("b", (), t6=None)
    found = [the_switch(s).turn for s in make([one, other], "cancel", num_samples=2)]
    assert sorted(found) == [4, 5]


def test_changes_are_told_by_the_system_as_often_as_asked(make: Any, tmp_path: Path) -> None:
    pair = [sample("a", (TENNIS,)), sample("b", (CHESS,))]
    for share, place in ((0.0, "user"), (1.0, "system")):
        made = make(pair, num_samples=10, switch={"system": share}, output_dir=tmp_path / place)
        assert {the_switch(s).place for s in made} == {place}


def test_kinds_come_in_proportion(make: Any) -> None:
    samples = [sample(f"{d}.{e}", e, d) for d in range(40) for e in ((TENNIS,), (CHESS,), ())]
    made = make(samples, num_samples=300, switch={"replace": 0.25, "cancel": 0.25})
    kinds = Counter(the_switch(s).kind for s in made)
    assert kinds.total() == 300
    assert kinds["replace"] == pytest.approx(150, abs=30)


@pytest.mark.parametrize(
    ("entries", "kind", "needed"),
    [
        ((TENNIS, TENNIS), "replace", "under two instructions without a common entry"),
        ((TENNIS, CHESS), "cancel", "under an instruction and without any"),
        ((TENNIS, CHESS), "add", "under an instruction and under that with a further entry"),
    ],
)
def test_a_kind_without_a_pair_is_told(make: Any, entries: Any, kind: str, needed: str) -> None:
    samples = [sample(f"s{i}", (entry,)) for i, entry in enumerate(entries)]
    with pytest.raises(
        DataError,
        match=rf"samples\.jsonl: no dialogue of 1 has targets {needed}, before and after a turn from 2 "
        rf"to the last: give samples of the same dialogues, or set switch\.{kind} to 0$",
    ):
        make(samples, kind)


def test_other_dialogues_and_samples_with_changes_make_no_pair(make: Any) -> None:
    changed = replace(
        sample("b", (CHESS,)), switches=(Switch(2, "cancel", "user", "Stop it.", None),)
    )
    with pytest.raises(DataError, match="no dialogue of 2 has targets"):
        make([sample("a", (TENNIS,)), changed, sample("c", (CHESS,), dialogue=2)])


def test_more_than_there_are_is_told_with_how_many(make: Any, tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"^num_samples is 11, but the pairs for 'replace' are used up at every turn after 10: set "
        r"num_samples to 10 or less, lower switch\.replace, or give more samples$",
    ):
        make([sample("a", (TENNIS,)), sample("b", (CHESS,))], num_samples=11)
    assert not (tmp_path / "out").exists()


def test_an_entry_that_the_catalogue_does_not_know(make: Any) -> None:
    strange = sample("a", (TENNIS,))
    assert strange.instruction is not None
    strange = replace(strange, instruction=replace(strange.instruction, entries=("hobby.tenis",)))
    with pytest.raises(CatalogError, match=r"no catalogue entry 'hobby\.tenis', did you mean"):
        make([strange, sample("b", ())], "cancel", terse_probability=1.0)


def test_a_second_run_finds_its_samples_and_another_is_refused(make: Any, tmp_path: Path) -> None:
    pair = [sample("a", (TENNIS,)), sample("b", (CHESS,))]
    first = make(pair)
    out = tmp_path / "out"
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert set(before) == {"samples.jsonl", "README.md", "config.yaml"}
    assert make(pair) == first
    with pytest.raises(StoreError, match=r"samples\.jsonl: holds other samples than these: choose"):
        make(pair, num_samples=2)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (tmp_path / "mine").mkdir()
    with pytest.raises(StoreError, match="mine: exists already: give a new folder"):
        make(pair, output_dir=tmp_path / "mine")


def test_the_command_tells_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_samples(
        tmp_path / "s.jsonl", [sample("a", (TENNIS,)), sample("b", (CHESS,)), sample("c", ())]
    )
    words = ["synth", "splice", f"--samples=[{path}]", f"--output_dir={tmp_path / 'o'}"]
    assert main([*words, "--num_samples=8"]) == 0
    out = tmp_path / "o"
    said = f"{out}/samples.jsonl: 8 samples (new), 48 targets for 48 turns; card: {out}/README.md\n"
    assert capsys.readouterr().out == said
    card = (out / "README.md").read_text()
    assert "| replace, told by the user |" in card
    assert "0 targets that still follow what was ended were left out." in card
    assert main([*words, "--num_samples=8"]) == 0
    assert "8 samples (all of them stood there already)" in capsys.readouterr().out
    assert main([*words, "--num_samples=0"]) == 2
    assert "num_samples is 0: expected at least 1" in capsys.readouterr().err
    assert main([*words, "--switch.max_turns=3"]) == 2
    assert (
        "unknown key 'switch.max_turns', did you mean 'switch.max_turn'" in capsys.readouterr().err
    )
    assert main(["synth", "splice", f"--output_dir={out}", "--samples=[]"]) == 2
    assert "samples is empty: expected files that `gatt synth` wrote" in capsys.readouterr().err
