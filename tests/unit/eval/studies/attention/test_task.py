"""What is looked at, and every way in which it cannot be: one clear line each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.config import EvalConfig
from eval.records.case import Case
from eval.results import write as results
from eval.run import evaluate
from eval.studies.attention.task import AttendConfig, chosen_cases, read_task
from gatt.config.load import save_config
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.errors import ConfigError, DataError
from gatt.generation.config import EngineConfig
from gatt.generation.servers.config import ServerConfig
from gatt.sources.config import SourceConfig
from tests.support.runs.judged import RULE, instruction
from tests.support.runs.stages import RecordingEngine, dialogue, write_dialogues
from tests.support.texts.small_catalog import write_catalog


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its charts take seconds, and nobody looks at them here.
    monkeypatch.setattr(results, "render_report", lambda *_: None)


def settings(run: Path, adapter: Path, catalog: Path, num: int, num_turns: int) -> dict[str, Any]:
    """Return the settings of an evaluation of base and gatt on dialogues that are written beside it."""
    source = write_dialogues(run.with_suffix(".jsonl"), num=num, num_turns=num_turns)
    return {
        "output_dir": run,
        "arms": ("base", "gatt"),
        "adapters": {"gatt": adapter},
        "part": None,
        "source": SourceConfig(
            name="jsonl", path=str(source), min_turns=num_turns, max_turns=num_turns
        ),
        "instructions": InstructionChoice(catalog=(str(catalog),), num_entries=(1.0,)),
        "splits": ("train",),
        "num_dialogues": 3,
        "turns": tuple(range(1, num_turns + 1)),
        "probe_turns": (),
    }


def evaluation(folder: Path, **changes: Any) -> tuple[Path, EvalConfig]:
    """Return the folder of a finished evaluation of base and gatt, and its configuration."""
    adapter = folder / "adapter"
    adapter.mkdir(exist_ok=True)
    (adapter / "adapter_model.safetensors").write_bytes(b"weights")
    common = settings(folder / "run", adapter, write_catalog(folder / "catalog"), 4, 3)
    own = {"num_plain": 1, "turns": (1, 3), "probe_turns": (2,), "histories": ("reference", "own")}
    made = EvalConfig(**(common | own | changes))
    engine = RecordingEngine(lambda r: f"Reply to: {r.messages[-1].content}")
    evaluate(made, lambda: engine)
    return made.output_dir, made


def read(folder: Path, **keys: Any) -> list[dict[str, list[int]]]:
    """Return the turns of both arms' replies, case by case."""
    return [
        {arm: [s.turn for s in samples] for arm, samples in by_arm.items()}
        for _, by_arm in read_task(AttendConfig(results=folder, **keys)).replies
    ]


def test_an_evaluation_brings_everything(tmp_path: Path) -> None:
    folder, _ = evaluation(tmp_path)
    task = read_task(AttendConfig(results=folder))
    assert len(task.replies) == 3
    assert +task.dropped == {"no instruction": 1}
    assert task.config.adapters["gatt"] == tmp_path / "adapter"
    assert read(folder) == [{"base": [1, 3], "gatt": [1, 3]}] * 3
    assert read(folder, turns=(2, 3)) == [{"base": [3], "gatt": [3]}] * 3
    two = read_task(AttendConfig(results=folder, num_dialogues=2))
    assert [case.id for case, _ in two.replies] == ["train-0000", "train-0001"]


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
            read_task(AttendConfig(**{"results": folder, **keys}))

    refused(ConfigError, r"adapter/eval\.yaml: ", results=made.adapters["gatt"])
    refused(ConfigError, r"eval\.yaml: no arm 'mine'", arm="mine")
    save_config(replace(made, histories=("own",)), folder / "eval.yaml")
    refused(ConfigError, r"eval\.yaml: histories is \['own'\]")
    save_config(made, folder / "eval.yaml")
    whole = (folder / "samples.jsonl").read_bytes()
    lines = whole.decode("utf-8").splitlines(keepends=True)
    changed = [line.replace("What was", "Whatever was") for line in lines]
    (folder / "samples.jsonl").write_text("".join(changed), encoding="utf-8")
    with pytest.raises(DataError, match="case 'train-0000': its source gives another dialogue"):
        read(folder)
    server = ServerConfig(urls=("http://localhost:1/v1",))
    save_config(replace(made, engine=EngineConfig(model="m", server=server)), folder / "eval.yaml")
    refused(ConfigError, "its replies come from a server")
    save_config(replace(made, adapters={}, arms=("base",)), folder / "eval.yaml")
    refused(ConfigError, "no arm 'gatt'")


@pytest.mark.parametrize(
    "changes",
    [
        {"switch": SwitchConfig(cancel=1.0, min_turn=2, max_turn=2)},
        {"num_dialogues": 0, "num_plain": 2},
    ],
)
def test_an_evaluation_without_an_instruction_that_stays_is_one_line(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    folder, _ = evaluation(tmp_path, **changes)
    with pytest.raises(DataError, match=r"eval\.yaml: in none of its \d cases"):
        read_task(AttendConfig(results=folder))
