"""`gatt eval` as a whole: resumable to the byte, with results that one can rely on."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from eval import run as run_module
from eval.commands.eval import renew
from eval.config import EvalConfig
from eval.metrics.curves import CurvePoint
from eval.records.samples import RESULTS_SCHEMA, read_samples
from eval.results.provenance import read_calls
from eval.run import EvalResult, evaluate
from gatt.cli import main
from gatt.data.instruction import Instruction
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.errors import CatalogError, ConfigError, DataError, ModelError, StaleError, StoreError
from gatt.generation.base import Generation, GenerationRequest
from gatt.generation.config import EngineConfig
from gatt.generation.local.engine import EngineCounters
from gatt.generation.servers.config import ServerConfig
from tests.support.runs.case_files import dialogue_config
from tests.support.runs.stages import (
    RecordingEngine,
    dialogue,
    write_adapter,
    write_dialogues,
    write_model,
)

pytestmark = pytest.mark.usefixtures("no_page")

CURVE_KEYS = {field.name for field in fields(CurvePoint)}


@pytest.fixture
def config(tmp_path: Path) -> EvalConfig:
    return dialogue_config(
        tmp_path,
        arms=(),
        adapters={"gatt": write_adapter(tmp_path / "adapter")},
        splits=("train", "heldout_value"),
        num_dialogues=3,
        num_plain=2,
        batch_cases=2,
    )


def reply(request: GenerationRequest) -> str:
    """Follow the instruction in turn 1 and wherever the reminder stands."""
    told = " ".join(m.content for m in request.messages[-2:])
    return f"Of that I can say this: {told}"


def run(config: EvalConfig, **settings: int) -> tuple[EvalResult, RecordingEngine]:
    engine = RecordingEngine(reply, **settings)
    return evaluate(config, lambda: engine), engine


def test_a_run_leaves_results_samples_and_report(config, monkeypatch) -> None:
    monkeypatch.undo()  # With its page.
    result, engine = run(config)
    results = json.loads((config.output_dir / "results.json").read_text(encoding="utf-8"))
    assert results == json.loads(json.dumps(result.results))
    assert results["schema"] == RESULTS_SCHEMA
    assert {"config", "source", "verifiers", "tokens", "commit"} <= set(results["run"])
    assert all(set(point) == CURVE_KEYS for point in results["curves"])
    found = {(p["arm"], p["history"]) for p in results["curves"]}
    assert found == {(a, h) for a in (*config.arms, "dialogue") for h in config.histories}
    metrics = {p["metric"] for p in results["curves"] if p["arm"] != "dialogue"}
    assert metrics == {
        "keeps", "keeps_loose", "survival", "probe_recall", "repetition", "false_trigger",
        # A hobby is asked for in the user's own dialogues.
        "answers", "joint",
    }  # fmt: skip
    own = {p["metric"] for p in results["curves"] if p["arm"] == "dialogue"}
    assert own == {"vacuous_keeps", "vacuous_false_trigger"}
    samples = list(read_samples(config.output_dir / "samples.jsonl"))
    assert {(s.history, s.kind) for s in samples if s.is_repeated is not None} == {("own", "turn")}
    # 3 arms x 2 histories x (6 cases x (3 turns + 1 probe) + 2 plain x 3 turns), 2 without a history: 6 x 3
    assert len(samples) == result.num_new == 2 * (3 * (6 * 4 + 2 * 3) + 2 * 6 * 3)
    assert {name for _, _, name in engine.calls} == {None, "gatt"}
    counted = results["false_triggers"]
    (note,) = [n for n in results["notes"] if "false trigger" in n]
    total = counted["num_entries"] + counted["num_left_out"]
    assert f"one of {counted['num_entries']} of the {total} catalogue entries" in note
    page = result.report.read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "system + reminder" in page
    # A second run asks nobody and changes nothing. The lock says who held the store last.
    written = [*config.output_dir.glob("*.json"), *config.output_dir.glob("*.jsonl")]
    before = [path.read_bytes() for path in written]
    second = evaluate(config, lambda: pytest.fail("an engine was made"))
    assert (second.num_new, second.results["run"]) == (0, result.results["run"])
    assert [path.read_bytes() for path in written] == before


def test_an_interrupted_run_goes_on_to_the_same_bytes(config, tmp_path) -> None:
    whole, engine = run(replace(config, output_dir=tmp_path / "whole"))
    assert len(engine.calls) > 30
    for call in (1, 15, 30):
        cut = replace(config, output_dir=tmp_path / f"cut-{call}")
        assert_resumes(cut, call, whole, engine, tmp_path / "whole")


def assert_resumes(
    config: EvalConfig, call: int, whole: EvalResult, engine: RecordingEngine, folder: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(config, interrupt_at=call)
    kept = (config.output_dir / "rollouts.jsonl").read_bytes()
    result, again = run(config)
    assert (config.output_dir / "rollouts.jsonl").read_bytes().startswith(kept)
    one, two = (place / "samples.jsonl" for place in (config.output_dir, folder))
    assert one.read_bytes() == two.read_bytes()
    assert result.results["curves"] == whole.results["curves"]
    assert bool(kept) == (call > 1)
    # Not even a turn is asked again, but for those of the step that was cut.
    rows = [json.loads(line) for line in kept.splitlines()]
    num_kept = sum(
        len(row["samples"])
        + ("said" in row and not any(s["kind"] == "turn" for s in row["samples"]))
        for row in rows
        # Nobody is asked for a canned string.
        if not row["key"].startswith("canned/")
    )
    assert len(again.requests) + num_kept == len(engine.requests)


def test_the_end_of_the_context_is_told(config) -> None:
    def full(request: GenerationRequest) -> str | Generation:
        case, turn, _ = request.key.split("/")
        is_full = case == "train-0000" and int(turn) > 2
        return Generation("", "context_limit", 0) if is_full else reply(request)

    engine = RecordingEngine(full)
    found = evaluate(replace(config, arms=("base",)), lambda: engine).results["limits"]
    assert found == [
        {"arm": "base", "history": history, "num_cases": 8, "num_cases_cut": 1, "first_turn": first,
         "num_replies_without": num}
        for history, first, num in (("reference", 4, 1), ("own", 3, 2))
    ]  # fmt: skip


def notes(config: EvalConfig, *words: str) -> list[str]:
    """Return the notes of a run that hold one of some words."""
    return [n for n in run(config)[0].results["notes"] if any(word in n for word in words)]


def test_dialogues_that_an_adapter_was_trained_on_are_refused(config) -> None:
    write_marks(config.adapters["gatt"], TrainedOn.of([dialogue(n, 9) for n in range(5)]))
    with pytest.raises(DataError, match=r"arm 'gatt': 3 of 3 dialogues .* part: eval"):
        run(config)
    with pytest.raises(ModelError, match=r"no adapter_model.safetensors: expected a folder saved"):
        run(replace(config, adapters={"gatt": config.output_dir.parent}))
    assert not config.output_dir.exists()
    write_marks(config.adapters["gatt"], TrainedOn.of([dialogue(77)]))
    assert not notes(config, "training dialogues")
    (config.adapters["gatt"] / "trained_on.json").unlink()
    other = replace(config, output_dir=config.output_dir.with_name("unknown"))
    (note,) = notes(other, "training dialogues")
    assert note.startswith("gatt: ")


def test_the_part_of_the_dialogues_is_noted_if_it_is_not_that_of_evaluations(
    config, tmp_path: Path
) -> None:
    path = write_dialogues(tmp_path / "many.jsonl", num=60, num_turns=4)
    few = replace(
        config, source=replace(config.source, path=str(path)), num_dialogues=1, num_plain=0
    )
    for part, fact in (("eval", None), ("validation", "validation part"), (None, "not limited")):
        at = config.output_dir.with_name(f"part-{part}")
        found = notes(replace(few, part=part, output_dir=at), "Dialogues ")
        assert [fact in note for note in found] == ([True] if fact else [])


SERVED = EngineConfig(server=ServerConfig(urls=("http://127.0.0.1:1/v1",)))


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({}, "only_trained: .*'gatt' does not say"),
        ({"cases": Path("c.jsonl")}, "cases with only_trained"),
        ({"engine": SERVED}, "engine.server"),
    ],
)
def test_an_adapter_that_does_not_say_its_instructions_cannot_choose_them(
    config, changes, facts
) -> None:
    with pytest.raises(ConfigError, match=facts):
        run(replace(config, only_trained=True, **changes))


def test_instructions_that_training_did_not_draw_are_noted_and_can_be_left_out(config) -> None:
    wanted = replace(config, only_trained=True, output_dir=config.output_dir.with_name("trained"))
    write_marks(config.adapters["gatt"], TrainedOn.of([dialogue(77)], ["hobby.none"]))
    with pytest.raises(CatalogError, match=r"only_trained: .*'train'"):
        run(wanted)
    assert not wanted.output_dir.exists()
    assert notes(config, "gatt was trained on 0 of the 3 seen instructions")
    drawn = {s.entries[0] for s in seen(config)}
    write_marks(config.adapters["gatt"], TrainedOn.of([dialogue(77)], [min(drawn)]))
    (note,) = notes(wanted, "een instructions")
    assert note.startswith("Seen instructions are drawn from the entries")
    assert len(drawn) > 1
    assert {s.entries[0] for s in seen(wanted)} == {min(drawn)}


def seen(config: EvalConfig) -> list[Instruction]:
    samples = read_samples(config.output_dir / "samples.jsonl")
    told = (s.instruction for s in samples if s.instruction)
    return [instruction for instruction in told if instruction.split == "train"]


def test_what_all_calls_computed_is_added_up(config) -> None:
    def counting(**settings):
        def counted(request: GenerationRequest) -> str:
            engine.counters.num_prompt_tokens += 10
            return reply(request)

        engine = RecordingEngine(counted, **settings)
        engine.counters = EngineCounters(num_prompt_tokens=7)
        return engine

    with pytest.raises(KeyboardInterrupt):
        evaluate(config, lambda: counting(interrupt_at=15))
    result = evaluate(config, counting)
    whole = RecordingEngine(reply)
    evaluate(replace(config, output_dir=config.output_dir / "whole"), lambda: whole)
    tokens = result.results["run"]["tokens"]
    assert tokens["num_prompt_tokens"] == 10 * len(whole.requests)
    assert tokens["num_encoded_again"] == 0


def test_a_first_start_without_a_reply_leaves_the_folder_to_other_settings(config) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(config, interrupt_at=1)
    result, _ = run(replace(config, seed=1))
    assert result.num_new
    assert len(read_calls(config.output_dir)) == 1


def test_another_configuration_or_other_weights_in_the_folder_are_refused(config) -> None:
    whole, _ = run(config)
    with pytest.raises(StoreError, match=r"belongs to another run.*seed 0 -> 1"):
        run(replace(config, seed=1))
    (config.adapters["gatt"] / "adapter_model.safetensors").write_bytes(b"other weights")
    with pytest.raises(StaleError, match=r"arm 'gatt' was rolled out with other weights") as stale:
        run(config)
    # The other arms do not depend on it.
    assert run(replace(config, arms=("base",), adapters={}))[0].num_new == 0
    before = (config.output_dir / "rollouts.jsonl").read_bytes()
    assert "the adapter of gatt changed" in renew(config, stale.value)
    assert (config.output_dir / "rollouts.before.jsonl").read_bytes() == before
    result, engine = run(config)
    assert 0 < result.num_new < whole.num_new
    assert {name for _, _, name in engine.calls} == {"gatt"}


def test_replies_to_other_cases_are_told_from_those_under_other_settings(config) -> None:
    whole, _ = run(config)
    path = Path(config.source.path)
    path.write_text(path.read_text("utf-8").replace("day 1", "day one"), encoding="utf-8")
    with pytest.raises(StoreError, match="belongs to another run") as refused:
        run(replace(config, seed=1))
    assert not isinstance(refused.value, StaleError)
    with pytest.raises(StaleError, match="belongs to other cases") as stale:
        run(config)
    assert "the cases changed" in renew(config, stale.value)
    assert run(config)[0].num_new == whole.num_new


def test_arms_and_histories_can_be_added_to_a_folder_and_left_out_again(config, tmp_path) -> None:
    whole, _ = run(replace(config, output_dir=tmp_path / "whole", batch_cases=5))
    alone = replace(config, arms=("base",), adapters={}, histories=("own",))
    first, _ = run(alone)
    second, engine = run(config)
    assert second.num_new == whole.num_new - first.num_new
    assert second.results["curves"] == whole.results["curves"]
    one, two = (folder / "samples.jsonl" for folder in (config.output_dir, tmp_path / "whole"))
    assert one.read_bytes() == two.read_bytes()
    again, _ = run(alone)
    assert again.num_new == 0
    assert again.results["curves"] == first.results["curves"]
    assert again.results["run"]["tokens"] == first.results["run"]["tokens"]
    assert {s.arm for s in read_samples(config.output_dir / "samples.jsonl")} == {"base"}
    assert {name for _, _, name in engine.calls} == {None, "gatt"}


def test_arms_are_compared_with_a_baseline_which_needs_no_new_replies(config) -> None:
    assert replace(config, arms=(), adapters={}).arms == (
        "base", "alone", "base+system+reminder", "canned",
    )  # fmt: skip
    own = replace(config, histories=("own",), num_plain=0, splits=("train",), num_dialogues=1)
    for changes, first in (
        ({}, "base"), ({"baseline": "gatt"}, "gatt"), ({"arms": ("gatt", "base+system+reminder")}, "gatt"),
    ):  # fmt: skip
        settings = replace(own, **changes)
        result, engine = run(settings)
        assert {(d["arm"], d["baseline"]) for d in result.results["differences"]} == {
            (arm, first) for arm in settings.arms if arm not in (first, "canned")
        }
        assert bool(engine.requests) == (not changes)


def test_the_command_prints_the_table_and_where_the_report_is(
    config, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(run_module, "make_engine", lambda *_: RecordingEngine(reply))
    path = tmp_path / "eval.yaml"
    path.write_text(
        f"output_dir: {config.output_dir}\narms: [base]\npart: null\nnum_dialogues: 2\n"
        f"source: {{name: jsonl, path: {config.source.path}, min_turns: 4, max_turns: 4}}\n"
        "splits: [train]\nturns: [1, 2]\nprobe_turns: []\n"
        f"engine: {{model: {write_model(tmp_path / 'model')}}}\n",
        encoding="utf-8",
    )
    for state in ("4 new replies", "all replies stood there already"):
        assert main(["eval", "--config", str(path)]) == 0
        out = capsys.readouterr().out
        assert "base" in out
        assert f"report.html ({state})" in out.replace("\n", " ")
    write_model(tmp_path / "model", b"other")
    assert main(["eval", "--config", str(path)]) == 2
    assert "belongs to another run" in capsys.readouterr().err
    assert main(["eval", "--config", str(path), "--turns", "[1,9]"]) == 2
    assert "turn 9 is asked for, but source.min_turns is 4" in capsys.readouterr().err
