"""The finished adapter as others find it: two files of PEFT and a model card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import Template

from gatt.data.sample import TargetKind
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.models.base_card import hub_id
from gatt.models.template_variables import write_variables
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.provenance import versions
from gatt.train.config import TrainConfig
from gatt.train.data.row_report import RowReport

_KINDS: Final[Mapping[TargetKind, str]] = {
    "sampled": "as drawn",
    "hinted": "teacher told a hint",
    "prefilled": "beginning given",
    "composed": "sentence of the instruction added",
}
"""How a target came to be (`gatt.data.sample.TargetKind`)."""
_SETTINGS: Final = (
    "placement", "history", "supervise", "plain_loss", "plain_kl_coef", "max_length", "learning_rate",
    "lr_scheduler_type", "per_device_train_batch_size", "gradient_accumulation_steps", "optim",
    "weight_decay", "seed",
)  # fmt: skip
"""Settings that the card names."""
TRACKED: Final = "tracked.json"
"""In the folder of the best adapter of a run: how it adhered, turn by turn."""
FILES: Final = ("adapter_model.safetensors", "adapter_config.json")


def write_adapter(
    draft: Path,
    target: Path,
    config: TrainConfig,
    report: RowReport,
    result: Mapping[str, Any],
    dialogues: TrainedOn | None,
) -> None:
    """Make the folder of an adapter out of what the trainer saved; it appears whole.

    The base model is named as the user named it: where this machine keeps its
    files is of no use to others.

    Args:
        draft: folder saved by the trainer; gone afterwards.
        target: folder of the adapter; replaced if it is there.
        config: of the run.
        report: of its rows.
        result: steps, loss, tokens; of a best adapter also what was measured of it (`tracked`).
        dialogues: that it was trained on; None where they are not all known.
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

    Arguments are those of `write_adapter`; `adapter` holds PEFT's settings.
    """
    names = [name for name in _SETTINGS if name != "plain_kl_coef" or config.plain_loss == "kl"]
    settings = {name: _shown(getattr(config, name)) for name in names}
    for name in ("r", "lora_alpha", "lora_dropout"):
        settings[f"lora.{name}"] = _shown(adapter.get(name))
    if config.chat_template_kwargs:
        settings["chat_template_kwargs"] = json.dumps(dict(config.chat_template_kwargs))
    if config.init_adapter is not None:
        settings["init_adapter"] = config.init_adapter.name
    data = {
        "samples used, of read": f"{report.num_used} of {report.num_samples}",
        f"rows ({report.layout})": report.num_rows,
        "target replies": report.num_targets,
        "supervised tokens, of all": f"{report.num_supervised_tokens} of {report.num_tokens}",
        **({"learned by the KL divergence": report.num_kl_tokens} if report.num_kl_tokens else {}),
        "exchanges dropped by max_length": report.num_exchanges_dropped,
        **{f"targets, {_KINDS[k]}": report.kinds[k] for k in _KINDS if report.kinds.get(k)},
        **{f"samples, {family}": count for family, count in sorted(report.families.items())},
        **{f"dropped, {reason}": count for reason, count in sorted(report.dropped.items())},
    }
    tracked = result.get("tracked")
    rates = tracked["adherence"] if tracked else {}
    source = files("gatt.train").joinpath("adapter_card.j2").read_text(encoding="utf-8")
    card: str = Template(source, trim_blocks=True, keep_trailing_newline=True).render(
        config=config, report=report, result=result, settings=settings, data=data, tracked=tracked,
        # The hub takes ids only; a path there would make the card invalid, or name a stranger's model.
        hub_id=hub_id(config.model), by_kl=config.plain_loss == "kl",
        rates={
            f"adherence at turn {turn}": "undecided" if rate is None else f"{rate:.0%}"
            for turn, rate in rates.items()
        },
        versions=", ".join(f"{name} {version}" for name, version in versions().items() if version),
    )  # fmt: skip
    return card


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
