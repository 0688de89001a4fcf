"""The card of an exported model: what it is, how to run it, its rates, how it was made, its limits."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from gatt.commands.export.config import ExportConfig
from gatt.commands.export.evaluation import SPLITS, Evaluation
from gatt.models.base_card import hub_id, license_of, note_of, public_name, read_card
from gatt.models.digest import adapter_digest
from gatt.runs.provenance import versions

CARD: Final = "README.md"
TAGS: Final = ("ghost-attention", "gatt")
_LIMITS: Final = """## Limits

- It learned from replies of the model that sampled them, mistakes and bias included.
- It follows whoever writes turn 1: it is no safety measure.
- The base model's licence and limits hold."""
_RATES: Final = (
    "Per cent with 95 % interval, and the number of dialogues. Fewer false triggers are better. "
    "Rules judged whether the replies keep the instruction, not whether they are good."
)


def export_card(config: ExportConfig, base: str, dtype: str, evaluation: Evaluation | None) -> str:
    """Return the card of an exported model.

    Args:
        config: of the export; the adapter's own card gives the sections on method, data and training.
        base: the base model, as the user names it.
        dtype: of the weights.
        evaluation: of the adapter, None where there is none.
    """
    from huggingface_hub import ModelCardData

    found = config.license or license_of(base)
    data = ModelCardData(
        base_model=hub_id(base),
        license=found,
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=[*TAGS],
    )
    own = config.adapter / CARD
    text = own.read_text(encoding="utf-8", errors="replace") if own.is_file() else ""
    _, mark, rest = read_card(text).text.partition("## Method")
    body = filled(
        "gatt.commands.export",
        "card.md.j2",
        name=config.output_dir.resolve().name,
        base=public_name(base),
        dtype=dtype,
        digest=adapter_digest(config.adapter),
        note=note_of(base),
        evaluation=evaluation_section(evaluation),
        training=f"{mark}{rest}".strip() or _LIMITS,
        license=found,
        versions=", ".join(f"{package} {v}" for package, v in versions().items() if v),
    )
    return f"---\n{data.to_yaml()}\n---\n\n{body}"


def filled(package: str, template: str, /, **values: Any) -> str:
    """Return a template of a package with the values in it."""
    from jinja2 import Environment, StrictUndefined

    text = files(package).joinpath(template).read_text(encoding="utf-8")
    jinja = Environment(trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)
    return jinja.from_string(text).render(values)


def evaluation_section(evaluation: Evaluation | None) -> str:
    """Return the section with the rates over turns, and on what they were measured."""
    if evaluation is None:
        return "## Evaluation\n\nNone yet. `gatt eval` measures how long instructions hold."
    turns = sorted({record["turn"] for record in evaluation.records})
    lines: dict[tuple[str, ...], dict[int, str]] = {}
    for r in evaluation.records:
        rate, low, high = (
            None if r[key] is None else 100 * r[key] for key in ("rate", "low", "high")
        )
        bounds = "" if low is None or high is None else f" [{low:.0f}, {high:.0f}]"
        cells = lines.setdefault((r["history"], r["metric"], SPLITS[r["split"]], r["arm"]), {})
        cells[r["turn"]] = f"{rate:.0f}{bounds} ({r.get('num_dialogues', '?')})"
    table = [("history", "metric", "instructions", "arm", *(f"turn {turn}" for turn in turns))]
    table.append((*["---"] * 4, *["---:"] * len(turns)))
    for names, cells in sorted(lines.items()):
        table.append((*names, *(cells.get(turn, "") for turn in turns)))
    rows = "\n".join(f"| {' | '.join(row)} |" for row in table)
    run, config = evaluation.run, evaluation.run.get("config") or {}
    parts = {key: run.get(key) for key in ("model", "seed", "commit", "hardware", "time")} | {
        "suite": config.get("suite"),
        "dialogues": (config.get("source") or {}).get("name"),
        "cases of a split": config.get("num_dialogues"),
        **(config.get("sampling") or {}),
    }
    told = "; ".join(f"{name}: {value}" for name, value in parts.items() if value not in (None, ""))
    return f"## Evaluation\n\n`gatt eval`, {told}.\n\n{rows}\n\n{_RATES}"
