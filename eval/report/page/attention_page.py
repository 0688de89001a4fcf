"""The page of `gatt attend` alone, for dialogues that are no evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.report.page.attention import attention_section
from eval.report.page.render import page_environment, run_facts
from gatt.runs.atomic_file import atomic_write_text


def render_attention(data: Mapping[str, Any], path: Path) -> None:
    """Write what was found as one self-contained HTML file.

    Args:
        data: the value of `attention.json`.
        path: of the file; its folder is made.

    Raises:
        StoreError: the file cannot be written.
    """
    context = {
        "attention": attention_section(data, data["arms"]),
        "runs": run_facts(data["run"]),
    }
    template = page_environment(data["arms"]).get_template("attention_page.html.j2")
    # A lone surrogate in a reply has no UTF-8 form.
    atomic_write_text(path, template.render(context).encode("utf-8", "backslashreplace").decode())
