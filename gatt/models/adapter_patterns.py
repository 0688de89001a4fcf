"""Regular expressions in the settings of an adapter, which some trainers write in place of module names.

They are expanded against the names of the model's modules before PEFT sees them: PEFT would try them on
its own wrappers where the model has an adapter already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gatt.errors import ModelError

_NAME: Final = re.compile(r"[\w.-]+")
_MODULES: Final = ("target_modules", "exclude_modules")
_RANKS: Final = ("rank_pattern", "alpha_pattern")


def has_patterns(settings: Mapping[str, Any]) -> bool:
    """Whether settings have a regular expression in place of a module's name."""
    return any(True for _ in _patterns(settings))


def expand_patterns(config: Any, model: Any, place: Path, base_name: str) -> None:
    """Replace the patterns of an adapter's configuration by the names of the modules that they match.

    PEFT's `LoraConfig` is changed in place. `place` is the file of the settings, for messages.

    Raises:
        ModelError: a pattern matches no module.
    """
    names = _module_names(model)
    for name in _MODULES:
        pattern = getattr(config, name, None)
        if not isinstance(pattern, str) or _NAME.fullmatch(pattern):
            continue
        modules = list(filter(re.compile(pattern).fullmatch, names))
        if not modules and name == "target_modules":
            raise ModelError(
                f"{place}: target_modules {pattern!r} matches no module of {base_name}, such as {names[-1]}: "
                "use the model that the adapter was trained on"
            )
        setattr(config, name, set(modules))
    targets = config.target_modules
    if not isinstance(targets, str):
        names = [n for n in names if any(f".{n}".endswith(f".{t}") for t in targets or ())]
    for name in _RANKS:
        values: dict[str, Any] = {}
        for key, value in (getattr(config, name, None) or {}).items():
            # As `peft.utils.other.get_pattern_key` reads a key.
            pattern = re.compile(rf"(?:.*\.)?(?:{key})")
            is_name = _NAME.fullmatch(key)
            matched = [key] if is_name else list(filter(pattern.fullmatch, names))
            # Of several patterns the first counts.
            values.update((module, value) for module in matched if module not in values)
        setattr(config, name, values)


def _patterns(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    ranks = [(name, key) for name in _RANKS for key in _keys(settings.get(name))]
    values = [*((name, settings.get(name)) for name in _MODULES), *ranks]
    return [(n, p) for n, p in values if isinstance(p, str) and not _NAME.fullmatch(p)]


def _keys(value: object) -> list[Any]:
    return list(value) if isinstance(value, dict) else []


def _module_names(model: Any) -> list[str]:
    """Return the names of a model's own modules, without what adapters put into them."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    own = getattr(model, "get_base_model", lambda: model)()
    names: list[str] = []
    wrapped = ""
    for name, module in own.named_modules():
        if wrapped and name.startswith(wrapped):
            continue
        wrapped = f"{name}." if isinstance(module, BaseTunerLayer) else ""
        names.append(name)
    return names
