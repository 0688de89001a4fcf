"""`gatt rows`: rows of each format, the note beside them, and what a format cannot say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gatt.cli import main
from gatt.commands.rows.formats import RowMaker, targets_of
from gatt.data.switches import Switch
from gatt.errors import TemplateError
from gatt.models.template_variables import set_template_variables
from gatt.train.data.report import Dropped
from tests.support.models.built_rows import make
from tests.support.models.foreign_templates import FOREIGN
from tests.support.models.tiny import CHATML, sample, save_tiny_model, tiny_tokenizer, write_samples

SYSTEM = "Always answer in French."
ASKED = "What is the sea 1 like on day {}?"
OWN = "It is quiet and long there."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_tiny_model(tmp_path_factory.mktemp("model"))
    write_samples(folder / "samples.jsonl", [sample(1, 2, targets=["Oui.", "Non."])])
    return folder


def rows(folder: Path, output: Path, *words: str) -> int:
    return main(
        ["rows", str(folder / "samples.jsonl"), f"--model={folder}", f"--output={output}", *words]
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def flagged(*messages: tuple[str, str, bool]) -> dict[str, Any]:
    return {"messages": [{"role": r, "content": c, "train": t} for r, c, t in messages]}


FIRST = [("system", SYSTEM, False), ("user", ASKED.format(1), False)]
HUMAN, OTHER = ({"from": "human", "value": ASKED.format(turn)} for turn in (1, 2))


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            ["--format=axolotl"],
            [
                flagged(*FIRST, ("assistant", "Oui.", True)),
                flagged(*FIRST, ("assistant", OWN, False), ("user", ASKED.format(2), False),
                        ("assistant", "Non.", True)),
            ],
        ),
        (
            ["--format=llamafactory"],
            [
                {"conversations": [HUMAN, {"from": "gpt", "value": "Oui."}], "system": SYSTEM},
                {
                    "conversations": [HUMAN, {"from": "gpt", "value": OWN}, OTHER,
                                      {"from": "gpt", "value": "Non."}],
                    "system": SYSTEM,
                },
            ],
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value[0], str) else "",
)  # fmt: skip
def test_rows_and_their_note(folder, tmp_path, capsys, words, wanted) -> None:
    output = tmp_path / "rows.jsonl"
    assert rows(folder, output, *words) == 0
    assert lines(output) == wanted
    note = output.with_suffix(".md").read_text("utf-8")
    out = capsys.readouterr().out
    assert note in out
    assert f"{len(wanted)} rows; 0 left out" in out
    assert not output.with_suffix(".jinja").exists()
    for block in note.split("```yaml\n")[1:]:
        settings = yaml.safe_load(block.split("```")[0])
        assert str(folder) in settings.values()
        if words[0] == "--format=axolotl":
            assert settings["eot_tokens"] == ["<|im_end|>"]
            assert settings["datasets"][0]["message_field_training"] == "train"
        else:
            assert settings["mask_history"] is True
    for block in note.split("```json\n")[1:]:
        (entry,) = json.loads(block.split("```")[0]).values()
        assert entry["file_name"] == "rows.jsonl"


def test_the_template_for_trl_leaves_prompts_as_they_are(folder, tmp_path) -> None:
    output = tmp_path / "rows.jsonl"
    assert rows(folder, output, "--format=trl") == 0
    own, trained = tiny_tokenizer(), tiny_tokenizer()
    trained.chat_template = output.with_suffix(".jinja").read_text("utf-8")
    row = lines(output)[-1]
    for messages, opens, cut in (
        (row["prompt"], True, 0),
        (row["prompt"], False, 0),
        (row["prompt"] + row["completion"], False, 1),
    ):
        told = {"tokenize": False, "add_generation_prompt": opens}
        whole = own.apply_chat_template(messages, **told)
        assert trained.apply_chat_template(messages, **told) == whole[: len(whole) - cut]
    assert "rows.jinja" in output.with_suffix(".md").read_text("utf-8")


def test_rows_of_pairs(tmp_path, capsys) -> None:
    """Of the turns with both sides; TRL's tokens of them are in `tests/numerics/test_preference.py`."""
    folder = save_tiny_model(tmp_path / "model", CHATML)
    one = sample(1, 2, targets=["Oui.", "Non."])
    paired = replace(one, targets=(replace(one.targets[0], rejected="Yes."), one.targets[1]))
    write_samples(folder / "samples.jsonl", [paired, sample(3, 2, is_plain=True)])
    prompt = [{"role": role, "content": text} for role, text, _ in FIRST]
    good, bad = ([{"role": "assistant", "content": text}] for text in ("Oui.", "Yes."))
    for kind, wanted in {
        "dpo": [{"prompt": prompt, "chosen": good, "rejected": bad}],
        "kto": [
            {"prompt": prompt, "completion": good, "label": True},
            {"prompt": prompt, "completion": bad, "label": False},
        ],
    }.items():
        output = tmp_path / "rows.jsonl"
        assert rows(folder, output, f"--format=trl-{kind}") == 0
        assert lines(output) == wanted
        assert f"{kind.upper()}Trainer(" in output.with_suffix(".md").read_text("utf-8")
        assert "2 left out" in capsys.readouterr().out


