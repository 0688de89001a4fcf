"""Whether a server answers with the model that was asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gatt.runs.suggest import did_you_mean


def is_same_model(asked: str, said: str, served: Mapping[str, str] | None = None) -> bool:
    """Whether a reply that bears the name `said` comes from the model `asked`.

    Known forms of one name: the path that the server's list gives for it; a
    name and a path that ends in it; a revision (`name@main`, as `transformers
    serve` answers), a default tag (`name:latest`) or a dated snapshot
    (`name-2024-08-06`) behind it.

    Args:
        asked: name in the request.
        said: name in the reply.
        served: name to path of what the server lists, if it has a list.
    """
    if said == asked or (served or {}).get(asked) == said:
        return True
    if said.startswith(asked):
        return bool(re.fullmatch(r"@.+|:latest|-\d{4}-\d{2}-\d{2}", said[len(asked) :]))
    one, other = f"/{asked.strip('/')}", f"/{said.strip('/')}"
    return one.endswith(other) or other.endswith(one)


def not_served(asked: str, served: Mapping[str, str]) -> str:
    """Return what to say of a model that the server does not list."""
    names = sorted(served)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    listed = ", ".join(repr(n) for n in names[:5]) or "nothing"
    return f"serves no model {asked!r} (it lists {listed}{more}){did_you_mean(asked, names)}"
