"""`gatt export`: from an adapter to a folder that servers load."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import torch
from huggingface_hub import ModelCardData

from gatt.commands.export.config import ExportConfig
from gatt.commands.export.evaluation import CARD, evaluation_of
from gatt.commands.export.redaction import public_text
from gatt.commands.templates import filled
from gatt.data.training_marks import FILE as MARKS
from gatt.errors import ConfigError, ModelError
from gatt.models.adapter import attach_adapter, base_model_of, check_adapter, one_line
from gatt.models.base_card import hub_id, license_of, note_of, public_name, read_card
from gatt.models.digest import adapter_digest
from gatt.models.encoded_view import stop_token_ids
from gatt.models.load import LoadedModel, load_model, load_model_config
from gatt.models.template_variables import read_variables, set_template_variables
from gatt.runs.atomic_file import whole_folder
from gatt.runs.provenance import versions

_TIED: Final = frozenset({"embed_tokens", "lm_head", "wte", "embed_in", "embed_out"})
_ROPE_KEYS: Final = {"rope_theta", "partial_rotary_factor"}
"""Of `rope_parameters`, what stood beside `rope_scaling` before."""


def export(config: ExportConfig) -> str:
    """Make the folder of a model out of an adapter; it appears whole. Return one line on it.

    Raises:
        ConfigError: neither the adapter nor the configuration names a base model.
        DataError: see `evaluation_of`; or broken variables of the chat template beside the adapter.
        ModelError: adapter or base model cannot be loaded, are quantised, or do not fit.
        StoreError: the folder exists already, or cannot be written.
        TemplateError: no chat template, one that ends no turn, or one without a recorded variable.
    """
    base = base_model_of(config.adapter) if config.model is None else config.model
    if base is None:
        raise ConfigError(f"{config.adapter}: names no base model: name it with model")
    # Before the model, which may take minutes.
    check_adapter(config.adapter)
    digest = adapter_digest(config.adapter)
    evaluation = "" if config.results is None else evaluation_of(config.results, digest)
    with whole_folder(config.output_dir) as folder:
        loaded, dtype = _load_base(base, config.dtype)
        tokenizer = loaded.tokenizer
        set_template_variables(tokenizer, read_variables(config.adapter))
        stops = stop_token_ids(tokenizer)
        _merged(loaded, config.adapter).to(dtype).save_pretrained(folder, max_shard_size="5GB")
        tokenizer.save_pretrained(folder)
        for name in ("config.json", "tokenizer_config.json", "generation_config.json"):
            # In the file: transformers refuses to save some settings that were published.
            settings = json.loads((folder / name).read_text(encoding="utf-8"))
            if name.startswith("generation"):
                end_turns(settings, stops, tokenizer.pad_token_id)
            else:
                for_other_readers(settings)
            text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
            (folder / name).write_text(text, encoding="utf-8")
        if (config.adapter / MARKS).is_file():
            shutil.copyfile(config.adapter / MARKS, folder / MARKS)
        name = str(dtype).removeprefix("torch.")
        text = card_of(config, base, name, digest, evaluation)
        (folder / CARD).write_text(public_text(text, Path.cwd(), Path.home()), encoding="utf-8")
        size = sum(p.stat().st_size for p in folder.iterdir()) / 1e6
    return (
        f"{config.output_dir}: {public_name(base)} with the adapter merged, {name}, {size:,.0f} MB"
    )


def card_of(config: ExportConfig, base: str, dtype: str, digest: str, evaluation: str) -> str:
    """Return the card; the adapter's own card gives the sections on method, data and training."""
    licence = config.license or license_of(base)
    data = ModelCardData(
        base_model=hub_id(base), license=licence, library_name="transformers",
        pipeline_tag="text-generation", tags=["ghost-attention", "gatt"],
    )  # fmt: skip
    own = config.adapter / CARD
    text = own.read_text(encoding="utf-8", errors="replace") if own.is_file() else ""
    _, mark, rest = read_card(text).text.partition("## Method")
    body = filled(
        "export/card.md.j2", name=config.output_dir.resolve().name, base=public_name(base),
        dtype=dtype, digest=digest, note=note_of(base), evaluation=evaluation,
        training=f"{mark}{rest}".strip(), license=licence,
        versions=", ".join(f"{package} {v}" for package, v in versions().items() if v),
    )  # fmt: skip
    return f"---\n{data.to_yaml()}\n---\n\n{body}"


def end_turns(settings: dict[str, Any], stops: Collection[int], pad_token_id: int) -> None:
    """Make servers stop at the tokens with which the chat template ends a turn."""
    stated = settings.get("eos_token_id")
    stated = [] if stated is None else [stated] if isinstance(stated, int) else stated
    ends = [*stated, *sorted(set(stops) - set(stated))]
    settings["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    if settings.get("pad_token_id") is None:
        settings["pad_token_id"] = pad_token_id
    # With this mark, transformers would take the ends from `config.json` instead.
    settings.pop("_from_model_config", None)


def for_other_readers(settings: dict[str, Any]) -> None:
    """Add the keys of transformers 4: without them Ollama's importer takes a default rotary base."""
    # The Python code that it names is not in the folder.
    settings.pop("auto_map", None)
    if settings.get("tokenizer_class") == "TokenizersBackend":
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(settings.get("dtype"), str):
        settings.setdefault("torch_dtype", settings["dtype"])
    rope = dict(settings.get("rope_parameters") or {})
    if isinstance(rope.get("rope_theta"), int | float):
        flat = {key: rope.pop(key) for key in _ROPE_KEYS & rope.keys()}
        scaling = {"rope_scaling": rope} if rope.get("rope_type", "default") != "default" else {}
        settings.update({**flat, **scaling, **settings})


def _load_base(model: str, dtype: str) -> tuple[LoadedModel, torch.dtype]:
    """Return the base model in a dtype in which adding an adapter loses nothing, and the dtype to write."""
    config = load_model_config(model)
    if getattr(config, "quantization_config", None):
        raise ModelError(
            f"{model}: its weights are quantised: expected plain ones to add the adapter to: name the model "
            "that it was quantised from with model"
        )
    stored = getattr(config, "dtype", None) or torch.float32
    target = stored if dtype == "auto" else getattr(torch, dtype)
    # PEFT rounds the update to the dtype of the weight before it adds it: a small update would be lost.
    exact = torch.promote_types(torch.promote_types(stored, target), torch.float32)
    return load_model(model, dtype=str(exact).removeprefix("torch.")), target


def _merged(base: LoadedModel, adapter: Path) -> Any:
    """Return the model with the adapter added to its weights."""
    with warnings.catch_warnings():
        # PEFT warns of tied weights, which are refused below.
        warnings.filterwarnings("ignore", ".*tie_word_embeddings", UserWarning)
        model = attach_adapter(base.model, adapter, base_name=base.name)
    names = {name.rpartition(".")[2] for name in model.base_model.targeted_module_names} & _TIED
    if names and getattr(base.model.config, "tie_word_embeddings", False):
        raise ModelError(
            f"{adapter}: adapts {min(names)}, which shares its weights with the other end of {base.name}: "
            "merged, both would change: serve the adapter beside its base model instead"
        )
    try:
        return model.merge_and_unload(safe_merge=True)
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"{adapter}: cannot be merged: {one_line(error)}") from None
