"""The card of an exported model: what it is, how to run it, its numbers, how it was made, its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gatt.commands.export.evaluation import METRICS, SPLITS, Evaluation, eval_results
from gatt.commands.export.serving import vllm_line
from gatt.models.base_card import EMBEDDED_NOTE, read_card
from gatt.models.load import EMBEDDED
from gatt.runs.provenance import versions

if TYPE_CHECKING:
    pass

TAGS: Final = ("ghost-attention", "gatt")
_LIMITS: Final = (
    "It learned from replies of the model that sampled them, mistakes and bias included.",
    "It follows whoever writes turn 1: it is no safety measure.",
    "The base model's licence and limits hold.",
)
_PAPER: Final = "Llama 2, [arXiv:2307.09288](https://arxiv.org/abs/2307.09288), section 3.3"


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """What the card of an exported model says of it."""

    name: str
    base: str
    """What readers call the base model."""
    base_id: str | None
    """The base model on the hub, None where it is not there."""
    license: str | None
    dtype: str
    is_merged: bool
    digest: str
    """Of the adapter."""
    rank: int
    """Of the adapter, where it is largest."""


def export_card(facts: ModelFacts, evaluation: Evaluation | None, adapter_card: str) -> str:
    """Return the card of an exported model.

    Args:
        facts: of the model.
        evaluation: of its adapter, None where there is none.
        adapter_card: the adapter's own, whose sections on method, data and training are taken over;
            empty where there is none.
    """
    from huggingface_hub import ModelCardData

    found = eval_results(evaluation) if evaluation else []
    data = ModelCardData(
        base_model=facts.base_id,
        license=facts.license,
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=[*TAGS],
        model_name=facts.name if found else None,
        eval_results=found or None,
    )
    sections = [
        f"# {facts.name}",
        _what(facts),
        f"## Use\n\n{_use(facts)}",
        evaluation_section(evaluation),
        _taken_over(adapter_card),
        f"## Licence\n\n{_licence(facts)}",
        "Exported with " + ", ".join(f"{k} {v}" for k, v in versions().items() if v) + ".",
    ]
    return f"---\n{data.to_yaml()}\n---\n\n" + "\n\n".join(s for s in sections if s) + "\n"


def evaluation_section(evaluation: Evaluation | None) -> str:
    """Return the numbers of a card: tables over turns, and what they were measured on."""
    if evaluation is None:
        return "## Evaluation\n\nNone is recorded here. `gatt eval` measures how long instructions hold."
    lines = ["## Evaluation", "", _measured_on(evaluation.run), ""]
    for history in evaluation.histories:
        of_whom = "the dialogue's own" if history == "reference" else "the model's own"
        heads = ["metric", "instructions", "arm", *(f"turn {t}" for t in evaluation.turns)]
        lines += [f"Replies in the history: {of_whom} (`{history}`).", ""]
        lines += [
            "| " + " | ".join(heads) + " |",
            "| --- | --- | --- |" + " ---: |" * (len(heads) - 3),
        ]
        for metric, split, arm, by_turn in evaluation.rows(history):
            cells = [_cell(by_turn.get(turn)) for turn in evaluation.turns]
            ours = "this model" if arm == evaluation.arm else "base model"
            lines.append("| " + " | ".join([METRICS[metric], SPLITS[split], ours, *cells]) + " |")
        lines.append("")
    lines.append(
        "Per cent with 95 % interval, and the dialogues it rests on. Of false triggers fewer are better. "
        "Rules judged the replies: whether they keep the instruction, not whether they are good ones."
    )
    return "\n".join(lines)


def _what(facts: ModelFacts) -> str:
    how = (
        f"with a Ghost Attention adapter (LoRA) merged into its weights ({facts.dtype})"
        if facts.is_merged
        else f"as it is ({facts.dtype}), and in `adapter/` a Ghost Attention adapter (LoRA) for it"
    )
    return (
        f"`{facts.base}` {how}: made to keep an instruction given once, in turn 1, over the turns of a "
        f"dialogue ({_PAPER}). Digest of the adapter: `{facts.digest}`."
        + (f"\n\n{EMBEDDED_NOTE}" if facts.base == EMBEDDED else "")
    )


def _use(facts: ModelFacts) -> str:
    load = ['model = AutoModelForCausalLM.from_pretrained("FOLDER")']
    serve = ["transformers serve FOLDER", "vllm serve FOLDER"]
    if not facts.is_merged:
        load.append('model.load_adapter("FOLDER/adapter")')
        serve = [vllm_line("FOLDER", "FOLDER/adapter", facts.rank)]
    return (
        "Put the instruction into the system message, once (or in front of the first user message), and "
        "go on with the dialogue.\n\n```python\nfrom transformers import AutoModelForCausalLM, "
        'AutoTokenizer\n\ntokenizer = AutoTokenizer.from_pretrained("FOLDER")\n'
        + "\n".join(load)
        + "\n```\n\n```\n"
        + "\n".join(serve)
        + "\n```"
    )


def _licence(facts: ModelFacts) -> str:
    if facts.license:
        return f"`{facts.license}`. What the base model's licence asks holds here too."
    return f"That of the base model, `{facts.base}`: see its page."


def _taken_over(card: str) -> str:
    """Return the sections of the adapter's card that hold for the model too."""
    sections = re.split(r"(?m)^(?=## )", read_card(card).text) if card else []
    wanted = ("## Method", "## Data", "## Training", "## Limits")
    found = {s.split("\n")[0].strip(): s.strip() for s in sections}
    if "## Limits" not in found:
        found["## Limits"] = "## Limits\n\n" + "\n".join(f"- {line}" for line in _LIMITS)
    return "\n\n".join(found[name] for name in wanted if name in found)


def _measured_on(run: Mapping[str, Any]) -> str:
    config = run.get("config") or {}
    sampling = config.get("sampling") or {}
    greedy = sampling.get("temperature") == 0
    parts = {
        "model": run.get("model"),
        "suite": config.get("suite"),
        "dialogues": (config.get("source") or {}).get("name"),
        "cases of a split": config.get("num_dialogues"),
        "replies": "greedy" if greedy else f"temperature {sampling.get('temperature')}",
        "tokens a reply": sampling.get("max_new_tokens"),
        "seed": run.get("seed"),
        "commit": run.get("commit"),
        "hardware": run.get("hardware"),
        "time": run.get("time"),
    }
    said = "; ".join(f"{name}: {value}" for name, value in parts.items() if value not in (None, ""))
    return f"`gatt eval`, {said}."


def _cell(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return ""
    low, high = record["low"], record["high"]
    bounds = "" if low is None or high is None else f" [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{100 * record['rate']:.0f}{bounds} ({record.get('num_dialogues', '?')})"
