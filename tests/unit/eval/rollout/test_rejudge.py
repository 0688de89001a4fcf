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
from gatt.sources.config import SourceConfig
from tests.support.runs.case_files import case_config, write_case_file
from tests.support.runs.stages import RecordingEngine, write_adapter, write_dialogues


def nobody() -> Any:
    pytest.fail("a model was asked")


def reply(request: GenerationRequest) -> str:
    return f"Of that I can say this, over some tea: {request.messages[-1].content}"


def run(config: EvalConfig, interrupt_at: int | None = None) -> EvalResult:
    return evaluate(config, lambda: RecordingEngine(reply, interrupt_at))


def write_cases(path: Path, term: str, **changes: Any) -> None:
    """Write two cases of three turns that ask for a term; `changes` are keys of the first."""
    rows: list[dict[str, Any]] = []
    for name in ("one", "two"):
        rules = [{"kind": "terms", "any_of": [term]}]
        instruction = {"text": "Mention a drink.", "family": "behaviour", "verifiers": rules}
        turns = ["Hello!", "What should I read next?", "And after that?"]
        rows.append({"id": name, "user_turns": turns, "instruction": instruction})
    rows[0] |= changes
    write_case_file(path.parent, rows)


@pytest.fixture
def config(tmp_path: Path) -> EvalConfig:
    adapter = write_adapter(tmp_path / "adapter")
    write_cases(tmp_path / "cases.jsonl", "tea")
    settings = {"adapters": {"gatt": adapter}, "arms": ("base", "gatt"), "turns": (1, 3)}
    return case_config(tmp_path, tmp_path / "cases.jsonl", **settings)


def statuses(config: EvalConfig) -> list[str]:
    return [sample.status for sample in read_samples(config.output_dir / "samples.jsonl")]


def again(config: EvalConfig, **changes: Any) -> EvalConfig:
    return replace(
        config,
        output_dir=config.output_dir.with_name("again"),
        replies_from=config.output_dir,
        **changes,
    )


def of_source(config: EvalConfig, folder: Path, num_turns: int, **changes: Any) -> EvalConfig:
    """Return the configuration with drawn cases, of the file `d.jsonl`, in place of a case file."""
    path = write_dialogues(folder / "d.jsonl", num=5, num_turns=num_turns)
    source = SourceConfig(name="jsonl", path=str(path), min_turns=num_turns, max_turns=num_turns)
    settings: dict[str, Any] = {
        "cases": None,
        "part": None,
        "source": source,
        "instructions": InstructionChoice(families=("hobby", "figure"), num_entries=(1.0,)),
        "splits": ("train",),
        "num_dialogues": 4,
    }
    return replace(config, **settings | changes)


@pytest.mark.parametrize(
    ("histories", "switch"),
    [
        (("reference",), None),
        (("own", "reference"), None),
        (("own",), SwitchConfig(replace=0.5, cancel=0.5, min_turn=2, system=1.0)),
    ],
)
def test_by_the_same_rules_it_is_the_same(tmp_path, config, histories, switch) -> None:
    changes = {"num_plain": 2, "turns": (1, 2, 4), "probe_turns": (2,), "batch_cases": 2}
    config = of_source(config, tmp_path, 4, histories=histories, switch=switch, **changes)
    first = run(config)
    new = again(config, batch_cases=5)
    second = evaluate(new, nobody)
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
    assert evaluate(new, nobody).num_new == 0


def test_other_rules_give_other_verdicts_and_the_page_says_so(config) -> None:
    first = run(config)
    assert statuses(config) == ["pass"] * 8
    write_cases(config.cases, "coffee")
    second = evaluate(again(config), nobody)
    assert statuses(again(config)) == ["fail"] * 8
    # The folder that was read is as it was.
    assert statuses(config) == ["pass"] * 8
    head = second.results["run"]
    assert head["name"] == "again"
    assert head["commit"] == first.results["run"]["commit"]
    assert set(head["judged_again"]) == {"commit", "time", "command"}
    assert any("judged again by the rules of commit" in n for n in second.results["notes"])
    assert not any("judged again" in note for note in first.results["notes"])


TURNS = ["Hello!", "What should I read next?", "And after that?"]
RULE = {"kind": "terms", "any_of": ["tea"]}
PROBE = {"question": "What do you drink?", "verifiers": [RULE]}


@pytest.mark.parametrize(
    "changes",
    [
        {"user_turns": [*TURNS[:2], "And then?"]},
        {"instruction": {"text": "Speak of it.", "family": "behaviour", "verifiers": []}},
        # The words of a turn that nobody judges are stored as a digest alone.
        {"user_turns": [TURNS[0], "And now?", TURNS[2]]},
        {"user_turns": TURNS[:2]},
        {"user_turns": [*TURNS, "More?"]},
        {"probes": [PROBE]},
    ],
)
def test_replies_to_other_words_are_refused(config, changes) -> None:
    config = replace(config, probe_turns=(1,))
    run(config)
    write_cases(config.cases, "tea", **changes)
    with pytest.raises(StoreError, match=r"rollouts\.jsonl: .*other dialogues"):
        evaluate(again(config), nobody)
    assert not again(config).output_dir.exists()


def test_other_replies_of_people_are_refused(tmp_path, config) -> None:
    config = of_source(config, tmp_path, 3, num_dialogues=2, histories=("reference",))
    run(config)
    path = tmp_path / "d.jsonl"
    text = path.read_text(encoding="utf-8")
    # Nobody judged turn 2, but the model has read it.
    path.write_text(text.replace("was calm on day 2", "was wild on day 2"), encoding="utf-8")
    with pytest.raises(StoreError, match="other dialogues"):
        evaluate(again(config), nobody)


def test_an_interruption_in_the_middle_of_a_case_doubles_nothing(config) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(config, interrupt_at=5)
    with pytest.raises(StoreError, match="gatt/own/one/2: no such reply"):
        evaluate(again(config), nobody)
    run(config)
    evaluate(again(config), nobody)
    rows = again(config).output_dir / "rollouts.jsonl"
    whole = rows.read_bytes()
    rows.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    result = evaluate(again(config), nobody)
    assert rows.read_bytes() == whole
    # Of four rows one is of turn 2, which is not judged.
    assert result.num_new == 8 - 3


def test_another_folder_other_settings_and_other_weights_are_refused(config) -> None:
    with pytest.raises(StoreError, match=r"^replies_from .*out: no rollouts\.jsonl"):
        evaluate(again(config), nobody)
    with pytest.raises(ConfigError, match="the output_dir"):
        replace(config, replies_from=config.output_dir)
    run(config)
    with pytest.raises(StoreError, match=r"rollouts\.jsonl: .*turns"):
        evaluate(again(config, turns=(1, 2)), nobody)
    (config.adapters["gatt"] / "adapter_model.safetensors").write_bytes(b"others")
    with pytest.raises(StoreError, match="arm 'gatt'"):
        evaluate(again(config), nobody)
    assert not again(config).output_dir.exists()
