"""The two pictures of the README and of results/README.md. Each title is what the picture says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from published.rates import Figure

mpl.use("Agg")
import matplotlib.pyplot as plt

JOINT_ARMS: Final = {
    "gatt": ("GAtt", "#1f6fb2"),
    "single_turn": ("fine-tuned on single turns", "#c2702f"),
    "alone": ("base, asked alone", "#7a5aa6"),
    "base+system+reminder": ("base, reminded", "#4d8f63"),
    "base": ("base", "#8a8f98"),
}


def draw_all(folder: Path) -> None:
    """Draw every picture into a folder."""
    for name, draw in {"joint.png": joint, "speed.png": speed}.items():
        figure = draw(folder)
        figure.savefig(folder / name, dpi=130, metadata={"Software": None})
        plt.close(figure)


def joint(_folder: Path) -> Any:
    """Return the joint rate over turns, people's history."""
    figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    for arm, (label, colour) in JOINT_ARMS.items():
        curve(axis, Figure("recipes", "joint", "reference"), arm, label, colour)
    axis.set(
        title="Keeps its instruction and answers, Qwen2.5-Coder-0.5B",
        xlabel="turn",
        ylabel="replies that keep\nand answer, %",
        xlim=(0, 21),
        xticks=[1, 8, 20],
    )
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
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
