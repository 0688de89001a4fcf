"""An adapter as a model repository: PEFT's two files, what it was trained on and with, and the card."""

from __future__ import annotations

from gatt.commands.export.card import evaluation_section
from gatt.commands.export.evaluation import adapter_evaluation, eval_results
from gatt.commands.push.layout import Layout, read_json
from gatt.data.training_marks import FILE as MARKS
from gatt.models.adapter import SETTINGS, WEIGHTS, base_model_of
from gatt.models.base_card import hub_id, license_of, note_of, public_name
from gatt.models.digest import adapter_digest
from gatt.models.template_variables import FILE as VARIABLES


def lay_out_adapter(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no evaluation in `results`, or one of another adapter.
        ModelError: no adapter there.
    """
    config, folder = layout.config, layout.config.folder
    base = base_model_of(folder) or ""
    digest = adapter_digest(folder)
    settings = read_json(folder / SETTINGS)
    layout.hide(settings)
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
        evaluation = adapter_evaluation(config.results, config.arm, digest)
        layout.hide(evaluation.run)
        place = config.repo_id or config.to or folder
        card.data.model_name = str(place).rpartition("/")[2]
        card.data.eval_results = eval_results(evaluation)
        before, mark, after = card.text.partition("\n## Limits")
        card.text = f"{before.rstrip()}\n\n{evaluation_section(evaluation)}\n{mark}{after}"
    layout.put(folder / WEIGHTS)
    layout.write_json(SETTINGS, settings)
    for path in (folder / MARKS, folder / VARIABLES):
        if path.is_file():
            layout.put(path)
    layout.write_card(card)
