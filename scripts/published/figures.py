"""The two pictures of the README and of results/README.md. Each title is what the picture says."""

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


def draw_all(folder: Path) -> None:
    """Draw every picture into a folder."""
    for name, draw in {"headline.png": headline, "speed.png": speed}.items():
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
