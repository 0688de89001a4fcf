"""What a repository of an adapter or a report holds."""

from __future__ import annotations

from typing import Final

from gatt.commands.export.card import TAGS, evaluation_section, filled
from gatt.commands.export.evaluation import RESULTS_FILE, read_evaluation
from gatt.commands.export.redaction import private_in
from gatt.commands.push.layout import Layout
from gatt.data.training_marks import FILE as MARKS
from gatt.models.adapter import SETTINGS, WEIGHTS, base_model_of
from gatt.models.base_card import hub_id, license_of, note_of, public_name
from gatt.models.digest import adapter_digest
from gatt.models.template_variables import FILE as VARIABLES

_PAGE: Final = "report.html"


def lay_out_adapter(layout: Layout) -> None:
    """Fill the folder with PEFT's two files, what the adapter was trained on and with, and the card.

    Raises:
        DataError: no evaluation in `results`, or one of another adapter.
        ModelError: no adapter there.
    """
    config, folder = layout.config, layout.config.folder
    base = base_model_of(folder) or ""
    digest = adapter_digest(folder)
    settings = layout.read(folder / SETTINGS)
    card = layout.card()
    card.text = card.text.strip() or f"# Ghost Attention adapter\n\nFor `{public_name(base)}`."
    card.data.library_name, card.data.pipeline_tag = "peft", "text-generation"
    if base:
        settings["base_model_name_or_path"] = hub_id(base) or public_name(base)
        card.data.base_model = hub_id(base)
        card.data.license = card.data.license or license_of(base)
    if note := note_of(base):
        card.text += f"\n\n## Base model\n\n{note}"
    if config.results is not None:
        evaluation = read_evaluation(config.results, config.arm, digest)
        layout.private.extend(private_in(evaluation.run))
        before, mark, after = card.text.partition("\n## Limits")
        card.text = f"{before.rstrip()}\n\n{evaluation_section(evaluation)}\n{mark}{after}"
    layout.write(SETTINGS, settings)
    for path in (folder / WEIGHTS, folder / MARKS, folder / VARIABLES):
        if path.is_file():
            layout.put(path)
    layout.write_card(card)


def lay_out_report(layout: Layout) -> None:
    """Fill the folder with a static space: the page, the numbers behind it, and the card.

    Raises:
        DataError: no report or no results there, broken ones, or no such arm in them.
    """
    config, card = layout.config, layout.card()
    page = layout.read(config.folder / _PAGE)
    evaluation = read_evaluation(config.folder, config.arm)
    layout.write(RESULTS_FILE, layout.read(config.folder / RESULTS_FILE))
    layout.write(_PAGE, page)
    name = evaluation.run.get("name") or config.folder.resolve().name
    card.data.title = f"GAtt evaluation: {name}"
    card.data.sdk, card.data.app_file, card.data.tags = "static", _PAGE, [*TAGS]
    section = evaluation_section(evaluation)
    card.text = filled(__package__, "report.md.j2", title=card.data.title, evaluation=section)
    layout.write_card(card)
