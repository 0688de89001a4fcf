"""Rounds of a run, end to end on a tiny model: drawn, trained, measured, interrupted and gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from data_synth.pairs import run as pairs_run
from eval import run as eval_run
from gatt.cli import main
from gatt.commands.improve.rounds import plan_rounds
from gatt.config.load import config_dict
from gatt.data.sample import GattSample, TurnTarget, read_samples
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.errors import ConfigError
from gatt.generation.base import GenerationRequest
from gatt.models.digest import adapter_digest
from gatt.runs.input_file import read_json
from tests.support.models.tiny import save_tiny_model
from tests.support.models.trained import save_adapter
from tests.support.runs.case_files import dialogue_config
from tests.support.runs.stages import RecordingEngine, dialogue, hobby, write_jsonl


def replied(request: GenerationRequest) -> str:
    """Keep the instruction at some draws of each turn but the third, where all of them keep it."""
    _, turn, number = request.key.rsplit("/", 2)
    keeps = turn == "3" or int(number) % 2
    return f"On day {turn} I {'play tennis' if keeps else 'stay in'} at {request.key}."


def measured(request: GenerationRequest) -> str:
    """Step out of the role before a round, and not after it."""
    if request.group.startswith("before"):
        return f"As an AI I have no hobby, {request.key}."
    return f"It was calm when we went for lunch at {request.key}."


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("base"))


@pytest.fixture
def run_folder(base: Path, tmp_path: Path) -> Path:
    """Return a finished run without its synthesis: its samples are one file of the training."""
    folder = tmp_path / "run"
    adapter = folder / "train" / "adapter"
    adapter.parent.mkdir(parents=True)
    save_adapter(adapter, str(base))
    # The evaluation has dialogues 0 to 4.
    write_marks(adapter, TrainedOn.of([dialogue(n) for n in range(10, 13)], set()))
    # One dialogue is plain.
    samples = [
        GattSample(
            f"s{n}", dialogue(10 + n), hobby("tennis") if n else None,
            tuple(TurnTarget(turn, f"Day {turn}.") for turn in (1, 2, 3)), {"seed": 0},
        )
        for n in range(3)
    ]  # fmt: skip
    path = write_jsonl(tmp_path / "samples.jsonl", (one.as_dict() for one in samples))
    evaluation = dialogue_config(
        tmp_path, arms=(), adapters={"gatt": adapter}, num_dialogues=4, probe_turns=(),
        histories=("reference",), turns=(1, 2),
    )  # fmt: skip
    settings = config_dict(evaluation) | {"output_dir": str(folder), "engine": {"model": str(base)}}
    run: dict[str, Any] = {
        "output_dir": str(folder),
        "train": {
            "model": str(base), "samples": [str(path)], "output_dir": str(folder / "train"),
            "gradient_accumulation_steps": 1, "logging_steps": 1, "report_to": "none",
            "disable_tqdm": True, "max_steps": 3, "history": "mixed",
        },
        "eval": settings,
    }  # fmt: skip
    (folder / "run.yaml").write_text(yaml.safe_dump(run), encoding="utf-8")
    return folder


class Engines:
    """Makes the engine of each round's draws; `asked` are those that were made."""

    def __init__(self) -> None:
        self.asked: list[RecordingEngine] = []
        self.adapters: list[Path] = []
        self.interrupt_at: int | None = None

    def make(self, config: Any, adapters: Any) -> RecordingEngine:
        self.adapters += adapters.values()
        self.asked.append(RecordingEngine(replied, interrupt_at=self.interrupt_at))
        return self.asked[-1]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    found = Engines()
    monkeypatch.setattr(pairs_run, "make_engine", found.make)
    monkeypatch.setattr(eval_run, "make_engine", lambda *_: RecordingEngine(measured))
    return found


def improve(folder: Path, *words: str) -> int:
    return main(["improve", str(folder), *words, "--pairs.batch_samples=2"])


