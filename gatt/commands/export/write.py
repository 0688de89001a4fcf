"""`gatt export`: from an adapter to a folder that servers load."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.card import CARD, export_card
from gatt.commands.export.config import ExportConfig
from gatt.commands.export.evaluation import adapter_evaluation
from gatt.commands.export.redaction import private_in, public_text
from gatt.commands.export.weights import load_base, merged
from gatt.data.training_marks import FILE as MARKS
from gatt.errors import ConfigError
from gatt.models.adapter import SETTINGS, WEIGHTS, attach_adapter, base_model_of
from gatt.models.base_card import hub_id, public_name
from gatt.models.digest import adapter_digest
from gatt.models.encoded_view import stop_token_ids
from gatt.models.template_variables import FILE as VARIABLES
from gatt.models.template_variables import read_variables, set_template_variables
from gatt.runs.atomic_folder import whole_folder

ADAPTER_FOLDER: Final = "adapter"
_ROPE_KEYS: Final = {"rope_theta", "partial_rotary_factor"}
"""Of `rope_parameters`, what stood beside `rope_scaling` before."""


@dataclass(frozen=True)
class ExportResult:
    """The folder of an export."""

    folder: Path
    base: str
    dtype: str
    num_bytes: int


def export(config: ExportConfig) -> ExportResult:
    """Make the folder of a model out of an adapter; it appears whole.

    Raises:
        ConfigError: neither the adapter nor the configuration names a base model.
        DataError: no evaluation in `results`, one of another adapter, or broken variables of the chat
            template beside the adapter.
        ModelError: adapter or base model cannot be loaded, or do not fit.
        StoreError: the folder exists already, or cannot be written.
        TemplateError: no chat template, one that ends no turn, or one without a recorded variable.
    """
    base = base_model_of(config.adapter) if config.model is None else config.model
    if base is None:
        raise ConfigError(f"{config.adapter}: names no base model: name it with model")
    evaluation = None
    if config.results is not None:
        digest = adapter_digest(config.adapter)
        evaluation = adapter_evaluation(config.results, config.arm, digest)
    with whole_folder(config.output_dir) as folder:
        loaded, dtype = load_base(base, config.dtype, is_to_be_merged=config.merge)
        set_template_variables(loaded.tokenizer, read_variables(config.adapter))
        stops = stop_token_ids(loaded.tokenizer)
        if config.merge:
            model = merged(loaded, config.adapter)
            _save(model.to(dtype), loaded.tokenizer, stops, folder)
            _copy(config.adapter / MARKS, folder)
        else:
            # Attaching, which shows whether the adapter fits, changes the model in place.
            _save(loaded.model.to(dtype), loaded.tokenizer, stops, folder)
            attach_adapter(loaded.model, config.adapter, base_name=base)
            _write_adapter(config.adapter, folder / ADAPTER_FOLDER, base)
        name = str(dtype).removeprefix("torch.")
        text = export_card(config, base, name, evaluation)
        private = private_in(evaluation.run) if evaluation else ()
        text = public_text(text, Path.cwd(), Path.home(), *private)
        (folder / CARD).write_text(text, encoding="utf-8")
        num_bytes = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    return ExportResult(config.output_dir, public_name(base), name, num_bytes)


def _save(model: Any, tokenizer: Any, stops: frozenset[int], folder: Path) -> None:
    """Write weights, configurations, tokenizer and chat template."""
    model.save_pretrained(folder, max_shard_size="5GB")
    tokenizer.save_pretrained(folder)
    _end_turns(folder / "generation_config.json", stops, tokenizer.pad_token_id)
    for_older_readers(folder)
    _name_no_code(folder)


def _end_turns(path: Path, stops: frozenset[int], pad_token_id: int) -> None:
    """Make servers stop at the token with which the chat template ends a turn.

    The file is edited, since transformers refuses to save a changed generation
    configuration that breaks its rules, as many published ones do.
    """
    settings = _read_json(path)
    known = settings.get("eos_token_id")
    known = [] if known is None else [known] if isinstance(known, int) else known
    ends = [*known, *sorted(stops - set(known))]
    settings["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    if settings.get("pad_token_id") is None:
        settings["pad_token_id"] = pad_token_id
    # With this mark, transformers would take the ends from `config.json` instead.
    settings.pop("_from_model_config", None)
    _write_json(path, settings)


def for_older_readers(folder: Path) -> None:
    """Add the keys that servers on transformers 4 read.

    Without them such a server takes its default rotary base, loads float32, and does not
    know the tokenizer's class.
    """
    path = folder / "config.json"
    config = _read_json(path)
    rope = config.get("rope_parameters")
    if isinstance(rope, dict) and isinstance(rope.get("rope_theta"), int | float):
        for key in _ROPE_KEYS & rope.keys():
            config.setdefault(key, rope[key])
        if rope.get("rope_type", "default") != "default":
            scaling = {key: value for key, value in rope.items() if key not in _ROPE_KEYS}
            config.setdefault("rope_scaling", scaling)
    if isinstance(config.get("dtype"), str):
        config.setdefault("torch_dtype", config["dtype"])
    _write_json(path, config)
    path = folder / "tokenizer_config.json"
    settings = _read_json(path)
    if settings.get("tokenizer_class") == "TokenizersBackend":
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    _write_json(path, settings)


def _name_no_code(folder: Path) -> None:
    """Remove `auto_map`: the Python code that it names is not in the folder."""
    for name in ("config.json", "tokenizer_config.json"):
        settings = _read_json(folder / name)
        if settings.pop("auto_map", None) is not None:
            _write_json(folder / name, settings)


def _write_adapter(adapter: Path, target: Path, base: str) -> None:
    target.mkdir()
    for name in (WEIGHTS, SETTINGS, MARKS, VARIABLES, CARD):
        _copy(adapter / name, target)
    settings = _read_json(target / SETTINGS)
    settings["base_model_name_or_path"] = hub_id(base) or public_name(base)
    _write_json(target / SETTINGS, settings)


def _copy(path: Path, folder: Path) -> None:
    if path.is_file():
        shutil.copyfile(path, folder / path.name)


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
