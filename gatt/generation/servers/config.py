"""Where the servers are and how they are asked. No openai here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from gatt.errors import ConfigError
from gatt.generation.servers.api_keys import DEFAULT_KEY_NAME, is_key_name, key_in

MAX_CONCURRENCY: Final = 1000
"""More requests in flight than the client keeps connections for."""
_OURS: Final = ("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p",
                "seed", "n", "stream")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """One or several OpenAI-compatible endpoints that serve the same model.

    Raises:
        ConfigError: a value out of its range.
    """

    urls: tuple[str, ...]
    """Base URLs, as a rule ending in `/v1`; all of them must serve the same model."""
    api_key_env: str | None = None
    """Name, in capitals, of the environment variable that holds the key, which is sent to every one
    of `urls`. null: `OPENAI_API_KEY` if it is set; a server without keys needs none."""
    max_concurrency: int = 32
    """Most requests in flight, all endpoints together; fewer while servers say it is too much."""
    timeout_seconds: float = 300.0
    """Longest time for one reply."""
    max_retries: int = 8
    """Further tries of one request after faults other than `too many requests`."""
    max_unanswered: int = 0
    """Prompts that may go without a reply once their tries are used up, where the server still answers
    another that it has answered before: no target and no verdict comes of them. One more stops the
    run; started again, it counts from nought."""
    backoff_seconds: float = 0.5
    """Longest pause before the second try; it doubles with each further one."""
    max_wait_seconds: float = 60.0
    """Longest pause between two tries, whatever `Retry-After` says."""
    patience_seconds: float = 120.0
    """Longest time for which all endpoints time out, break off or say that they are broken before
    the run stops, once more than `max_retries` requests in a row were tried; `too many requests`
    is waited out."""
    check_model: bool = True
    """Look the model up in the server's list first; for servers whose list is not complete
    (`transformers serve` lists the hub's cache alone), false."""
    answers_as: str | None = None
    """Name that replies bear, where it is neither the model's own nor a known form of it."""
    can_prefill: bool = False
    """The server goes on with a reply whose beginning is given (`continue_final_message`, as vLLM
    and SGLang do); without it there are no prefilled draws."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """How the server calls the length limit of a reply."""
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
        # The value is not shown: it may be the key itself.
        if self.api_key_env is not None and not is_key_name(self.api_key_env):
            raise ConfigError(
                "api_key_env is no name of an environment variable in capitals: expected one such as "
                f"{DEFAULT_KEY_NAME}, never the key itself; change a key that stood in a file"
            )
        if not 1 <= self.max_concurrency <= MAX_CONCURRENCY:
            raise ConfigError(
                f"max_concurrency is {self.max_concurrency}: expected 1 to {MAX_CONCURRENCY}"
            )
        for name in ("max_retries", "max_unanswered"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected 0 or more")
        for name in ("timeout_seconds", "backoff_seconds", "max_wait_seconds", "patience_seconds"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)}: expected more than 0")
        if taken := [key for key in self.extra_body if key in _OURS]:
            raise ConfigError(f"extra_body holds {taken[0]!r}: that is set from other settings")
        if (place := key_in(self.extra_body)) is not None:
            raise ConfigError(
                f"extra_body holds a key or password at {place!r}, and settings are written to files: "
                "expected it in the environment variable that api_key_env names, as the only one"
            )

    @property
    def key_name(self) -> str:
        """Name of the environment variable that is looked at."""
        return self.api_key_env or DEFAULT_KEY_NAME


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        # Not shown whole: it may hold a password.
        raise ConfigError(
            f"urls: one for host {parts.hostname!r} holds a user, query or fragment: expected a plain "
            "URL; a key goes into the environment variable that api_key_env names"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"urls: {url!r} is no URL: expected one such as http://host:8000/v1")