def test_two_rounds_with_interruptions(run_folder, engines, monkeypatch, capsys) -> None:
    start, first, second = (
        run_folder / place / "train" / "adapter" for place in ("", "round-1", "round-2")
    )
    engines.interrupt_at = 6
    assert improve(run_folder, "--rounds", "2") == 130
    stored = (run_folder / "round-1" / "pairs" / "samples.jsonl").read_text(encoding="utf-8")
    assert 1 < len(stored.splitlines()) < 5
    # Again, now in the evaluation.
    engines.interrupt_at = None

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(eval_run, "evaluate", interrupted)
        assert improve(run_folder, "--rounds", "2") == 130
    trained = adapter_digest(first)
    assert trained != adapter_digest(start)
    assert not (run_folder / "round-1" / "README.md").exists()
    capsys.readouterr()
    assert improve(run_folder, "--rounds", "2") == 0
    said = capsys.readouterr().out
    assert adapter_digest(first) == trained
    assert "already trained" in said.partition("[round 2")[0]
    assert "left" not in said
    assert said.splitlines()[-1].endswith(str(second))
    # The next round is drawn from the adapter of this one, and goes on from it.
    assert engines.adapters == [start, start, first]
    config = read_json(second.parent / "train.json")["config"]
    assert (config["init_adapter"], config["objective"]) == (str(first), "preference")
    assert config["history"] == "reference"
    made = list(read_samples(run_folder / "round-2" / "pairs" / "samples.jsonl"))
    assert [one.id for one in made] == ["s0", "s1-own", "s1-reference", "s2-own", "s2-reference"]
    assert [one.num_pairs for one in made] == [0, 2, 2, 2, 2]
    counts = read_json(run_folder / "round-1" / "pairs" / "pairs.json")
    assert counts["rejected"] == {"rejected": 8}
    assert counts["no_pair"] == {"no_failure": 4}
    card = (run_folder / "round-1" / "README.md").read_text(encoding="utf-8")
    for fact in (
        "| rejected | 8 |",
        "| no_failure | 4 |",
        "| own | 6 | 6 | 4 |",
        "the round started from",
    ):
        assert fact in card
    improved, worse = card.partition("### Improved")[2].split("### Got worse")
    assert "| keeps | reference | all turns | +100" in improved
    assert "Nothing." in worse.partition("### Unclear")[0]
    results = read_json(run_folder / "round-1" / "eval" / "results.json")
    assert {record["arm"] for record in results["differences"]} == {"after"}
    # All of it is there: nobody is asked again.
    num_asked = len(engines.asked)
    assert improve(run_folder, "--rounds", "2") == 0
    assert len(engines.asked) == num_asked


def test_accepted_replies_alone_are_learned_with_targets(run_folder, engines, base) -> None:
    written = yaml.safe_load((run_folder / "run.yaml").read_text(encoding="utf-8"))
    del written["eval"]
    (run_folder / "run.yaml").write_text(yaml.safe_dump(written), encoding="utf-8")
    assert improve(run_folder, "--objective", "targets") == 0
    pairs = run_folder / "round-1" / "pairs" / "samples.jsonl"
    rows = run_folder / "rows.jsonl"
    assert (
        main(["rows", str(pairs), f"--model={base}", f"--output={rows}", "--format=trl-dpo"]) == 0
    )
    assert len(rows.read_text(encoding="utf-8").splitlines()) == 8
    record = read_json(run_folder / "round-1" / "train" / "train.json")
    assert record["config"]["learning_rate"] == 2e-4
    assert set(record["data"]["objectives"]) == {"targets"}
    # Four dialogues of three accepted replies, and the plain one.
    assert record["data"]["num_targets"] == 15
    assert "Not measured" in (run_folder / "round-1" / "README.md").read_text(encoding="utf-8")


def test_the_plan_writes_nothing_and_knows_what_is_to_come(run_folder, engines, capsys) -> None:
    before = sorted(path for path in run_folder.rglob("*"))
    assert improve(run_folder, "--rounds", "2", "--plan") == 0
    said = capsys.readouterr().out
    assert sorted(path for path in run_folder.rglob("*")) == before
    assert "12 turns over own and reference history, 4 replies each" in said
    assert said.count("5 samples to come") == 2
    assert "[6/6] round 2, eval" in said


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["--rounds", "0"], ["--rounds is 0"]),
        (["--pairs.relpies=8"], ["pairs.relpies", "pairs.replies"]),
        (["--train.init_adapter=x"], ["train.init_adapter"]),
        (["--pairs.engine.server.urls=http://localhost:1"], ["pairs.engine.server"]),
        (["--pairs.replies=1", "--train.learning_rate=0"], ["replies is 1", "learning_rate is 0"]),
    ],
)
def test_wrong_words_are_told_before_anything_runs(
    run_folder, engines, capsys, words, facts
) -> None:
    assert improve(run_folder, *words) == 2
    said = capsys.readouterr().err
    assert all(fact in said for fact in facts), said
    assert not list(run_folder.glob("round-*"))


def test_a_folder_that_is_no_run(tmp_path, run_folder) -> None:
    with pytest.raises(ConfigError, match=r"run\.yaml"):
        plan_rounds(tmp_path, 1, "preference")
    (run_folder / "train" / "adapter").rename(tmp_path / "elsewhere")
    assert improve(run_folder) == 2
