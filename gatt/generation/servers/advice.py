"""What the user can do after a server's refusal or fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from gatt.generation.servers.answer import Fault, Refused
from gatt.generation.servers.config import MAX_TOKENS_FIELDS, Omitted
from gatt.generation.servers.proxies import proxy_variable
from gatt.generation.servers.wording import is_unknown_field, named_fields

PREFILLING: Final = {"continue_final_message": True, "add_generation_prompt": False}
"""Fields that ask a server to go on with the beginning of a reply."""

_KEY: Final = "put a key that may use the model into the variable that server.api_key_env names"
_WAYS_OUT: Final[Mapping[str | int, str]] = {
    "unreachable": "start the server or mend server.urls",
    "timeout": "raise server.timeout_seconds or lower server.max_concurrency",
    "rate_limit": "raise the quota or server.max_wait_seconds, or lower server.max_concurrency",
    "other": "look at the server's log, or leave this dialogue out",
    301: "put the URL that it redirects to, up to /v1, into server.urls",
    401: _KEY,
    403: _KEY,
    404: "name a model that it serves, or mend server.urls (up to /v1)",
    402: "the quota is used up: raise it",
    429: "the quota is used up: raise it",
    400: "change what it does not take: sampling, server.max_tokens_field or server.extra_body; server.omit "
    "leaves fields out",
}
"""What the user can do, by the kind of a fault or the status of a refusal."""


def after_fault(url: str, fault: Fault) -> str:
    """Return what can be done so that a request does not fail again."""
    if fault.kind == "unreachable" and (variable := proxy_variable(url)):
        return f"mend {variable}, or put the server's host into NO_PROXY"
    return _WAYS_OUT.get(fault.kind, _WAYS_OUT["other"])


def through_proxy(url: str) -> str:
    """Return the proxy before a server, as words of an error."""
    variable = proxy_variable(url)
    return f" (through the proxy of {variable})" if variable else ""


def after_refusal(refused: Refused, body: Mapping[str, Any]) -> str:
    """Return what can be changed in a request so that the server takes it."""
    fields = _without_fields(refused.message, body) if refused.status in (400, 422) else ""
    return fields or _WAYS_OUT.get(301 if refused.status < 400 else refused.status, _WAYS_OUT[400])


def _without_fields(message: str, body: Mapping[str, Any]) -> str:
    """Return what to set for the fields of a request that a refusal names; empty if it names none."""
    ways = []
    other = next((name for name in MAX_TOKENS_FIELDS if name not in body), MAX_TOKENS_FIELDS[0])
    named = named_fields(message, [*body, *MAX_TOKENS_FIELDS])
    if other in named or (set(named).intersection(MAX_TOKENS_FIELDS) and is_unknown_field(message)):
        ways.append(f"server.max_tokens_field: {other}")
    elif set(named).intersection(MAX_TOKENS_FIELDS):
        ways.append("a smaller max_new_tokens")
    if omitted := [name for name in named if name in get_args(Omitted) and name != "max_tokens"]:
        ways.append(f"server.omit: [{', '.join(omitted)}]")
    if set(named).intersection(PREFILLING):
        ways.append("server.can_prefill: false")
    expected = ("model", "messages", *MAX_TOKENS_FIELDS, *get_args(Omitted), *PREFILLING)
    if further := [name for name in named if name not in expected]:
        ways.append(f"server.extra_body without {', '.join(further)}")
    return f"set {', or '.join(ways)}" if ways else ""
