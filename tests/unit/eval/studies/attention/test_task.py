"""What is looked at, and every way in which it cannot be: one clear line each."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.config import EvalConfig
from eval.records.case import Case
from eval.results import write as results
from eval.run import evaluate
from eval.studies.attention.config import AttendConfig
from eval.studies.attention.spoken import new_replies, replies_of
from eval.studies.attention.task import Task, chosen_cases, dialogues_named, plan
from gatt.config.load import save_config
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.data.dialogue import Dialogue, Message
from gatt.errors import CatalogError, ConfigError, DataError
from gatt.generation.config import EngineConfig
from gatt.generation.servers.config import ServerConfig
from gatt.sources.config import SourceConfig
from tests.support.runs.judged import RULE, instruction
from tests.support.runs.stages import RecordingEngine, dialogue, write_dialogues
from tests.support.texts.small_catalog import write_catalog


def config(folder: Path, **changes: Any) -> AttendConfig:
    path = write_dialogues(folder / "d.jsonl", num=4, num_turns=3)
    plain: dict[str, Any] = {
        "adapter": folder / "adapter",
        "output_dir": folder / "out",
        "dialogue": str(path),
        "entry": "hobby.tennis",
        "catalog": (str(write_catalog(folder / "catalog")),),
    }
    return AttendConfig(**(plain | changes))


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its charts take seconds, and nobody looks at them here.
    monkeypatch.setattr(results, "render_report", lambda *_: None)


def evaluation(folder: Path, **changes: Any) -> tuple[Path, EvalConfig]:
    """Return the folder of a finished evaluation of base and gatt, and its configuration."""
    adapter = folder / "adapter"
    adapter.mkdir(exist_ok=True)
    (adapter / "adapter_model.safetensors").write_bytes(b"weights")
    source = write_dialogues(folder / "d.jsonl", num=4, num_turns=3)
    settings: dict[str, Any] = {
        "output_dir": folder / "run",
        "adapters": {"gatt": adapter},
        "part": None,
        "source": SourceConfig(name="jsonl", path=str(source), min_turns=3, max_turns=3),
        "instructions": InstructionChoice(
            catalog=(str(write_catalog(folder / "catalog")),), num_entries=(1.0,)
        ),
        "splits": ("train",),
        "num_dialogues": 3,
        "num_plain": 1,
        "turns": (1, 3),
        "probe_turns": (2,),
        "histories": ("reference", "own"),
        "task_completion": False,
    }
    made = EvalConfig(**(settings | changes))
    engine = RecordingEngine(lambda r: f"Reply to: {r.messages[-1].content}")
    evaluate(made, lambda: engine)
    return made.output_dir, made


def test_an_entry_is_told_in_its_first_wording_and_judges(tmp_path: Path) -> None:
    task = plan(config(tmp_path, turns=(1, 3), num_dialogues=2))
    assert [case.id for case in task.cases] == ["d-000", "d-001"]
    told = task.cases[0].instruction
    assert told is not None
    assert (told.id, told.family) == ("hobby.tennis", "hobby")
    assert told.verifiers
    assert task.config.turns == (1, 3)
    assert task.arms == ("base", "gatt")
    free = plan(config(tmp_path, entry=None, instruction="Be brief."))
    assert free.cases[0].instruction.text == "Be brief."
    assert free.config.turns == (1, 2, 3)


def test_a_dialogue_brings_its_instruction_as_system_message(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    told = Dialogue("a/b", (Message("system", "Speak French."), *dialogue(1).messages))
    rows = [told.as_dict(), dialogue(2).as_dict()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = plan(config(tmp_path, entry=None, dialogue=f"{path}/a/b"))
    (case,) = task.cases
    assert case.instruction.text == "Speak French."
    assert not case.dialogue.has_system
    both = plan(config(tmp_path, entry=None, dialogue=str(path)))
    assert (len(both.cases), both.dropped) == (1, {"no instruction": 1})
    with pytest.raises(DataError, match=r"no system message in dialogue 'd-002', and no instruct"):
        plan(config(tmp_path, entry=None, dialogue=f"{path}/d-002"))


def test_a_dialogue_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    path = write_dialogues(tmp_path / "d.jsonl", num=3)
    assert [d.id for d in dialogues_named(f"{path}/d-001")] == ["d-001"]
    with pytest.raises(DataError, match=r"d\.jsonl: no dialogue 'd-01', did you mean 'd-001'"):
        dialogues_named(f"{path}/d-01")
    with pytest.raises(DataError, match=r"none\.jsonl: no such file: expected a JSONL file"):
        dialogues_named(str(tmp_path / "none.jsonl"))
    with pytest.raises(CatalogError, match=r"no catalogue entry 'hobby\.xx'"):
        plan(config(tmp_path, entry="hobby.xx"))
    with pytest.raises(DataError, match="the instruction is blank"):
        plan(config(tmp_path, entry=None, instruction=" "))
    with pytest.raises(DataError, match=r"turns is \[9\]: the longest dialogue has 3 turns"):
        plan(config(tmp_path, turns=(9,)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adapter": None}, "adapter is missing: expected the folder"),
        ({"output_dir": None}, "output_dir is missing: expected a folder"),
        ({"instruction": "x"}, "entry and instruction: expected one of them"),
        ({"dialogue": None, "entry": None}, "no instruction: expected entry"),
        ({"samples": Path("run")}, "samples with dialogue: expected one of them"),
        ({"arm": "base"}, "arm is 'base': expected a name of the adapter's own"),
        ({"turns": (2, 1)}, r"turns is \[2, 1\]: expected rising turns from 1"),
        ({"num_dialogues": 0}, "num_dialogues is 0: expected at least 1"),
        ({"bin_tokens": 0}, "bin_tokens is 0: expected at least 1"),
        ({"chart": Path("a.jpeg")}, r"chart is 'a\.jpeg': expected a name that ends in one of"),
        (
            {"dialogue": None, "source": SourceConfig(name="questions")},
            r"source\.name is 'questions', which a model has to answer first",
        ),
        (
            {"engine": EngineConfig(server=ServerConfig(urls=("http://localhost:1/v1",)))},
            r"engine\.server is given: expected a local model",
        ),
    ],
)
def test_keys_that_do_not_go_together_are_one_line(tmp_path, changes, message) -> None:
    with pytest.raises(ConfigError, match=message):
        config(tmp_path, **changes)


def test_new_replies_are_judged_within_the_history_that_is_asked_for(tmp_path: Path) -> None:
    engine = RecordingEngine(lambda r: f"Reply {len(r.messages)}")
    for history, second in (("reference", dialogue(0).replies[0]), ("own", "Reply 2")):
        task = plan(config(tmp_path, history=history, turns=(3,), num_dialogues=1))
        spoken = new_replies(task, engine)
        assert [one.arm for one in spoken] == ["base", "gatt"]
        assert [s.turn for s in spoken[0].samples] == [3]
        assert spoken[0].dialogue.replies[0] == second
        assert spoken[0].said[0].text == "Reply 6"
    assert {adapter for _, _, adapter in engine.calls} == {None, "gatt"}


def test_an_evaluation_brings_everything(tmp_path: Path) -> None:
    folder, _ = evaluation(tmp_path)
    task = plan(AttendConfig(samples=folder))
    assert len(task.cases) == 3
    assert task.dropped == {"no instruction": 1}
    assert task.history == "reference"
    assert task.config.adapters["gatt"] == tmp_path / "adapter"
    spoken = replies_of(task, folder)
    assert len(spoken) == 6
    assert [s.turn for s in spoken[0].samples] == [1, 3]
    assert spoken[0].dialogue == spoken[0].case.dialogue
    own = replies_of(plan(AttendConfig(samples=folder, history="own", turns=(3,))), folder)
    # Turn 2 was not judged, and yet stands in the history.
    assert own[0].dialogue.replies[1].startswith("Reply to: What was the")
    assert [s.turn for s in own[0].samples] == [3]
    two = plan(AttendConfig(samples=folder, num_dialogues=2, adapter=Path("other")))
    assert [case.id for case in two.cases] == ["train-0000", "train-0001"]
    assert two.config.adapters["gatt"] == Path("other")
    none = plan(AttendConfig(samples=folder, turns=(2,)))
    assert replies_of(none, folder) == []
    assert none.dropped["no reply at these turns"] == 6


def test_cases_are_chosen_from_all_dialogues_families_and_splits_alike() -> None:
    kinds = [("train", "hobby"), ("train", "figure"), ("heldout_value", "hobby")]
    told = [replace(instruction(RULE), split=split, families=(f,)) for split, f in kinds]
    # Dialogues 0 to 5, each once under a hobby or figure and once under an unseen hobby.
    seen = [Case(f"seen-{n}", dialogue(n), told[n % 2], None) for n in range(6)]
    unseen = [Case(f"unseen-{n}", dialogue(n), told[2], None) for n in range(6)]
    cases = [*seen, *unseen]
    assert [c.id for c in chosen_cases(cases, 3)] == ["seen-0", "seen-1", "unseen-2"]
    six = chosen_cases(cases, 6)
    assert len({c.dialogue.id for c in six}) == 6
    counts = Counter((c.instruction.split, c.instruction.families) for c in six if c.instruction)
    assert sorted(counts.values()) == [2, 2, 2]
    # More than there are dialogues: some a second time, none a third.
    assert max(Counter(c.dialogue.id for c in chosen_cases(cases, 8)).values()) == 2
    assert chosen_cases(cases, 99) == cases


def test_an_evaluation_that_does_not_fit_is_one_line(tmp_path: Path) -> None:
    folder, made = evaluation(tmp_path, histories=("reference",))

    def refused(kind: type[Exception], message: str, **keys: Any) -> None:
        with pytest.raises(kind, match=message):
            plan(AttendConfig(**{"samples": folder, **keys}))

    elsewhere = made.adapters["gatt"]
    refused(DataError, r"adapter: no eval\.yaml: expected the output_dir", samples=elsewhere)
    refused(ConfigError, r"eval\.yaml: no arm 'mine' \(its arms: base, base\+reminder", arm="mine")
    refused(ConfigError, r"history is 'own': .*eval\.yaml has reference", history="own")
    task: Task = plan(AttendConfig(samples=folder))
    whole = (folder / "samples.jsonl").read_bytes()
    found = replies_of(task, folder)
    (folder / "samples.jsonl").rename(folder / "elsewhere")
    (folder / "samples.jsonl.gz").write_bytes(gzip.compress(whole))
    assert replies_of(task, folder) == found
    lines = whole.decode("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["arm"] != "gatt"]
    (folder / "samples.jsonl").write_text("".join(kept), encoding="utf-8")
    with pytest.raises(DataError, match="no reply of arm 'gatt' to case 'train-0000' with history"):
        replies_of(task, folder)
    changed = [line.replace("What was", "Whatever was") for line in lines]
    (folder / "samples.jsonl").write_text("".join(changed), encoding="utf-8")
    with pytest.raises(DataError, match="case 'train-0000': its source gives another dialogue now"):
        replies_of(task, folder)
    server = ServerConfig(urls=("http://localhost:1/v1",))
    save_config(replace(made, engine=EngineConfig(model="m", server=server)), folder / "eval.yaml")
    refused(ConfigError, "its replies come from a server, which tells no attention weights")
    save_config(replace(made, adapters={}, arms=("base",)), folder / "eval.yaml")
    refused(ConfigError, "no arm 'gatt'")


def test_cases_whose_instruction_changes_are_left_out_and_counted(tmp_path: Path) -> None:
    switch = SwitchConfig(replace=0.5, min_turn=2, max_turn=2)
    folder, _ = evaluation(tmp_path, switch=switch)
    task = plan(AttendConfig(samples=folder))
    # The seed draws a change for the third of them.
    assert [case.id for case in task.cases] == ["train-0000", "train-0001"]
    assert task.dropped == {"no instruction": 1, "the instruction changes in the middle": 1}
    assert len(replies_of(task, folder)) == 4


def test_an_evaluation_with_nothing_but_changes_is_one_line(tmp_path: Path) -> None:
    always = SwitchConfig(cancel=1.0, min_turn=2, max_turn=2)
    folder, _ = evaluation(tmp_path, switch=always, num_plain=0)
    with pytest.raises(DataError, match="the instruction changes in each of its 3 cases that have"):
        plan(AttendConfig(samples=folder))


def test_an_evaluation_without_instructions_is_one_line(tmp_path: Path) -> None:
    folder, _ = evaluation(tmp_path, num_dialogues=0, num_plain=2)
    with pytest.raises(DataError, match="none of its 2 cases has an instruction: expected an eval"):
        plan(AttendConfig(samples=folder))
