"""The note beside a file of rows: how to start the trainer on it."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from gatt.commands.rows.formats import RowMaker
from gatt.commands.rows.write import Written
from gatt.models.chat_template import template_of
from gatt.models.load import resolve
from gatt.train.config import TrainConfig


def note_of(
    rows: Path, template: Path | None, maker: RowMaker, config: TrainConfig, written: Written
) -> str:
    """Return the note, in Markdown.

    Args:
        rows: the file.
        template: the chat template that was written for it; None where the model's own does.
        maker: of the rows.
        config: whose settings the trainer gets.
        written: what the file holds.
    """
    environment = Environment(
        loader=PackageLoader("gatt.commands", "rows"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    variables = json.dumps(dict(config.chat_template_kwargs), ensure_ascii=False)
    return environment.get_template(f"{maker.format}.md.j2").render(
        rows=str(rows),
        name=rows.name,
        folder=str(rows.parent),
        template=template and str(template),
        model=resolve(config.model, ("config.json", "tokenizer_config.json")),
        config=config,
        variables=variables if config.chat_template_kwargs else "",
        behind=json.dumps(maker.frame.behind)
        if maker.template != template_of(maker.tokenizer)
        else "",
        closing=maker.frame.closing,
        num_rows=written.num_rows,
        num_tokens=written.num_tokens,
    )
