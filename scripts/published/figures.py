"""The four pictures of the README and of results/README.md. Each title is what the picture says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from published.rates import ARMS, Figure

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS: Final = {"base": "#8a8f98", "base+reminder": "#d08a2e", "gatt": "#1f6fb2"}
PANELS: Final = {
    "its own chat": Figure("ordinary_own", split="train"),
    "people's history: replies that ignore it": Figure(
        "ordinary", history="reference", split="train"
    ),
}
TRAINED: Final = {
    "gatt_8": ("8 turns", "#9fc5e8"),
    "gatt_16": ("16", "#4a90c8"),
    "gatt": ("20", "#1f4e79"),
}
PARTS: Final = {
    "reference": "people's history, loss on the targets",
    "recipe": "people's and own history mixed",
    "sampled": "own history",
    "all_turns": "people's history, loss on all replies",
    "every_turn": "instruction taught on every turn",
    "context_only": "loss on people's replies alone",
}


def draw_all(folder: Path) -> None:
    """Draw every picture into a folder."""
    for name, draw in {
        "headline.png": headline,
        "parts.png": parts,
        "length.png": length,
        "speed.png": speed,
    }.items():
        figure = draw(folder)
        figure.savefig(folder / name, dpi=130, metadata={"Software": None})
        plt.close(figure)


def headline(_folder: Path) -> Any:
    """Return adherence over turns: own chat and people's history side by side."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    figure.suptitle(
        "Told once, Qwen2.5-Coder-0.5B still follows at turn 20, with GAtt",
        fontsize=11,
    )
    for axis, (title, seen) in zip(axes, PANELS.items(), strict=True):
        for arm, label in ARMS.items():
            curve(axis, seen, arm, label, COLOURS[arm])
        axis.set(title=title, xlabel="turn", xlim=(0, 21), xticks=[1, 4, 8, 12, 16, 20])
    axes[0].set_ylabel("replies that follow\nthe instruction, %")
    axes[1].legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.35))
    return figure


def parts(_folder: Path) -> Any:
    """Return what is left at turn 12 when one part of the recipe is changed."""
    where = Figure("ablations", history="reference")
    found = {label: where.at(arm, 12) for arm, label in PARTS.items()}
    bars = {label: record for label, record in found.items() if record}
    rates = [100 * record["rate"] for record in bars.values()]
    ends = [
        [100 * (r["rate"] - r["low"]) for r in bars.values()],
        [100 * (r["high"] - r["rate"]) for r in bars.values()],
    ]
    figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
    axis.barh(list(bars), rates, xerr=ends, color="#1f6fb2", alpha=0.8, ecolor="#555", capsize=2)
    axis.invert_yaxis()
    axis.set(
        title="The mask and people's history carry the method",
        xlabel="replies that follow the instruction at turn 12, %",
        xlim=(0, 100),
    )
    tidy(axis)
    return figure


def length(_folder: Path) -> Any:
    """Return adherence over 80 turns by the length of the training dialogues."""
    figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
    for arm, (label, colour) in TRAINED.items():
        curve(axis, Figure("long", history="reference"), arm, f"trained on {label}", colour)
    axis.set(
        title="It holds about as long as its training dialogues were",
        xlabel="turn",
        ylabel="replies that follow\nthe instruction, %",
        xlim=(0, 81),
    )
    axis.legend(frameon=False)
    return figure


def speed(folder: Path) -> Any:
    """Return what one target costs as dialogues grow."""
    rows = json.loads((folder / "training" / "scaling.json").read_text(encoding="utf-8"))["rows"]
    turns = [row["turns"] for row in rows]
    figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
    for name, label, colour in (
        ("expanded", "one row a turn", "#8a8f98"),
        ("comb", "all turns in one sequence", "#1f6fb2"),
    ):
        costs = [row[f"{name}_seconds"] / row["turns"] for row in rows]
        axis.plot(turns, costs, marker="o", color=colour, label=label)
    axis.set(
        title="In one sequence a target costs little more as dialogues grow",
        xlabel="turns of the dialogue",
        ylabel="seconds a target",
        ylim=(0, None),
    )
    axis.legend(frameon=False)
    tidy(axis)
    return figure


def curve(axis: Any, where: Figure, arm: str, label: str, colour: str) -> None:
    """Draw the rates of an arm with their intervals."""
    found = [r for turn in range(1, 81) if (r := where.at(arm, turn))]
    turns = [r["turn"] for r in found]
    low, high = ([100 * r[end] for r in found] for end in ("low", "high"))
    axis.fill_between(turns, low, high, color=colour, alpha=0.15, linewidth=0)
    rates = [100 * r["rate"] for r in found]
    axis.plot(turns, rates, color=colour, marker="o", markersize=3.5, label=label)
    axis.set_ylim(0, 100)
    tidy(axis)


def tidy(axis: Any) -> None:
    """Draw a light grid and no frame."""
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
