"""The card of an exported model: what it is, how to run it, its rates, how it was made, its limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.config import ExportConfig
from gatt.commands.export.evaluation import METRICS, SPLITS, Evaluation, eval_results
from gatt.models.adapter import adapter_rank
from gatt.models.base_card import hub_id, license_of, note_of, public_name, read_card
from gatt.models.digest import adapter_digest
from gatt.runs.provenance import versions

CARD: Final = "README.md"
TAGS: Final = ("ghost-attention", "gatt")
_LIMITS: Final = """## Limits

- It learned from replies of the model that sampled them, mistakes and bias included.
- It follows whoever writes turn 1: it is no safety measure.
- The base model's licence and limits hold."""
_TEXT: Final = """# {name}

`{base}` {how}. It is trained to keep an instruction given once, in turn 1, over the turns of a dialogue
(Llama 2, [arXiv:2307.09288](https://arxiv.org/abs/2307.09288), section 3.3). Digest of the adapter: `{digest}`.

{note}## Use

Put the instruction into the system message, once (or in front of the first user message), and continue the
dialogue.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
{load}
```

```
{serve}
```

{evaluation}

{training}

## Licence

{licence}

Exported with {versions}.
"""
_VLLM_RANKS: Final = (16, 32, 64, 128, 256, 320, 512)
_RATES: Final = (
    "Per cent with 95 % interval, and the number of dialogues. Of false triggers fewer are better. "
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

    name = config.name or config.output_dir.resolve().name
    found = config.license or license_of(base)
    rates = eval_results(evaluation) if evaluation else []
    data = ModelCardData(
        base_model=hub_id(base),
        license=found,
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=[*TAGS],
        model_name=name if rates else None,
        eval_results=rates or None,
    )
    how = f"with a Ghost Attention adapter (LoRA) merged into its weights ({dtype})"
    load = 'model = AutoModelForCausalLM.from_pretrained("FOLDER")'
    serve = "transformers serve FOLDER\nvllm serve FOLDER"
    if not config.merge:
        how = f"in {dtype}, with a Ghost Attention adapter (LoRA) for it in `adapter/`"
        load += '\nmodel.load_adapter("FOLDER/adapter")'
        serve = vllm_line("FOLDER", adapter_rank(config.adapter))
    licence = f"`{found}`." if found else f"Not stated: see the page of `{public_name(base)}`."
    text = _TEXT.format(
        name=name,
        base=public_name(base),
        how=how,
        digest=adapter_digest(config.adapter),
        note=f"{note}\n\n" if (note := note_of(base)) else "",
        load=load,
        serve=serve,
        evaluation=evaluation_section(evaluation),
        training=_training(config.adapter / CARD),
        licence=f"{licence} The terms of the base model's licence hold here.",
        versions=", ".join(f"{package} {v}" for package, v in versions().items() if v),
    )
    return f"---\n{data.to_yaml()}\n---\n\n{text}"


def vllm_line(folder: str, rank: int) -> str:
    """Return the command that serves an exported base model with its adapter as `gatt`.

    vLLM takes ranks above 16 only where it is told so.
    """
    line = f"vllm serve {folder} --enable-lora --lora-modules gatt={folder}/adapter"
    room = next((known for known in _VLLM_RANKS if known >= rank), rank)
    return line if rank <= _VLLM_RANKS[0] else f"{line} --max-lora-rank {room}"


def evaluation_section(evaluation: Evaluation | None) -> str:
    """Return the section with the rates over turns, and on what they were measured."""
    if evaluation is None:
        return "## Evaluation\n\nNone yet. `gatt eval` measures how long instructions hold."
    turns = sorted({record["turn"] for record in evaluation.records})
    lines: dict[tuple[str, ...], dict[int, str]] = {}
    for r in evaluation.records:
        names = (r["history"], METRICS[r["metric"]], SPLITS[r["split"]], r["arm"])
        lines.setdefault(names, {})[r["turn"]] = _cell(r)
    table = [("history", "metric", "instructions", "arm", *(f"turn {turn}" for turn in turns))]
    table.append((*["---"] * 4, *["---:"] * len(turns)))
    table += [
        (*names, *(cells.get(t, "") for t in turns)) for names, cells in sorted(lines.items())
    ]
    rows = "\n".join("| " + " | ".join(row) + " |" for row in table)
    return f"## Evaluation\n\n{_measured_on(evaluation.run)}\n\n{rows}\n\n{_RATES}"


def _training(card: Path) -> str:
    """Return the part of the adapter's card that holds for the model too."""
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    _, mark, rest = read_card(text).text.partition("## Method")
    return f"{mark}{rest}".strip() or _LIMITS


def _measured_on(run: Mapping[str, Any]) -> str:
    config = run.get("config") or {}
    sampling = config.get("sampling") or {}
    parts = {key: run.get(key) for key in ("model", "seed", "commit", "hardware", "time")} | {
        "suite": config.get("suite"),
        "dialogues": (config.get("source") or {}).get("name"),
        "cases of a split": config.get("num_dialogues"),
        "temperature": sampling.get("temperature"),
        "tokens a reply": sampling.get("max_new_tokens"),
    }
    found = "; ".join(
        f"{name}: {value}" for name, value in parts.items() if value not in (None, "")
    )
    return f"`gatt eval`, {found}."


def _cell(record: Mapping[str, Any]) -> str:
    low, high = record["low"], record["high"]
    bounds = "" if low is None or high is None else f" [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{100 * record['rate']:.0f}{bounds} ({record.get('num_dialogues', '?')})"
