"""The sampling settings that a model's own `generation_config.json` asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from huggingface_hub import try_to_load_from_cache

from gatt.models.load import resolve
from gatt.runs.input_file import read_json

FILE: Final = "generation_config.json"
_NEUTRAL: Final[dict[str, tuple[Any, ...]]] = {
    "repetition_penalty": (1,), "presence_penalty": (0,), "frequency_penalty": (0,),
    "no_repeat_ngram_size": (0,), "encoder_repetition_penalty": (1,), "exponential_decay_length_penalty": (),
    "bad_words_ids": ([],), "suppress_tokens": ([],), "begin_suppress_tokens": ([],), "sequence_bias": ({}, []),
    "min_length": (0,), "min_new_tokens": (0,), "guidance_scale": (1,), "num_beams": (1,),
}  # fmt: skip
"""Settings that change a greedy reply, with their values that change nothing."""
_NEUTRAL_DRAWN: Final[dict[str, tuple[Any, ...]]] = {
    "top_k": (0, -1), "min_p": (0,), "typical_p": (1,), "epsilon_cutoff": (0,), "eta_cutoff": (0,), "top_h": (),
}  # fmt: skip
"""The same of replies that are drawn."""


def own_decoding(model: str, *, is_greedy: bool) -> dict[str, Any]:
    """Return the settings of a model's files that would change how replies are decoded.

    Temperature and top_p are left out: every engine gets them with each request. A model without the file, or
    with one that cannot be read, asks for nothing. Nothing is downloaded.

    With `is_greedy` what only narrows the draw counts for nothing.

    Raises:
        ModelError: no such model.
    """
    place = resolve(model)
    path: Any = Path(place) / FILE
    if not Path(place).is_dir():
        path = try_to_load_from_cache(place, FILE)
    try:
        settings = read_json(Path(path)) if isinstance(path, (str, Path)) else None
    except (OSError, ValueError):
        return {}
    if not isinstance(settings, dict):
        return {}
    neutral = _NEUTRAL if is_greedy else _NEUTRAL | _NEUTRAL_DRAWN
    return {
        name: settings[name]
        for name, values in neutral.items()
        if settings.get(name) is not None and settings[name] not in values
    }
