"""Variables of a chat template, set once for all prompts of a model.

Qwen 3, SmolLM3 and others reason before they reply unless their template is told
`enable_thinking: false`. A server takes such variables with each request
(`server.extra_body`); here they are written into the tokenizer's template, so that
whatever renders a prompt renders the same.
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
"""Beside an adapter that was trained with such variables: it is used with the same."""

_OURS: Final = ("messages", "add_generation_prompt", "tools", "documents")
_TAGS: Final = re.compile(r"\{%-?\s*(?:end)?generation\s*-?%\}")
"""Of transformers' own, around what the assistant says."""


def check_template_variables(variables: Mapping[str, Any]) -> None:
    """Refuse what no template could be told.

    Raises:
        ConfigError: a name that is none or is ours, or a value that is no text, number or truth value.
    """
    for name, value in variables.items():
        if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)):
            raise ConfigError(
                f"chat_template_kwargs: {name!r} is no name: expected that of one of the chat "
                "template's variables, such as enable_thinking"
            )
        if name in _OURS:
            raise ConfigError(f"chat_template_kwargs holds {name!r}: that is set for each prompt")
        is_number = isinstance(value, float) and not math.isfinite(value)
        if not isinstance(value, TemplateValue) or is_number:
            raise ConfigError(
                f"chat_template_kwargs: {name} is {value!r}: expected a text, a number, true or false"
            )
        if isinstance(value, str) and value.lower() in ("true", "false"):
            # As a text, both are true to a template.
            raise ConfigError(
                f"chat_template_kwargs: {name} is the text {value!r}: expected {value.lower()}, without quotes"
            )


def set_template_variables(tokenizer: Any, variables: Mapping[str, TemplateValue]) -> None:
    """Give variables of a tokenizer's chat template their values, from now on.

    Args:
        tokenizer: changed in place.
        variables: name to value.

    Raises:
        TemplateError: no chat template, or one that never reads such a variable.
    """
    if not variables:
        return
    written = getattr(tokenizer, "chat_template", None) or ""
    named = dict(written) if isinstance(written, Mapping) else {"": written}
    known = read_by_template(tokenizer)
    for variable in variables:
        if variable not in known:
            raise TemplateError(
                f"{getattr(tokenizer, 'name_or_path', '') or 'the model'}: its chat template has no "
                f"variable {variable!r}: leave it out of chat_template_kwargs, or name one that it reads"
            )
    set_all = "".join(
        f"{{%- set {variable} = {json.dumps(value, ensure_ascii=False)} %}}"
        for variable, value in variables.items()
    )
    # The empty text keeps a line break at a template's beginning, which a block would swallow.
    told = {name: set_all + "{{ '' }}" + text for name, text in named.items()}
    tokenizer.chat_template = told if isinstance(written, Mapping) else told[""]


def read_by_template(tokenizer: Any) -> set[str]:
    """Return the names that a tokenizer's chat template takes from outside; empty without a template."""
    written = getattr(tokenizer, "chat_template", None) or ""
    texts = written.values() if isinstance(written, Mapping) else [written]
    return {name for text in texts for name in _variables(text)}


def write_variables(folder: Path, variables: Mapping[str, TemplateValue]) -> None:
    """Write the variables that an adapter was trained with into its folder; nothing where there are none."""
    if variables:
        atomic_write_json(folder / FILE, dict(variables))


def read_variables(folder: Path) -> dict[str, TemplateValue]:
    """Return the variables that an adapter was trained with; empty where its folder holds none.

    Raises:
        DataError: a file of another form.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        found = dict(read_json(path))
        check_template_variables(found)
    except (OSError, ValueError, TypeError):
        raise DataError(
            f"{path}: broken: expected an object of names and values, as training writes it; delete it to "
            "use the chat template as it is"
        ) from None
    return found


def _variables(template: str) -> set[str]:
    # Here, since whatever reads a configuration imports this module: `gatt --help` too.
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(extensions=["jinja2.ext.loopcontrols"])
    try:
        return find_undeclared_variables(environment.parse(_TAGS.sub("", template)))
    except (TemplateSyntaxError, RecursionError):
        # Whatever it is, it is told when the first prompt is rendered.
        return set(re.findall(r"\w+", template))