def test_what_a_format_has_no_place_for_is_left_out(tmp_path, capsys) -> None:
    folder = save_tiny_model(tmp_path / "model", CHATML)
    one = sample(2, 3)
    switch = Switch(2, "cancel", "system", "Answer as you like from now on.", None)
    changed = type(one)(one.id, one.dialogue, one.instruction, one.targets, {}, (switch,))
    (tmp_path / "train.yaml").write_text("plain_loss: kl\n")
    write_samples(folder / "samples.jsonl", [sample(1, 2), changed, sample(3, 2, is_plain=True)])
    words = [tmp_path / "rows.jsonl", f"--config={tmp_path}/train.yaml"]
    assert rows(folder, *words, "--format=llamafactory") == 0
    # Turn 1 of the second stands before the change.
    assert len(lines(tmp_path / "rows.jsonl")) == 3
    out = capsys.readouterr().out
    assert "3 left out (dropped 2: a later system message" in out
    assert "'kl'" in out
    assert rows(folder, *words, "--format=trl") == 0
    assert len(lines(tmp_path / "rows.jsonl")) == 5


@pytest.mark.parametrize(
    ("setting", "words", "facts"),
    [
        ("supervise: all_turns", [], ["'all_turns'", "'last_turn'"]),
        ("max_length: 20", [], ["no row for trl", "dropped 1", "max_length"]),
        ("", ["--output=rows.md"], ["rows.md", "FILE.jsonl"]),
    ],
)
def test_mistakes_are_one_line(folder, tmp_path, capsys, setting, words, facts) -> None:
    config = tmp_path / "train.yaml"
    config.write_text(f"{setting or 'seed: 1'}\n")
    output = tmp_path / "rows.jsonl"
    assert rows(folder, output, "--format=trl", f"--config={config}", *words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert all(fact in error for fact in facts), error
    assert not output.exists()


@pytest.mark.parametrize(
    ("name", "written"), [("qwen3", "<think>"), ("deepseek_coder", "'\\n'"), ("mistral_v3", "' '")]
)
def test_axolotl_would_learn_less_than_these_templates_write(name: str, written: str) -> None:
    with pytest.raises(TemplateError) as caught:
        RowMaker.of("axolotl", next(f for f in FOREIGN if f.id == name).tokenizer())
    assert written.replace("\n", "\\n") in str(caught.value)


def test_a_reply_that_is_rendered_otherwise_behind_its_prompt_is_left_out() -> None:
    one = next(f for f in FOREIGN if f.name == "deepseek_v3_2")
    tokenizer = one.tokenizer()
    set_template_variables(tokenizer, one.variables)
    maker, dropped = RowMaker.of("trl", tokenizer), Dropped()
    (targets,) = targets_of([sample(1, 2)], tokenizer, make(), dropped)
    assert (maker.usable(targets, dropped), dropped.counts.total()) == ([], 2)
