"""The one place that calls `from_pretrained`: a model's own Python code never runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from gatt.errors import ModelError
from gatt.models.adapter import one_line

_ASKS_FOR_CODE: Final = "trust_remote_code"
"""Part of transformers' message for a model that needs its own code."""


def load_pretrained(auto: Any, source: str | Path, *, name: str, what: str, **settings: Any) -> Any:
    """Return the object that an Auto class of transformers loads from a folder or the hub.

    All calls of `from_pretrained` are made here, so that Python code of a model's folder never runs. Without
    `trust_remote_code=False` transformers asks on standard input whether to run it, and `yes |` before a
    command answers. A model of a known type is loaded by the class of transformers.

    `name` is the user's name for the model and `what` what is loaded, such as `the tokenizer`: both for
    messages.

    Raises:
        ModelError: the model needs code of its own, or cannot be loaded.
    """
    try:
        return auto.from_pretrained(source, trust_remote_code=False, **settings)
    except Exception as error:
        # Libraries raise errors of any class for a broken file; `--debug` shows them.
        if _ASKS_FOR_CODE in str(error):
            raise ModelError(
                f"{name}: cannot load {what}: it needs Python code of its own (auto_map), and such code is "
                "never run: use a model of a type that transformers knows"
            ) from error
        raise ModelError(f"{name}: cannot load {what}: {one_line(error)}") from error
