"""An adapter as a model repository: PEFT's two files, what it was trained on and with, and the card."""

from __future__ import annotations

from gatt.commands.export.card import evaluation_section
from gatt.commands.export.evaluation import adapter_evaluation, eval_results, refuse_other_adapter
from gatt.commands.push.layout import Layout, read_json
from gatt.data.training_marks import FILE as MARKS
from gatt.models.adapter import SETTINGS, WEIGHTS, base_model_of
from gatt.models.base_card import EMBEDDED_NOTE, hub_id, license_of, public_name
from gatt.models.digest import adapter_digest
from gatt.models.load import EMBEDDED
from gatt.models.template_variables import FILE as VARIABLES

_LIMITS = "\n## Limits"


def lay_out_adapter(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: an evaluation of another adapter, or none where one is said to be.
        ModelError: no adapter there.
    """
    config, folder = layout.config, layout.config.folder
    base = base_model_of(folder) or ""
    digest = adapter_digest(folder)
    settings = read_json(folder / SETTINGS)
    layout.learn(settings)
    if base:
        settings["base_model_name_or_path"] = hub_id(base) or public_name(base)
    layout.put(folder / WEIGHTS)
    layout.write_json(SETTINGS, settings)
    for path in (folder / MARKS, folder / VARIABLES):
        if path.is_file():
            layout.put(path)
    card = layout.card()
    data, body = card.data, card.text.strip()
    data.library_name = "peft"
    data.pipeline_tag = "text-generation"
    if base:
        # A card of before may name a repository of the hub that a folder here is called like.
        data.base_model = hub_id(base)
    data.license = config.license or data.license or (license_of(base) if base else None)
    if not body:
        body = f"# Ghost Attention adapter\n\nA LoRA adapter for `{public_name(base)}`."
    if base == EMBEDDED:
        body += f"\n\n## Base model\n\n{EMBEDDED_NOTE}"
    if config.results is not None:
        evaluation = adapter_evaluation(config.results, config.arm)
        layout.learn(evaluation.run)
        refuse_other_adapter(config.results, evaluation.arm, digest)
        if found := eval_results(evaluation):
            data.model_name, data.eval_results = _name(layout), found
        before, mark, after = body.partition(_LIMITS)
        body = f"{before.rstrip()}\n\n{evaluation_section(evaluation)}\n{mark}{after}"
    layout.write_card(data, body)


def _name(layout: Layout) -> str:
    config = layout.config
    # One of both is set.
    return config.repo_id.partition("/")[2] if config.repo_id else (config.to or config.folder).name
