"""The configuration of servers. No HTTP client is imported here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from gatt.errors import ConfigError
from gatt.runs.secrets import key_in

KEY_NAME: Final = "OPENAI_API_KEY"
"""The environment variable that holds the key."""
_BOUNDS: Final = {"max_concurrency": (1, 1000), "max_retries": (0, 10**6)}
_OURS: Final = ("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p",
                "seed", "n", "stream")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """One or several OpenAI-compatible endpoints that serve the same model.

    Raises:
        ConfigError: a value out of its range.
    """

    urls: tuple[str, ...]
    """Base URLs, which usually end in `/v1`; all must serve the same model. The key in the environment
    variable `OPENAI_API_KEY` is sent to all, if it is set."""
    max_concurrency: int = 32
    """Most requests in flight, all endpoints together."""
    timeout_seconds: float = 300.0
    """Longest time for one reply."""
    max_retries: int = 8
    """Further tries of one request after faults other than `too many requests`; then the run stops.
    Pauses double from half a second to a minute, so eight tries survive a server that is away for a minute."""
    can_prefill: bool = False
    """Whether the server continues a reply whose beginning is given (`continue_final_message`, as vLLM
    and SGLang do); prefilled attempts need it."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The server's name for the length limit of a reply."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request, such as `{top_k: -1}` or
    `{chat_template_kwargs: {enable_thinking: false}}`."""

    def __post_init__(self) -> None:
        if not self.urls:
            raise ConfigError("urls is empty: expected at least one, such as http://host:8000/v1")
        for url in self.urls:
            _check_url(url)
        if len({url.rstrip("/") for url in self.urls}) < len(self.urls):
            raise ConfigError("urls names an endpoint twice: expected each once")
        for name, (least, most) in _BOUNDS.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise ConfigError(f"{name} is {value}: expected {least} to {most}")
        if not self.timeout_seconds > 0:
            raise ConfigError(f"timeout_seconds is {self.timeout_seconds}: expected more than 0")
        if taken := [key for key in self.extra_body if key in _OURS]:
            raise ConfigError(f"extra_body holds {taken[0]!r}: that is set from other settings")
        if (place := key_in(self.extra_body)) is not None:
            raise ConfigError(
                f"extra_body holds a key or password at {place!r}, and settings are written to files: "
                f"expected it in the environment variable {KEY_NAME}; change a key that stood in a file"
            )


def read_key() -> str:
    """Return the key of the servers; empty where there is none, as for a server without keys.

    Raises:
        ConfigError: it cannot stand in a header.
    """
    key = os.environ.get(KEY_NAME, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(
            f"environment variable {KEY_NAME}: expected a key of plain characters, found others: set it "
            "again without quotes, spaces or line breaks"
        )
    return key


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        # Not shown whole: it may hold a password.
        raise ConfigError(
            f"urls: one for host {parts.hostname!r} holds a user, query or fragment: expected a plain "
            f"URL; a key goes into the environment variable {KEY_NAME}"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"urls: {url!r} is no URL: expected one such as http://host:8000/v1")
