"""The finished adapter as others find it: two files of PEFT and a model card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from gatt.data.dialogue import Dialogue
from gatt.data.sample import TargetKind
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.models.base_card import hub_id
from gatt.models.template_variables import write_variables
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.provenance import versions
from gatt.train.config import TrainConfig
from gatt.train.data.row_report import RowReport

_LOSS: Final = {
    "last_turn": "on the sampled replies alone, no token of the history carries any",
    "all_turns": "on the sampled replies and, as a control, on the history's own replies",
    "context_only": "as a control, on the history's own replies alone",
}
_BY_KL: Final = (
    " So in dialogues with an instruction; those without are held to the model without the adapter, by the "
    "KL divergence on their sampled replies and, where those are the history, on their own (`plain_loss: kl`)."
)
_MEANT: Final = (
    " that keeps an instruction given once, in turn 1, over the turns of a dialogue",
    ", a control: it was trained on the instruction in every turn",
)
_KINDS: Final[Mapping[TargetKind, str]] = {
    "sampled": "as drawn",
    "hinted": "teacher told a hint",
    "prefilled": "beginning given",
    "composed": "sentence of the instruction added",
}
"""How a target came to be (`gatt.data.sample.TargetKind`)."""
_STANDS: Final = ("in turn 1 only", "on every user turn as well (a control, not the method)")
TRACKED: Final = "tracked.json"
"""In the folder of the best adapter of a run: how it adhered, turn by turn."""
FILES: Final = ("adapter_model.safetensors", "adapter_config.json")


def write_adapter(
    draft: Path,
    target: Path,
    config: TrainConfig,
    report: RowReport,
    result: Mapping[str, Any],
    dialogues: Iterable[Dialogue] | TrainedOn | None,
) -> None:
    """Make the folder of an adapter out of what the trainer saved; it appears whole.

    The base model is named as the user named it: where this machine keeps its
    files is of no use to others.

    Args:
        draft: folder saved by the trainer; gone afterwards.
        target: folder of the adapter; replaced if it is there.
        config: of the run.
        report: of its rows.
        result: steps, loss, tokens; of the best adapter of a run what was measured of it (`tracked`).
        dialogues: that it was trained on, or their marks; evaluations refuse them. None where they are
            not all known: the folder then says of none.
    """
    for path in draft.iterdir():
        if path.name not in FILES:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    settings = draft / "adapter_config.json"
    values = json.loads(settings.read_text(encoding="utf-8"))
    values["base_model_name_or_path"] = config.model
    settings.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    if dialogues is not None:
        write_marks(draft, dialogues)
    write_variables(draft, config.chat_template_kwargs)
    if "tracked" in result:
        atomic_write_json(draft / TRACKED, result["tracked"])
    (draft / "README.md").write_text(model_card(config, report, result, values), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    draft.rename(target)


def model_card(
    config: TrainConfig,
    report: RowReport,
    result: Mapping[str, Any],
    adapter: Mapping[str, Any],
) -> str:
    """Return the model card: what it is, how it was made, and what it is not good for.

    Args:
        config: of the run.
        report: of its rows.
        result: steps, loss, tokens.
        adapter: PEFT's settings of the adapter.
    """
    # The hub takes ids only; a path there would make the card invalid, or name a stranger's model.
    base = [f"base_model: {found}"] if (found := hub_id(config.model)) else []
    head = ["---", "library_name: peft", *base, "tags: [ghost-attention, gatt, lora]", "---"]
    settings = {
        "placement": config.placement,
        "history": config.history,
        "supervise": config.supervise,
        "plain_loss": config.plain_loss,
        **({"plain_kl_coef": f"{config.plain_kl_coef:g}"} if config.plain_loss == "kl" else {}),
        **({"chat_template_kwargs": _shown(config)} if config.chat_template_kwargs else {}),
        "layout": report.layout,
        "max_length": config.max_length,
        "LoRA r / alpha / dropout": f"{adapter.get('r')} / {adapter.get('lora_alpha')} / "
        f"{adapter.get('lora_dropout')}",
        "learning_rate": f"{config.learning_rate:g}",
        "lr_scheduler_type": config.lr_scheduler_type,
        "per_device_train_batch_size": config.per_device_train_batch_size,
        "gradient_accumulation_steps": config.gradient_accumulation_steps,
        "optim": config.optim,
        "weight_decay": config.weight_decay,
        "seed": config.seed,
    }
    if config.init_adapter is not None:
        settings["init_adapter"] = config.init_adapter.name
    data = {
        "samples used, of read": f"{report.num_used} of {report.num_samples}",
        "rows": report.num_rows,
        "target replies": report.num_targets,
        "supervised tokens, of all": f"{report.num_supervised_tokens} of {report.num_tokens}",
        **({"learned by the KL divergence": report.num_kl_tokens} if report.num_kl_tokens else {}),
        "exchanges dropped by max_length": report.num_exchanges_dropped,
        **{f"targets, {_KINDS[k]}": report.kinds[k] for k in _KINDS if report.kinds.get(k)},
        **{f"samples, {family}": count for family, count in sorted(report.families.items())},
        **{f"dropped, {reason}": count for reason, count in sorted(report.dropped.items())},
    }
    return "\n".join(
        [
            *head,
            "",
            "# Ghost Attention adapter",
            "",
            f"A LoRA adapter for `{config.model}`{_MEANT[config.placement == 'every_turn']}.",
            "",
            "## Method",
            "",
            "Ghost Attention (Llama 2, [arXiv:2307.09288](https://arxiv.org/abs/2307.09288), "
            "section 3.3): replies are sampled with the instruction on every user turn; for "
            f"training it stands {_STANDS[config.placement == 'every_turn']}. Loss: "
            f"{_LOSS[config.supervise]}.{_BY_KL if config.plain_loss == 'kl' else ''}",
            "",
            "## Data",
            "",
            *_table(data),
            "",
            "## Training",
            "",
            *_table(settings),
            "",
            f"{result['num_steps']} optimiser steps on {result['num_supervised_tokens']} "
            f"supervised tokens{_loss_of(result, config, report)}.",
            "",
            *_tracked(result.get("tracked")),
            "Talk to it with `gatt chat --adapter FOLDER`. `gatt push` and `gatt export` make of it what other "
            "programs load.",
            "",
            "Made with " + ", ".join(f"{k} {v}" for k, v in versions().items() if v) + ".",
            "",
            "## Limits",
            "",
            "- It learns from replies of the model that sampled them, mistakes and bias included.",
            "- It learned instructions of the families above. How well it holds them, and any other, is "
            "not said here: `gatt eval` measures it.",
            "- It follows whoever writes turn 1: it is no safety measure.",
            "- The base model's licence and limits hold.",
            "",
        ]
    )


def _shown(config: TrainConfig) -> str:
    return ", ".join(f"{k}: {json.dumps(v)}" for k, v in config.chat_template_kwargs.items())


def _loss_of(result: Mapping[str, Any], config: TrainConfig, report: RowReport) -> str:
    loss = result["train_loss"]
    if loss is None:
        return ""
    holds = f" (with {config.plain_kl_coef:g} times the KL divergence)"
    return f", mean loss {loss:.4f}{holds if report.num_kl_tokens else ''}"


def _tracked(tracked: Mapping[str, Any] | None) -> list[str]:
    """Return why it is this adapter of the run, nothing where that was not measured."""
    if tracked is None:
        return []
    rates = {
        f"adherence at turn {turn}": "undecided" if rate is None else f"{rate:.0%}"
        for turn, rate in tracked["adherence"].items()
    }
    return [
        f"Of all steps that were measured, step {tracked['step']} adhered best at turn {tracked['turn']} "
        f"(suite {Path(tracked['suite']).name}, {tracked['num_cases']} cases, {tracked['history']} history). "
        "It was chosen by these cases: they are no test of it.",
        "",
        *_table(rates),
        "",
    ]


def _table(values: Mapping[str, Any]) -> list[str]:
    return ["| what | value |", "|---|---|", *(f"| {k} | {v} |" for k, v in values.items())]
