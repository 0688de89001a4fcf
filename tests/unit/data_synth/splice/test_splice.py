"""`gatt synth splice`: which samples make a pair, what stands on both sides, what is refused."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from data_synth.splice.config import SpliceConfig, SpliceSwitch
from data_synth.splice.splice import splice
from gatt.cli import main
from gatt.data.catalog.read import load_catalog
from gatt.data.catalog.switch_wording import TRAINING
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction, compose
from gatt.data.sample import GattSample, TurnTarget, read_samples
from gatt.data.switches import Switch, SwitchKind
from gatt.errors import CatalogError, ConfigError, DataError, StoreError
from tests.support.models.tiny import write_samples

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
            switch=SpliceSwitch(**switch),
            **{"output_dir": tmp_path / "out", "num_samples": 1, **changes},
        )
        return list(read_samples(splice(config).samples))

    return made


def made_of(sample: GattSample) -> list[str]:
    return [name.rpartition("/")[2] for name in sample.provenance["spliced"]]


def announced(kind: SwitchKind, new: Instruction) -> set[str]:
    """Return all words of training data for a change to something new."""
    return {TRAINING.of_new(kind, new, random.Random(n)) for n in range(100)}


def the_switch(sample: GattSample) -> Switch:
    (switch,) = sample.switches or ()
    return switch


def replies(sample: GattSample) -> list[str | None]:
    return [target.reply for target in sample.targets]


def test_targets_of_the_first_are_followed_by_those_of_the_second(
    make: Any, tmp_path: Path
) -> None:
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
        assert made.id == f"s{len(seen):06d}"
        assert switch.text in announced("replace", held)
        named = [f"{tmp_path / 'samples.jsonl'}/{name}" for name in (one, other)]
        assert made.provenance == {"teacher": "t", "spliced": named}
        seen[one, switch.turn] += 1
    # Every turn of both orders, none of them twice.
    assert seen == {(name, turn): 1 for name in "ab" for turn in range(2, NUM_TURNS + 1)}


def test_every_pair_comes_once_before_any_comes_again(make: Any) -> None:
    samples = [
        sample(f"{d}{e}", (entry,), d) for d in (1, 2, 3) for e, entry in ((1, TENNIS), (2, CHESS))
    ]
    pairs = [tuple(made_of(s)) for s in make(samples, num_samples=12)]
    assert sorted(pairs[:6]) == sorted(pairs[6:])
    assert len(set(pairs)) == 6
    assert {a[0] for a, b in pairs if a[0] == b[0]} == {"1", "2", "3"}
    assert pairs[:6] != sorted(pairs[:6])


@pytest.mark.parametrize("terse", [0.0, 1.0])
def test_what_is_taken_back_turns_plain(make: Any, terse: float) -> None:
    (made,) = make([sample("a", (TENNIS,)), sample("b", ())], "cancel", terse_probability=terse)
    switch = the_switch(made)
    assert switch.instruction is None
    assert made.instruction is not None
    assert made.instruction_at(switch.turn) is None
    assert (CATALOG.entry(TENNIS).terse in switch.text) == bool(terse)
    assert replies(made)[switch.turn - 2 : switch.turn] == [
        f"a at {switch.turn - 1}",
        f"b at {switch.turn}",
    ]


def test_what_is_added_is_told_alone_and_both_hold(make: Any) -> None:
    samples = [
        sample("a", (TENNIS,)),
        sample("b", (TENNIS, FRENCH)),
        # Another order, two at once, and one that has it not.
        *(sample(n, e) for n, e in (("c", (FRENCH, TENNIS)), ("d", (TENNIS, FRENCH, CHESS)))),
        sample("e", (CHESS,)),
    ]
    found = set()
    for made in make(samples, "add", num_samples=10, terse_probability=0.5):
        one, other = made_of(made)
        switch = the_switch(made)
        assert switch.instruction is not None
        assert made.instruction is not None
        # What held stands in its own words, and what comes is told alone.
        assert switch.instruction.text.startswith(made.instruction.text + " ")
        new = switch.instruction.text.removeprefix(made.instruction.text + " ")
        assert new in switch.text
        assert made.instruction.text not in switch.text
        assert new in {*CATALOG.entry(switch.instruction.entries[-1]).verbose} | {
            CATALOG.entry(switch.instruction.entries[-1]).terse
        }
        found.add((one, other, switch.instruction.entries))
    assert found == {("a", "b", (TENNIS, FRENCH)), ("b", "d", (TENNIS, FRENCH, CHESS))}


@pytest.mark.parametrize("is_own", [False, True])
def test_a_target_that_follows_what_was_ended_is_none_unless_it_is_the_topic(
    make: Any, tmp_path: Path, is_own: bool
) -> None:
    late = "I have a racket for tennis."
    one, other = sample("a", (TENNIS,)), sample("b", (CHESS,), t6=late)
    if is_own:
        messages = (*one.dialogue.messages[:-1], Message("assistant", "I love tennis."))
        one, other = (replace(s, dialogue=Dialogue("d-1", messages)) for s in (one, other))
    for made in make([one, other], num_samples=9):
        if made_of(made) == ["a", "b"]:
            last = made.targets[-1]
            found = (last.reply, last.reason, last.kind, last.refused)
            left_out = (None, "leaks", None, ("leaks",))
            assert found == ((late, None, "sampled", ()) if is_own else left_out)
    card = (tmp_path / "out" / "README.md").read_text()
    # Behind four turns that it may change at; at the last one nothing would be left.
    assert f"{0 if is_own else NUM_TURNS - 2} targets that still follow what was ended" in card


def test_a_target_that_repeats_one_before_the_change_is_none(make: Any) -> None:
    said = "I would rather stay at home and read a long book."
    one, other = sample("a", (TENNIS,), t1=said), sample("b", (), t6=said + " Yes.", t5="b at 6")
    for made in make([one, other], "cancel", num_samples=4):
        last = made.targets[-1]
        assert (last.reply, last.reason, last.refused) == (
            None,
            "repeats_target",
            ("repeats_target",),
        )


def test_a_turn_behind_which_all_targets_leak_is_passed_over(make: Any) -> None:
    leaks = {f"t{turn}": f"Tennis on day {turn}." for turn in range(3, NUM_TURNS + 1)}
    (made,) = make([sample("a", (TENNIS,)), sample("b", (), **leaks)], "cancel")
    assert the_switch(made).turn == 2
    with pytest.raises(DataError, match="num_samples to 1 "):
        make([sample("a", (TENNIS,)), sample("b", (), **leaks)], "cancel", num_samples=2)


def test_what_both_runs_say_of_themselves_is_kept(make: Any) -> None:
    one = {"teacher": "big", "seed": 1, "sampling": {"top_p": 0.9}, "versions": {"torch": "1"}}
    other = {"teacher": "small", "seed": 2, "sampling": {"top_p": 0.5}, "versions": {"torch": "1"}}
    pair = [
        replace(sample("a", (TENNIS,)), provenance=one),
        replace(sample("b", ()), provenance=other),
    ]
    (made,) = make(pair, "cancel")
    found = {k: v for k, v in made.provenance.items() if k != "spliced"}
    assert found == {**other, "teacher": "big + small"}


def test_the_turns_lie_between_those_told(make: Any) -> None:
    pair = [sample("a", (TENNIS,)), sample("b", ())]
    made = make(pair, "cancel", num_samples=2, switch={"min_turn": 3, "max_turn": 4})
    assert sorted(the_switch(s).turn for s in made) == [3, 4]
    for key in ("min_turn", "max_turn"):
        with pytest.raises(DataError, match=rf"^switch\.{key} is 9.* 6 turns"):
            make(pair, "cancel", switch={"max_turn": 9, key: 9})


def test_the_turns_have_a_target_on_both_sides_and_lie_where_told(make: Any) -> None:
    early = dict.fromkeys(("t1", "t2"))
    one, other = sample("a", (TENNIS,), **early), sample("b", (), t6=None)
    found = [the_switch(s).turn for s in make([one, other], "cancel", num_samples=2)]
    assert sorted(found) == [4, 5]


def test_kinds_come_in_proportion(make: Any) -> None:
    samples = [sample(f"{d}.{e}", e, d) for d in range(40) for e in ((TENNIS,), (CHESS,), ())]
    made = make(samples, num_samples=300, switch={"replace": 3.0, "cancel": 1.0})
    kinds = Counter(the_switch(s).kind for s in made)
    assert kinds.total() == 300
    assert kinds["replace"] == pytest.approx(225, abs=30)
    # Each has draws of its own.
    assert len({(the_switch(s).kind, the_switch(s).text) for s in made}) > 10


def test_weights_are_refused_where_none_is_above_zero() -> None:
    for weights in ({"replace": 0.0}, {"cancel": -1.0}, {"add": math.inf}, {"add": math.nan}):
        with pytest.raises(ConfigError, match=" ".join(weights)):
            SpliceSwitch(**weights)
    with pytest.raises(ConfigError, match="min_turn is 1"):
        SpliceSwitch(min_turn=1)
    for share in (-0.1, 1.1):
        with pytest.raises(ConfigError, match="terse_probability is"):
            SpliceConfig(samples=(Path("x"),), output_dir=Path("y"), terse_probability=share)


@pytest.mark.parametrize(
    ("entries", "kind", "needed"),
    [
        ((TENNIS, TENNIS), "replace", "two instructions"),
        (
            (TENNIS, CHESS),
            "cancel",
            "plain_fraction=1",
        ),
        ((TENNIS, CHESS), "add", "an entry more"),
    ],
)
def test_a_kind_without_a_pair_is_told(make: Any, entries: Any, kind: str, needed: str) -> None:
    samples = [sample(f"s{i}", (entry,)) for i, entry in enumerate(entries)]
    with pytest.raises(
        DataError,
        match=rf"samples\.jsonl: .*1 dialogues .*{needed}.*switch\.{kind}",
    ):
        make(samples, kind)


def test_other_dialogues_and_samples_with_changes_make_no_pair(make: Any) -> None:
    changed = replace(
        sample("b", (CHESS,)), switches=(Switch(2, "cancel", "user", "Stop it.", None),)
    )
    with pytest.raises(DataError, match="2 dialogues"):
        make([sample("a", (TENNIS,)), changed, sample("c", (CHESS,), dialogue=2)])
    with pytest.raises(DataError, match=r"samples\.jsonl"):
        make([changed])


def test_more_than_there_are_is_told_with_how_many(make: Any, tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"^num_samples is 11, .*num_samples to 10 or less, lower switch\.replace",
    ):
        make([sample("a", (TENNIS,)), sample("b", (CHESS,))], num_samples=11)
    assert not (tmp_path / "out").exists()


def test_an_entry_that_the_catalogue_does_not_know(make: Any) -> None:
    strange = sample("a", (TENNIS,))
    assert strange.instruction is not None
    strange = replace(strange, instruction=replace(strange.instruction, entries=("hobby.tenis",)))
    with pytest.raises(
        CatalogError,
        match=r"^sample \S+samples\.jsonl/a: .*'hobby\.tenis'",
    ):
        make([strange, sample("b", ())], "cancel")
    # What replaces another tells its own words.
    assert make([strange, sample("b", (CHESS,))])


def test_an_entry_that_the_catalogue_knows_otherwise_is_not_added(make: Any) -> None:
    other = sample("b", (TENNIS, FRENCH))
    assert other.instruction is not None
    verifiers = other.instruction.verifiers[:1] + told(CHESS).verifiers
    changed = replace(other, instruction=replace(other.instruction, verifiers=verifiers))
    with pytest.raises(CatalogError, match=r"/b: .*'language\.fr' has other verifiers"):
        make([sample("a", (TENNIS,)), changed], "add")


def test_the_catalogue_is_the_one_told(make: Any, tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    folder.mkdir()
    entry = {
        "id": "hobby.moths",
        "value": "moths",
        "verbose": ["You collect moths."],
        "terse": "Hobby: moths.",
        "verifiers": [{"kind": "terms", "any_of": ["moth"]}],
        "good": ["A moth."],
        "bad": ["No."],
    }
    (folder / "hobby.yaml").write_text(yaml.safe_dump({"family": "hobby", "entries": [entry]}))
    own = load_catalog(folder).entry("hobby.moths")
    moths = replace(sample("a", ()), instruction=compose([own], random.Random(0), 0.0))
    with pytest.raises(CatalogError, match=r"'hobby\.moths'"):
        make([moths, sample("b", ())], "cancel")
    assert make([moths, sample("b", ())], "cancel", catalog=(str(folder),))


def test_a_second_run_finds_its_samples_and_another_is_refused(make: Any, tmp_path: Path) -> None:
    pair = [sample("a", (TENNIS,)), sample("b", (CHESS,))]
    first = make(pair)
    out = tmp_path / "out"
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert set(before) == {"samples.jsonl", "README.md", "config.yaml"}
    assert make(pair) == first
    with pytest.raises(StoreError, match=r"samples\.jsonl: "):
        make(pair, num_samples=2)
    # It makes the same samples, and says otherwise what they are.
    with pytest.raises(StoreError, match=r"README\.md: "):
        make(pair, switch={"max_turn": NUM_TURNS})
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (out / "README.md").unlink()
    with pytest.raises(StoreError, match=r"README\.md: "):
        make(pair)
    (tmp_path / "mine").mkdir()
    with pytest.raises(StoreError, match="mine: exists"):
        make(pair, output_dir=tmp_path / "mine")


def test_the_command_tells_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_samples(
        tmp_path / "s.jsonl", [sample("a", (TENNIS,)), sample("b", (CHESS,)), sample("c", ())]
    )
    words = ["synth", "splice", f"--samples=[{path}]", f"--output_dir={tmp_path / 'o'}"]
    words.append("--switch.cancel=1")
    assert main([*words, "--num_samples=8"]) == 0
    out = tmp_path / "o"
    said = (
        f"{out}/samples.jsonl: 8 samples (8 new), 48 targets for 48 turns; card: {out}/README.md\n"
    )
    assert capsys.readouterr().out == said
    card = (out / "README.md").read_text()
    assert "| replace, told by the user |" in card
    assert "- ghost-attention\n" in card
    assert "Teacher: `t`. The replies are a model's own and may be wrong;" in card
    told = "Left out behind a change: 0 targets that still follow what was ended, and 0 that repeat"
    assert told in card
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
