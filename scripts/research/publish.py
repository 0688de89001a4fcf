"""Write what README.md and results/ publish from the results beside them.

    python scripts/research/publish.py            # writes
    python scripts/research/publish.py --check    # says what is stale, exit status 1

In README.md and results/README.md a table stands between `<!-- table: NAME -->` and `<!-- end -->`.
results/RUN/README.md is a page a run, from its entry in results/pages.yaml. Each cell is a rate of
`results/RUN/results.json`, in percent with its 95 % interval; column n has how many were judged.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml
from published.figures import draw_all
from published.rates import ARMS, RESULTS, Figure, counted, num_judged, percent, results, table

from eval.metrics.table import is_plain

ROOT: Final = RESULTS.parent
MARK: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
ROWS: Final = {
    "asked about it (as in Llama 2's Table 30)": Figure("table30", "probe_recall", "reference"),
    "ordinary reply, its own chat": Figure("ordinary_own", split="train"),
    "ordinary reply, its own chat, unseen instruction": Figure(
        "ordinary_own", split="heldout_value"
    ),
    "ordinary reply, people's history": Figure("ordinary", history="reference", split="train"),
    "ordinary reply, people's history, unseen instruction": Figure(
        "ordinary", history="reference", split="heldout_value"
    ),
}
JOINT_ARMS: Final = {
    "base": "base model",
    "base+system+reminder": "base model, reminded in every message",
    "alone": "base model asked alone, without history",
    "canned": "one fixed string",
    "single_turn": "fine-tuned on single turns",
    "gatt": "GAtt",
}
JOINT: Final = {"keeps": "keeps", "answers": "answers", "joint": "both"}


def headline() -> str:
    """Return the table of the first screen: what each arm keeps and answers at turn 20, with counts."""
    rows = []
    for arm, label in JOINT_ARMS.items():
        measured = (Figure("recipes", metric, "reference").at(arm, 20) for metric in JOINT)
        rows.append([label, *map(counted, measured)])
    return table(["at turn 20 of 20, people's history", *JOINT.values()], rows)


def turns() -> str:
    """Return what each arm keeps turn by turn."""
    judged = (1, 2, 4, 8, 12, 20)
    rows = [
        [name, label, *cells(figure, arm, judged)]
        for name, figure in ROWS.items()
        for arm, label in ARMS.items()
        if figure.at(arm, 20)
    ]
    return table(["what", "who", "n", *(f"turn {turn}" for turn in judged)], rows)


def cells(figure: Figure, arm: str, turns: Sequence[int]) -> list[str]:
    """Return how many replies were judged, over all turns "74–80", and the rate of each turn."""
    records = [figure.at(arm, turn) for turn in turns]
    return [num_judged(records), *(percent(record, with_interval=True) for record in records)]


TABLES: Final = {"headline": headline, "turns": turns}
NAMES: Final = {
    "joint": "Replies that keep their instruction and answer",
    "keeps": "Replies that keep their instruction",
    "answers": "Replies that answer their turn",
    "told": "Replies that keep their instruction and answer what the user told earlier",
    "adherence": "Replies that follow their instruction",
    "probe_recall": "Right answers to the question",
    "survival": "Conversations that followed it at every judged turn so far",
    "task_completion": "Replies that stay on the topic of the message",
    "repetition": "Replies that are an earlier one, word for word",
    "false_trigger": "Replies that follow an instruction that nobody gave",
}
HISTORIES: Final = {
    "own": "its own chat",
    "slip_2": "its own chat after two replies that ignore it",
    "reference": "people's history",
}
PLACEHOLDER: Final = re.compile(r"\{(?:(\w+):)?([\w+]+)(?:/(\w+))?@(\d+)\}")


def page(run: str, entry: Mapping[str, Any]) -> str:
    """Return the page of a run: question, answer, how it was measured, tables, caveats."""
    found = results(run)["run"]
    first = entry["tables"][0]

    def rate(match: re.Match[str]) -> str:
        metric, arm, split, turn = match.groups()
        figure = figure_of(run, {**first, "metric": metric or first["metric"]}, split)
        return counted(figure.at(arm, int(turn)))

    parts = [
        f"# {run}\n\n{entry['question']}\n",
        f"**{PLACEHOLDER.sub(rate, entry['answer'])}**\n",
        f"{entry['protocol']}\n",
        *(table_of(run, each, entry.get("published", {})) for each in entry["tables"]),
        seeds_of(run, first, entry["seeds"]) if "seeds" in entry else "",
        "".join(f"- {PLACEHOLDER.sub(rate, caveat)}\n" for caveat in entry.get("caveats", ())),
        "In brackets: 95 % intervals. n: how many were judged, at the turns with fewest and with most.\n",
        f"Made anew by `{entry['command']}`. {found['model']}, seed {found['seed']}, {found['hardware']}, "
        f"commit {found['commit']}. [All runs](../README.md).\n",
    ]
    return "\n".join(part for part in parts if part)


def figure_of(run: str, spec: Mapping[str, Any], split: str | None) -> Figure:
    """Return where the rates of a table stand."""
    fallback = "none" if is_plain(spec["metric"]) else "all"
    return Figure(run, spec["metric"], spec["history"], split or fallback)


def table_of(run: str, spec: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    """Return a table with its title."""
    rows = []
    for label, who in spec["rows"].items():
        arm, _, split = who.partition("/")
        figure = figure_of(run, spec, split)
        rows.append([str(label), *cells(figure, arm, spec["turns"])])
    for arm, rates in published.items():
        shown = [f"{rates[turn]} %" if turn in rates else "" for turn in spec["turns"]]
        rows.append([f"*Llama 2, {ARMS[arm]}*", "", *shown])
    title = f"{NAMES[spec['metric']]} ({HISTORIES[spec['history']]}):\n\n"
    head = [f"turn {turn}" for turn in spec["turns"]]
    return title + table(["", "n", *head], rows)


def seeds_of(run: str, spec: Mapping[str, Any], command: str) -> str:
    """Return a table of GAtt's rates with other seeds, a row each: `results/RUN/seeds/SEED/results.json`."""
    rows = []
    for seed in sorted(int(path.name) for path in (RESULTS / run / "seeds").iterdir()):
        figure = figure_of(f"{run}/seeds/{seed}", spec, None)
        rows.append([str(seed), *cells(figure, "gatt", spec["turns"])])
    head = ["seed", "n", *(f"turn {turn}" for turn in spec["turns"])]
    title = f"GAtt with other seeds of data, training and evaluation (`{command}`):"
    return f"{title}\n\n{table(head, rows)}"


def with_tables(text: str) -> str:
    """Return a page with its tables as the results are."""
    return MARK.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n{m[3]}", text)


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say what is stale")
    args = parser.parse_args()
    pages = yaml.safe_load((RESULTS / "pages.yaml").read_text(encoding="utf-8"))
    wanted = {
        path: with_tables(path.read_text(encoding="utf-8"))
        for path in (ROOT / "README.md", RESULTS / "README.md")
    } | {RESULTS / run / "README.md": page(run, entry) for run, entry in pages.items()}
    stale = [
        path
        for path, text in wanted.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if not args.check:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
        draw_all(RESULTS)
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'stale tables' if args.check else 'written'}")
    return 1 if stale and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
