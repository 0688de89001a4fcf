"""Variables of a chat template, set once for all prompts of a model.

Qwen 3, SmolLM3 and others reason before they reply, unless `enable_thinking: false` is set. A server takes
such variables with each request (`server.extra_body`). Here they are written into the tokenizer's
template, so that all prompts are rendered with them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gatt.errors import ConfigError, DataError, TemplateError
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.input_file import read_json

TemplateValue = str | bool | int | float
FILE: Final = "chat_template_kwargs.json"
"""File beside an adapter that was trained with such variables."""

_OURS: Final = ("messages", "add_generation_prompt", "tools", "documents")
_TAGS: Final = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
"""Tags of transformers around the assistant's text."""


def check_template_variables(variables: Mapping[str, Any]) -> None:
    """Refuse variables that no template can have.

    Raises:
        ConfigError: an invalid name, one of `_OURS`, or a value that is no text, number or truth value.
    """
    for name, value in variables.items():
        if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)):
            raise ConfigError(
                f"chat_template_kwargs: {name!r} is no name: expected a variable of the chat template, such as "
                "enable_thinking"
            )
        if name in _OURS:
            raise ConfigError(f"chat_template_kwargs holds {name!r}: that is set for each prompt")
        is_number = isinstance(value, float) and not math.isfinite(value)
        if not isinstance(value, TemplateValue) or is_number:
            raise ConfigError(
                f"chat_template_kwargs: {name} is {value!r}: expected a text, a number, true or false"
            )
        if isinstance(value, str) and value.lower() in ("true", "false"):
            # To a template both texts are true.
            raise ConfigError(
                f"chat_template_kwargs: {name} is the text {value!r}: expected {value.lower()}, without quotes"
            )


def set_template_variables(tokenizer: Any, variables: Mapping[str, TemplateValue]) -> None:
    """Set variables of a tokenizer's chat template.

    Raises:
        TemplateError: no chat template, or it does not read such a variable.
    """
    if not variables:
        return
    read = read_by_template(tokenizer)
    for variable in variables:
        if variable not in read:
            raise TemplateError(
                f"{getattr(tokenizer, 'name_or_path', '') or 'the model'}: its chat template has no "
                f"variable {variable!r}: leave it out of chat_template_kwargs, or name one that it reads"
            )
    set_all = "".join(
        f"{{%- set {variable} = {json.dumps(value, ensure_ascii=False)} %}}"
        for variable, value in variables.items()
    )
    # Without the empty text, Jinja would drop a line break at the beginning of the template.
    head, written = set_all + "{{ '' }}", tokenizer.chat_template
    tokenizer.chat_template = (
        {name: head + text for name, text in written.items()}
        if isinstance(written, Mapping)
        else head + written
    )


def read_by_template(tokenizer: Any) -> set[str]:
    """Return the names of the variables that a tokenizer's chat template reads."""
    written = getattr(tokenizer, "chat_template", None) or ""
    texts = written.values() if isinstance(written, Mapping) else [written]
    return {name for text in texts for name in _variables(text)}


def write_variables(folder: Path, variables: Mapping[str, TemplateValue]) -> None:
    """Write the variables that an adapter was trained with into its folder; no file without variables."""
    if variables:
        atomic_write_json(folder / FILE, dict(variables))


def read_variables(folder: Path) -> dict[str, TemplateValue]:
    """Return the variables that an adapter was trained with; empty without such a file.

    Raises:
        DataError: a file of another form.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        variables = dict(read_json(path))
        check_template_variables(variables)
    except (OSError, ValueError, TypeError):
        raise DataError(
            f"{path}: broken: expected an object of names and values, as training writes it; delete it to "
            "use the chat template as it is"
        ) from None
    return variables


def _variables(template: str) -> set[str]:
    # Imported here: `gatt --help` imports this module and must stay fast.
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(extensions=["jinja2.ext.loopcontrols"])
    try:
        return find_undeclared_variables(environment.parse(_TAGS.sub("", template)))
    except (TemplateSyntaxError, RecursionError):
        # The error is raised when the first prompt is rendered.
        return set(re.findall(r"\w+", template))
