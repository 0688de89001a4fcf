"""The one way to transformers' `from_pretrained`: Python code of a model's folder never runs.

With `trust_remote_code` left open transformers asks on standard input whether to run the code that an
`auto_map` names, and `yes |` in front of a command says yes. Here the answer is always no. A model of
a type that transformers has a class for is loaded by that class, whatever its `auto_map` says; one
that needs its own code is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from gatt.errors import ModelError
from gatt.models.adapter import SETTINGS, one_line

_ASKS_FOR_CODE: Final = "trust_remote_code"
"""Stands in what transformers says where nothing but the model's own code can load it."""


def load_pretrained(auto: Any, source: str | Path, *, name: str, what: str, **settings: Any) -> Any:
    """Return what an Auto class of transformers makes of a folder or hub id.

    Args:
        auto: such as `AutoTokenizer`.
        source: folder or hub id.
        name: what the user calls the model, for messages.
        what: what is loaded, such as `the tokenizer`.
        settings: further arguments of `from_pretrained`.

    Raises:
        ModelError: it needs code of its own, or the library cannot load it.
    """
    try:
        return auto.from_pretrained(source, trust_remote_code=False, **settings)
    except Exception as error:
        # Libraries raise errors of any class over a broken file; `--debug` shows which.
        if _ASKS_FOR_CODE in str(error):
            raise ModelError(
                f"{name}: cannot load {what}: it needs Python code of its own (auto_map), and such code is "
                "never run: use a model of a type that transformers knows"
            ) from error
        raise ModelError(f"{name}: cannot load {what}: {one_line(error)}") from error


def refuse_adapter_beside(source: str | Path, *, name: str) -> None:
    """Refuse a model folder that also holds an adapter: transformers would load it unasked.

    Raises:
        ModelError: the folder holds the settings of an adapter.
    """
    if (Path(source) / SETTINGS).is_file():
        raise ModelError(
            f"{name}: a model and {SETTINGS} in one folder: expected the model alone, since the adapter would "
            "count as part of it: move the adapter to a folder of its own"
        )
