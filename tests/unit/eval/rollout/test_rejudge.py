"""`replies_from`: stored replies under today's rules, without a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.config import EvalConfig
from eval.records.samples import read_samples
from eval.run import EvalResult, evaluate
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.switch_draw import SwitchConfig
from gatt.errors import ConfigError, StoreError
from gatt.generation.base import GenerationRequest
from tests.support.runs.case_files import TEA, case_config, dialogue_config, write_case_file
from tests.support.runs.stages import RecordingEngine, write_adapter


def reply(request: GenerationRequest) -> str:
    return f"Of that I can say this, over some tea: {request.messages[-1].content}"


def run(config: EvalConfig, interrupt_at: int | None = None) -> EvalResult:
    return evaluate(config, lambda: RecordingEngine(reply, interrupt_at))


def judge_again(config: EvalConfig) -> EvalResult:
    return evaluate(config, lambda: pytest.fail("a model was asked"))


def again(config: EvalConfig, **changes: Any) -> EvalConfig:
    folder = config.output_dir
    return replace(config, output_dir=folder.with_name("again"), replies_from=folder, **changes)


def statuses(config: EvalConfig) -> list[str]:
    return [sample.status for sample in read_samples(config.output_dir / "samples.jsonl")]


TURNS = ["Hello!", "What should I read next?", "And after that?"]
PROBE = {"question": "What do you drink?", "verifiers": [TEA]}


def write_cases(path: Path, term: str, **changes: Any) -> None:
    """Write two cases of three turns that ask for a term; `changes` are keys of the first."""
    rules = [{"kind": "terms", "any_of": [term]}]
    told = {"text": "Mention a drink.", "family": "behaviour", "verifiers": rules}
    rows = [{"id": name, "user_turns": TURNS, "instruction": told} for name in ("one", "two")]
    write_case_file(path.parent, [rows[0] | changes, rows[1]])


@pytest.fixture
def config(tmp_path: Path) -> EvalConfig:
    adapter = write_adapter(tmp_path / "adapter")
    write_cases(tmp_path / "cases.jsonl", "tea")
    settings = {"adapters": {"gatt": adapter}, "arms": ("base", "gatt"), "turns": (1, 3)}
    return case_config(tmp_path, tmp_path / "cases.jsonl", **settings)


@pytest.mark.parametrize(
    ("histories", "switch"),
    [
        (("reference",), None),
        (("own", "reference"), None),
        (("own",), SwitchConfig(replace=0.5, cancel=0.5, min_turn=2, system=1.0)),
    ],
)
def test_by_the_same_rules_it_is_the_same(tmp_path, config, histories, switch) -> None:
    changes = {"num_plain": 2, "batch_cases": 2, "histories": histories, "switch": switch}
    if switch:
        # What a role was leaves no trace that a rule could read.
        changes["instructions"] = InstructionChoice(families=("language",), num_entries=(1.0,))
    arms = {"arms": config.arms, "adapters": config.adapters}
    config = dialogue_config(tmp_path, **changes, **arms)
    first = run(config)
    new = again(config, batch_cases=5)
    second = judge_again(new)
    for name in ("samples.jsonl", "rollouts.jsonl"):
        if name == "samples.jsonl" or len(histories) == 1:
            then, now = (sorted((c.output_dir / name).open()) for c in (config, new))
            assert then == now
    for key in ("curves", "differences", "limits"):
        assert second.results[key] == first.results[key]
    leaks = {p["metric"] for p in first.results["curves"]} & {"leakage", "probe_leakage"}
    assert bool(leaks) == bool(switch)
    assert second.results["run"]["tokens"] == first.results["run"]["tokens"]
    assert second.num_new == first.num_new
    assert judge_again(new).num_new == 0


def test_other_rules_give_other_verdicts_and_the_page_says_so(config) -> None:
    first = run(config)
    assert statuses(config) == ["pass"] * 8
    write_cases(config.cases, "coffee")
    second = judge_again(again(config))
    assert statuses(again(config)) == ["fail"] * 8
    # The folder that was read is as it was.
    assert statuses(config) == ["pass"] * 8
    head = second.results["run"]
    assert head["name"] == "again"
    assert head["commit"] == first.results["run"]["commit"]
    assert set(head["judged_again"]) == {"commit", "time", "command"}
    assert any("judged again by the rules of commit" in n for n in second.results["notes"])
    assert not any("judged again" in note for note in first.results["notes"])


@pytest.mark.parametrize(
    "changes",
    [
        {"user_turns": [*TURNS[:2], "And then?"]},
        {"instruction": {"text": "Speak of it.", "family": "behaviour", "verifiers": []}},
        # The words of a turn that nobody judges are stored as a digest alone.
        {"user_turns": [TURNS[0], "And now?", TURNS[2]]},
        {"probes": [PROBE]},
    ],
)
def test_replies_to_other_words_are_refused(config, changes) -> None:
    config = replace(config, probe_turns=(1,))
    run(config)
    write_cases(config.cases, "tea", **changes)
    with pytest.raises(StoreError, match=r"rollouts\.jsonl: .*other dialogues"):
        judge_again(again(config))
    assert not again(config).output_dir.exists()


def test_an_interruption_in_the_middle_of_a_case_doubles_nothing(config) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(config, interrupt_at=5)
    with pytest.raises(StoreError, match="gatt/own/one/2: no such reply"):
        judge_again(again(config))
    run(config)
    judge_again(again(config))
    rows = again(config).output_dir / "rollouts.jsonl"
    whole = rows.read_bytes()
    rows.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    result = judge_again(again(config))
    assert rows.read_bytes() == whole
    # Of four rows one is of turn 2, which is not judged.
    assert result.num_new == 8 - 3


def test_another_folder_other_settings_and_other_weights_are_refused(config) -> None:
    with pytest.raises(StoreError, match=r"^replies_from .*out: no rollouts\.jsonl"):
        judge_again(again(config))
    with pytest.raises(ConfigError, match="the output_dir"):
        replace(config, replies_from=config.output_dir)
    run(config)
    with pytest.raises(StoreError, match=r"rollouts\.jsonl: .*turns"):
        judge_again(again(config, turns=(1, 2)))
    (config.adapters["gatt"] / "adapter_model.safetensors").write_bytes(b"others")
    with pytest.raises(StoreError, match="arm 'gatt'"):
        judge_again(again(config))
    assert not again(config).output_dir.exists()
