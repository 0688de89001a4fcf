"""Loads a saved LoRA adapter onto a model, and refuses one that does not fit completely."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open

from gatt.errors import ModelError
from gatt.runs.input_file import read_json

WEIGHTS: Final = "adapter_model.safetensors"
SETTINGS: Final = "adapter_config.json"
_MOST_CHARACTERS: Final = 300
"""Characters of a library's message that are shown."""
_MOST_OPEN: Final = 3
"""Unbounded repetitions: each multiplies the number of tries by the length of a name."""
_MOST_OPTIONAL: Final = 8
"""Each doubles the number of tries."""
_LITERALS: Final = re.compile(r"\\.|\[\^?\]?[^\]]*\]", re.DOTALL)


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
    every tensor of the file must have a place in the model, and every place a tensor.

    Args:
        model: a causal LM, or a `PeftModel` to add to.
        folder: saved by `gatt train`.
        base_name: the user's name for the model, for messages.
        adapter_name: its name among the model's adapters.
        is_trainable: whether training continues.

    Raises:
        ModelError: no adapter in the folder, a broken one, or one of another model.
    """
    from peft import PeftModel

    # PEFT uses the old name of a setting; users cannot change that.
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
    for name in (SETTINGS, WEIGHTS):
        require_file(folder, name)
    saved = _tensor_shapes(folder / WEIGHTS)
    _check_settings(folder, saved)
    try:
        with warnings.catch_warnings():
            # `_check_fit` raises an error for these.
            warnings.filterwarnings("ignore", "Found missing adapter keys", UserWarning)
            if isinstance(model, PeftModel):
                model.load_adapter(
                    str(folder), adapter_name=adapter_name, is_trainable=is_trainable
                )
            else:
                model = PeftModel.from_pretrained(
                    model, str(folder), adapter_name=adapter_name, is_trainable=is_trainable
                )
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


def outside_text(model: Any) -> list[str]:
    """Return the names of the linear layers outside the text decoder, such as those of a vision tower.

    With adapters they would get no gradient, and several processes would wait for it for ever.

    Args:
        model: a causal LM; a model of text alone has no such layers.
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


def require_file(folder: Path, name: str) -> Path:
    """Return the path of a file of an adapter.

    Raises:
        ModelError: there is no such file.
    """
    path = folder / name
    if not path.is_file():
        raise ModelError(f"{folder}: no {name}: expected a folder saved by `gatt train`")
    return path


def _values(settings: Mapping[str, Any], name: str, pattern: str) -> list[Any]:
    """Return a setting and its values for single modules; PEFT's default is 8 for rank and alpha."""
    more = settings.get(pattern) or {}
    return [settings.get(name, 8), *(more.values() if isinstance(more, dict) else [more])]


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    try:
        settings = read_json(path)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{path}: not the settings of an adapter ({one_line(error)}): expected a folder "
            "saved by `gatt train`"
        ) from None
    if not isinstance(settings, dict) or settings.get("peft_type") != "LORA":
        found = settings.get("peft_type") if isinstance(settings, dict) else type(settings).__name__
        raise ModelError(
            f"{path}: not the settings of an adapter (peft_type is {found!r}): expected 'LORA', as in a "
            "folder saved by `gatt train`"
        )
    return settings


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line, cut after `_MOST_CHARACTERS` characters."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= _MOST_CHARACTERS else f"{said[:_MOST_CHARACTERS].rstrip()} …"


def _tensor_shapes(path: Path) -> dict[str, list[int]]:
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            return {name: file.get_slice(name).get_shape() for name in names}
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path}: cannot be read ({one_line(error)}): copy or train the adapter again"
        ) from None


def _check_settings(folder: Path, shapes: Mapping[str, Sequence[int]]) -> None:
    """Refuse settings that need more memory than the weights, or patterns that match for ever."""
    settings = _settings(folder)
    patterns = [
        settings.get(key) for key in ("target_modules", "exclude_modules", "layers_pattern")
    ]
    for pattern in (*patterns, *_keys(settings, "rank_pattern"), *_keys(settings, "alpha_pattern")):
        if isinstance(pattern, str) and (why := pattern_problem(pattern)):
            raise ModelError(
                f"{folder / SETTINGS}: {pattern!r} is {why}: expected names of modules"
            )
    for alpha in _values(settings, "lora_alpha", "alpha_pattern"):
        if not isinstance(alpha, int | float) or not math.isfinite(alpha):
            raise ModelError(f"{folder / SETTINGS}: lora_alpha is {alpha!r}: expected a number")
    most = max((n for s in shapes.values() for n in s), default=0)
    for rank in _values(settings, "r", "rank_pattern"):
        if not isinstance(rank, int):
            raise ModelError(f"{folder / SETTINGS}: a rank is {rank!r}: expected a whole number")
        if rank <= most:
            continue
        raise ModelError(
            f"{folder / SETTINGS}: rank is {rank}, and no tensor in {WEIGHTS} is larger than {most}: copy or "
            "train the adapter again"
        )


def _keys(settings: Mapping[str, Any], name: str) -> list[str]:
    found = settings.get(name)
    return list(found) if isinstance(found, dict) else []


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


def pattern_problem(pattern: str) -> str | None:
    """Return why PEFT cannot use a regular expression for names of modules; None where it can.

    Those that may take for ever to match are refused.
    """
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"no regular expression ({error})"
    shape = _LITERALS.sub("x", pattern)
    if re.search(r"\)[*+{]", shape):
        return "a group that repeats, which may take for ever to match"
    if len(re.findall(r"[*+]|\{\d*,\}", shape)) > _MOST_OPEN:
        return f"more than {_MOST_OPEN} parts that repeat, which may take for ever to match"
    # `(?:…)` is no optional part, nor is the `?` that makes a repetition lazy.
    if len(re.findall(r"(?<![(*+}])\?|\{", shape)) > _MOST_OPTIONAL:
        return f"more than {_MOST_OPTIONAL} optional parts, which may take for ever to match"
    return None
