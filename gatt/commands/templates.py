"""Texts and pages out of the Jinja templates beside the commands. No torch here."""

from __future__ import annotations

import json
from typing import Any


def filled(template: str, /, **values: Any) -> str:
    """Return a template, such as `rows/trl.md.j2`, with the values in it; a page of HTML escapes them.

    The filter `json` writes a value as JSON, which is YAML and nearly Python too.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    is_page = ".html." in template
    environment = Environment(
        loader=PackageLoader("gatt.commands", "."),
        autoescape=is_page,
        undefined=StrictUndefined,
        trim_blocks=is_page,
        lstrip_blocks=is_page,
        keep_trailing_newline=True,
    )
    environment.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.get_template(template).render(values)
