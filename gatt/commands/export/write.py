"""`gatt export`: from an adapter to a folder that servers load."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.card import ModelFacts, export_card
from gatt.commands.export.config import ExportConfig
from gatt.commands.export.evaluation import Evaluation, adapter_evaluation, refuse_other_adapter
from gatt.commands.export.redaction import private_in, public_text
from gatt.commands.export.weights import load_base, merged
from gatt.data.training_marks import FILE as MARKS
from gatt.errors import ConfigError
from gatt.models.adapter import SETTINGS, WEIGHTS, adapter_rank, attach_adapter, base_model_of
from gatt.models.base_card import hub_id, license_of, public_name
from gatt.models.digest import adapter_digest
from gatt.models.encoded_view import stop_token_ids
from gatt.models.template_variables import FILE as VARIABLES
from gatt.models.template_variables import read_variables, set_template_variables
from gatt.runs.atomic_folder import whole_folder

ADAPTER_FOLDER: Final = "adapter"
CARD: Final = "README.md"
_SHARD: Final = "5GB"
_ROPE_KEYS: Final = {"rope_theta", "partial_rotary_factor"}
"""Of `rope_parameters`, what stood beside `rope_scaling` before."""


@dataclass(frozen=True)
class ExportResult:
    """What an export left behind."""

    folder: Path
    base: str
    dtype: str
    num_bytes: int
    rank: int
    """Of the adapter, where it is largest."""


def export(config: ExportConfig) -> ExportResult:
    """Make the folder of a model out of an adapter; it appears whole.

    Raises:
        ConfigError: the adapter names no base model, and the configuration neither.
        DataError: no evaluation where one is said to be, or one of another adapter; recorded variables
            of the chat template that cannot be read.
        ModelError: adapter or base model cannot be loaded, or do not fit.
        StoreError: the folder is there already, or cannot be written.
        TemplateError: no chat template, one that ends no turn, or one without a recorded variable.
    """
    base = base_model_of(config.adapter) if config.model is None else config.model
    if base is None:
        raise ConfigError(f"{config.adapter}: names no base model: say which with model")
    digest = adapter_digest(config.adapter)
    evaluation = _evaluation(config, digest)
    with whole_folder(config.output_dir) as folder:
        loaded, dtype = load_base(base, config.dtype, is_to_be_merged=config.merge)
        set_template_variables(loaded.tokenizer, read_variables(config.adapter))
        stops = stop_token_ids(loaded.tokenizer)
        if config.merge:
            model = merged(loaded, config.adapter)
            _save(model.to(dtype), loaded.tokenizer, stops, folder)
            _copy(config.adapter / MARKS, folder)
        else:
            # Attaching changes the model in place: it is written first, and then tried on.
            _save(loaded.model.to(dtype), loaded.tokenizer, stops, folder)
            attach_adapter(loaded.model, config.adapter, base_name=base)
            _write_adapter(config.adapter, folder / ADAPTER_FOLDER, base)
        facts = ModelFacts(
            name=config.name or config.output_dir.resolve().name,
            base=public_name(base),
            base_id=hub_id(base),
            license=config.license or license_of(base),
            dtype=str(dtype).removeprefix("torch."),
            is_merged=config.merge,
            digest=digest,
            rank=adapter_rank(config.adapter),
        )
        card = export_card(facts, evaluation, _adapter_card(config.adapter))
        private = private_in(evaluation.run) if evaluation else ()
        card = public_text(card, Path.cwd(), Path.home(), *private)
        (folder / CARD).write_text(card, encoding="utf-8")
        num_bytes = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    return ExportResult(config.output_dir, facts.base, facts.dtype, num_bytes, facts.rank)


def _evaluation(config: ExportConfig, digest: str) -> Evaluation | None:
    if config.results is None:
        return None
    evaluation = adapter_evaluation(config.results, config.arm)
    refuse_other_adapter(config.results, evaluation.arm, digest)
    return evaluation


def _save(model: Any, tokenizer: Any, stops: frozenset[int], folder: Path) -> None:
    """Write weights, configurations, tokenizer and chat template."""
    model.save_pretrained(folder, max_shard_size=_SHARD)
    tokenizer.save_pretrained(folder)
    _end_turns(folder / "generation_config.json", stops, tokenizer.pad_token_id)
    for_older_readers(folder)
    _name_no_code(folder)


def _end_turns(path: Path, stops: frozenset[int], pad_token_id: int) -> None:
    """Make a server stop at the token with which training ended each turn: the template's own.

    In the file, since transformers holds settings that were changed in memory to
    stricter rules than those of the base model kept.
    """
    settings = json.loads(path.read_text(encoding="utf-8"))
    known = settings.get("eos_token_id")
    known = [] if known is None else [known] if isinstance(known, int) else known
    ends = [*known, *sorted(stops - set(known))]
    settings["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    if settings.get("pad_token_id") is None:
        settings["pad_token_id"] = pad_token_id
    # Else a reader may take the ends from the model's configuration, which it believes this was made of.
    settings.pop("_from_model_config", None)
    _write_json(path, settings)


def for_older_readers(folder: Path) -> None:
    """Say twice what transformers 5 writes in a new way, for servers that bring transformers 4.

    Those would go on with their own defaults of the rotary base and of the part of a
    head that it turns, load the weights in float32, and know no tokenizer class of
    that name.
    """
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
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
    settings = json.loads(path.read_text(encoding="utf-8"))
    if settings.get("tokenizer_class") == "TokenizersBackend":
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    _write_json(path, settings)


def _name_no_code(folder: Path) -> None:
    """Take out `auto_map`: the Python code that it names neither made these weights nor is in the folder."""
    for name in ("config.json", "tokenizer_config.json"):
        settings = json.loads((folder / name).read_text(encoding="utf-8"))
        if settings.pop("auto_map", None) is not None:
            _write_json(folder / name, settings)


def _write_adapter(adapter: Path, target: Path, base: str) -> None:
    target.mkdir()
    for name in (WEIGHTS, SETTINGS, MARKS, VARIABLES, CARD):
        _copy(adapter / name, target)
    path = target / SETTINGS
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["base_model_name_or_path"] = hub_id(base) or public_name(base)
    _write_json(path, settings)


def _copy(path: Path, folder: Path) -> None:
    if path.is_file():
        shutil.copyfile(path, folder / path.name)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _adapter_card(adapter: Path) -> str:
    path = adapter / CARD
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
