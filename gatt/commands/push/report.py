"""A report as a static space: the page, the numbers behind it, and the card."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gatt.commands.export.card import evaluation_section
from gatt.commands.export.evaluation import RESULTS_FILE, read_evaluation
from gatt.commands.push.layout import Layout, read_json, text_of
from gatt.errors import DataError
from gatt.models.base_card import read_card

_PAGE: Final = "report.html"
_HINT: Final = "that `gatt eval` made"
_CODE: Final = re.compile(r"(?is)(<script\b.*?</script>|<style\b.*?</style>)")
_SHOWN: Final = ("model", "suite", "seed", "commit", "hardware", "time")


def lay_out_report(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no report or no results there, broken ones, or no such arm in them.
    """
    page = text_of(layout.source(_PAGE, _HINT))
    results = read_json(layout.source(RESULTS_FILE, _HINT))
    run = results.get("run") if isinstance(results, dict) else None
    if not isinstance(run, dict):
        raise DataError(f"{layout.config.folder / RESULTS_FILE}: no 'run': expected a file {_HINT}")
    layout.learn(run)
    # Scripts and the packed replies hold no path, but may hold what looks like one.
    parts = _CODE.split(page)
    layout.write_text(_PAGE, "".join(p if n % 2 else layout.public(p) for n, p in enumerate(parts)))
    layout.write_json(RESULTS_FILE, results)
    data: Any = read_card("").data
    name = str(run.get("name") or layout.config.folder.resolve().name)
    data.title = f"GAtt evaluation: {name}"
    data.sdk = "static"
    data.app_file = _PAGE
    data.license = layout.config.license
    data.tags = ["ghost-attention", "gatt"]
    layout.write_card(data, _body(layout, name, run))


def _body(layout: Layout, name: str, run: Mapping[str, Any]) -> str:
    config = run.get("config") or {}
    values = {key: run.get(key) or config.get(key) for key in _SHOWN}
    lines = [f"| {key} | {value} |" for key, value in values.items() if value not in (None, "")]
    is_trained = layout.config.arm or config.get("adapters")
    return "\n\n".join(
        [
            f"# GAtt evaluation: {name}",
            "Does an instruction that was told once still hold many turns later? `report.html` shows the "
            "curves and every reply with the evidence of its verdict; `results.json` has every rate as a flat "
            "record:",
            "```python\nimport json, pandas\n\n"
            'pandas.DataFrame(json.load(open("results.json"))["curves"])\n```',
            "\n".join(["| what | value |", "| --- | --- |", *lines]),
            evaluation_section(read_evaluation(layout.config.folder, layout.config.arm))
            if is_trained
            else "",
            "## Limits\n\nRates of these dialogues and instructions, with the width that their number gives. "
            "Replies are judged by rules: whether they keep the instruction, not whether they are good.",
        ]
    )
