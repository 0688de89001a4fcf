"""TRL's own labels of the rows are those of training, token by token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from gatt.cli import main
from gatt.models.template_variables import set_template_variables
from gatt.train.data.rows import build_rows
from tests.support.models.built_rows import make
from tests.support.models.combs import combs_of
from tests.support.models.foreign_templates import FOREIGN, Foreign
from tests.support.models.tiny import sample, tiny_llama, write_samples

NAMES = (
    "qwen2_5", "llama3", "gemma", "gemma3", "phi3", "cohere2", "qwen3", "qwen3-enable_thinking=False",
    "gptoss", "smollm3", "mistral_v3",
)  # fmt: skip
SAMPLES = [
    sample(1, 4),
    # One gap, and one that cannot be learned since it holds a control token of every template's.
    sample(2, 3, targets=["Oui, on y va.", None, "Non <|im_end|> <end_of_turn> <|eot_id|>"]),
    sample(3, 2, is_plain=True),
]
SETTINGS: tuple[dict[str, Any], ...] = (
    {}, {"placement": "first_user"}, {"history": "sampled"},
    {"placement": "mixed", "history": "mixed", "seed": 3}, {"max_length": None},
)  # fmt: skip


@pytest.mark.parametrize("one", [f for f in FOREIGN if f.id in NAMES], ids=lambda one: one.id)
def test_labels_of_trl_are_ours(one: Foreign, tmp_path: Path, caplog: Any, capsys: Any) -> None:
    tokenizer = one.tokenizer()
    model = tiny_llama(tokenizer)
    tokenizer.save_pretrained(tmp_path)
    model.config.save_pretrained(tmp_path)
    written = write_samples(tmp_path / "samples.jsonl", SAMPLES)
    config = tmp_path / "train.yaml"
    config.write_text(f"chat_template_kwargs: {json.dumps(dict(one.variables))}\n")
    rows: list[dict[str, Any]] = []
    wanted: list[tuple[list[int], list[int]]] = []
    ours = one.tokenizer()
    set_template_variables(ours, one.variables)
    for settings in SETTINGS:
        if "max_length" in settings:
            # The longest loses an exchange.
            settings = {"max_length": max(len(ids) for ids, _ in wanted) - 1}
        output = tmp_path / "rows.jsonl"
        words = [f"--{name}={value}" for name, value in settings.items()]
        words += [f"--model={tmp_path}", f"--config={config}", f"--output={output}", "--format=trl"]
        assert main(["rows", str(written), *words]) == 0
        rows += map(json.loads, output.read_text("utf-8").splitlines())
        told = make(layout="expanded", **settings)
        built, _ = build_rows(SAMPLES, ours, told, why_not_packable=lambda: None)
        wanted += [
            (list(comb.trunk), list(comb.trunk_labels)) for row in built for comb in combs_of(row)
        ]
    template = tmp_path / "rows.jinja"
    trainer = SFTTrainer(
        model,
        args=SFTConfig(
            output_dir=str(tmp_path / "out"),
            max_length=4096,
            chat_template_path=str(template) if template.exists() else None,
            report_to="none",
            use_cpu=True,
            bf16=False,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    found = [(row["input_ids"], row["labels"]) for row in trainer.train_dataset]
    assert found == wanted
    batch = trainer.data_collator([dict(row) for row in list(trainer.train_dataset)[:3]])
    for labels, (_, expected) in zip(batch["labels"].tolist(), wanted, strict=False):
        assert [x for x in labels if x != -100] == [x for x in expected if x != -100]
    assert "is not a prefix" not in caplog.text
