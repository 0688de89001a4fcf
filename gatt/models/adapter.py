"""Loads a saved LoRA adapter onto a model, and refuses one that does not fit completely."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open

from gatt.errors import ModelError
from gatt.models.adapter_patterns import expand_patterns, has_patterns
from gatt.runs.input_file import read_json
from gatt.runs.secrets import public

WEIGHTS: Final = "adapter_model.safetensors"
SETTINGS: Final = "adapter_config.json"


def attach_adapter(
    model: Any,
    folder: Path,
    *,
    base_name: str,
    adapter_name: str = "default",
    is_trainable: bool = False,
) -> Any:
    """Return the model with an adapter, which is added to the adapters that it has.

    PEFT loads an adapter of a model with more or fewer layers and skips what does not fit. Here
    every tensor of the file must have a place in the model, and every place a tensor. Regular
    expressions in its settings are expanded against the model's modules.

    `base_name` is the user's name for the model, for messages. With `is_trainable` training continues.

    Raises:
        ModelError: no adapter in the folder, a broken one, or one of another model.
    """
    from peft import PeftConfig, PeftModel

    # PEFT uses the old name of a setting; users cannot change that.
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
    saved = check_adapter(folder)
    try:
        config = None
        if has_patterns(_settings(folder)):
            config = PeftConfig.from_pretrained(str(folder))
            expand_patterns(config, model, folder / SETTINGS, base_name)
        with warnings.catch_warnings():
            # `_check_fit` raises an error for these.
            warnings.filterwarnings("ignore", "Found missing adapter keys", UserWarning)
            if isinstance(model, PeftModel):
                if config is not None:
                    config.inference_mode = not is_trainable
                    model.add_adapter(adapter_name, config)
                model.load_adapter(
                    str(folder), adapter_name=adapter_name, is_trainable=is_trainable
                )
            else:
                model = PeftModel.from_pretrained(
                    model,
                    str(folder),
                    adapter_name=adapter_name,
                    is_trainable=is_trainable,
                    config=config,
                )
    except ModelError:
        raise
    except Exception as error:
        # PEFT and the libraries below it raise errors of any class for a broken file.
        raise ModelError(
            f"{folder}: the adapter does not fit {base_name}: {one_line(error)}"
        ) from error
    _check_fit(model, saved, folder, base_name, adapter_name)
    broken = [
        name
        for name, weight in model.named_parameters()
        if f".{adapter_name}" in name and not bool(weight.isfinite().all())
    ]
    if broken:
        raise ModelError(
            f"{folder}: {len(broken)} weights of the adapter are not finite, the first is {broken[0]}: its "
            "training diverged: train again with a smaller learning_rate"
        )
    return model


def check_adapter(folder: Path) -> dict[str, list[int]]:
    """Return the shapes of an adapter's tensors; needs no model, so it can come before a model is loaded.

    Raises:
        ModelError: no adapter in the folder, or a broken one.
    """
    for name in (SETTINGS, WEIGHTS):
        require_file(folder, name)
    _settings(folder)
    return _tensor_shapes(folder / WEIGHTS)


def outside_text(model: Any) -> list[str]:
    """Return the names of the linear layers outside the text decoder, such as those of a vision tower.

    With adapters they would get no gradient, and several processes would wait for it for ever.

    A model of text alone has no such layers.
    """
    from torch.nn import Linear

    if model.config.get_text_config() is model.config:
        return []
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    within = {id(module) for module in decoder.modules()} | {id(head)}
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, Linear) and id(module) not in within
    ]


def base_model_of(folder: Path) -> str | None:
    """Return the name of the model that an adapter was trained on; None where its settings have none.

    Raises:
        ModelError: no settings, or broken ones.
    """
    require_file(folder, SETTINGS)
    name = _settings(folder).get("base_model_name_or_path")
    return str(name) if name else None


def largest_rank(folder: Path) -> int:
    """Return the largest rank of an adapter that `check_adapter` accepts.

    Raises:
        ModelError: no settings, or broken ones.
    """
    require_file(folder, SETTINGS)
    return int(max(_ranks(_settings(folder))))


def require_file(folder: Path, name: str) -> Path:
    """Return the path of a file of an adapter.

    Raises:
        ModelError: there is no such file.
    """
    path = folder / name
    if not path.is_file():
        raise ModelError(f"{folder}: no {name}: expected a folder saved by `gatt train`")
    return path


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    try:
        settings: dict[str, Any] = read_json(path)
        kind = settings.get("peft_type")
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(
            f"{path}: not the settings of an adapter ({one_line(error)}): expected a folder "
            "saved by `gatt train`"
        ) from None
    if kind != "LORA":
        raise ModelError(
            f"{path}: not the settings of an adapter (peft_type is {kind!r}): expected 'LORA', as in a "
            "folder saved by `gatt train`"
        )
    return settings


def one_line(error: BaseException) -> str:
    """Return the message of a library's error on one line, without keys, and cut where it is long."""
    return public(str(error)) or type(error).__name__


def _tensor_shapes(path: Path) -> dict[str, list[int]]:
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            return {name: file.get_slice(name).get_shape() for name in names}
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path}: cannot be read ({one_line(error)}): copy or train the adapter again"
        ) from None


def _ranks(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the rank, and those of layers that have their own."""
    return (settings.get("r", 8), *_mapping(settings, "rank_pattern").values())


def _mapping(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def _check_fit(
    model: Any, shapes: Mapping[str, object], folder: Path, base_name: str, adapter_name: str
) -> None:
    from peft import get_peft_model_state_dict

    places = set(
        get_peft_model_state_dict(model, adapter_name=adapter_name, save_embedding_layers=False)
    )
    saved = set(shapes)
    # Saved embeddings are no part of the adapter.
    left_over = sorted(name for name in saved - places if "lora_" in name)
    unfilled = sorted(places - saved)
    for problem, names in (("it has no place for", left_over), ("the file has no", unfilled)):
        if names:
            raise ModelError(
                f"{folder}: the adapter does not fit {base_name}: {problem} {names[0]} "
                f"({len(names)} of {len(saved | places)} tensors): use the model it was trained on"
            )
