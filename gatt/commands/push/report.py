"""A report as a static space: the page, the numbers behind it, and the card."""

from __future__ import annotations

import re
from typing import Final

from gatt.commands.export.card import TAGS, evaluation_section
from gatt.commands.export.evaluation import RESULTS_FILE, read_evaluation
from gatt.commands.push.layout import Layout, read_json, text_of

_PAGE: Final = "report.html"
_CODE: Final = re.compile(r"(?is)(<script\b.*?</script>|<style\b.*?</style>)")
_TEXT: Final = """# {title}

Does an instruction given once still hold many turns later? `report.html` shows the curves, and every reply
with the evidence of its verdict. `results.json` has every rate as a flat record:

```python
import json, pandas

pandas.DataFrame(json.load(open("results.json"))["curves"])
```

{evaluation}

## Limits

The rates hold for these dialogues and instructions. Rules judge whether replies keep the instruction, not
whether they are good."""


def lay_out_report(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no report or no results there, broken ones, or no such arm in them.
    """
    config, card = layout.config, layout.card()
    page = text_of(layout.source(_PAGE, "gatt eval"))
    evaluation = read_evaluation(config.folder, config.arm)
    layout.hide(evaluation.run)
    # Scripts and the packed replies hold no path, but may hold what looks like one.
    parts = enumerate(_CODE.split(page))
    layout.write(_PAGE, "".join(p if n % 2 else layout.public(p) for n, p in parts))
    layout.write_json(RESULTS_FILE, read_json(config.folder / RESULTS_FILE))
    name = evaluation.run.get("name") or config.folder.resolve().name
    card.data.title = f"GAtt evaluation: {name}"
    card.data.sdk, card.data.app_file, card.data.tags = "static", _PAGE, [*TAGS]
    card.text = _TEXT.format(title=card.data.title, evaluation=evaluation_section(evaluation))
    layout.write_card(card)
