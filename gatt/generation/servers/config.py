"""The configuration of servers. No HTTP client is imported here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from gatt.errors import ConfigError
from gatt.runs.secrets import key_in

DEFAULT_KEY_NAME: Final = "OPENAI_API_KEY"
_BOUNDS: Final = {"max_concurrency": (1, 1000), "max_retries": (0, 10**6)}
# Unlike names, keys have small letters, other signs, or a long run of capitals and digits.
_KEY_NAME: Final = re.compile(r"(?![A-Z_0-9]*?(?=[A-Z]*[0-9])[A-Z0-9]{16})[A-Z_][A-Z0-9_]*")
STARTED: Final = ("vllm", "sglang", "transformers")
"""Servers that `start` knows by name."""
Omitted = Literal["temperature", "top_p", "seed", "max_tokens"]
MAX_TOKENS_FIELDS: Final = ("max_tokens", "max_completion_tokens")
_OURS: Final = ("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p",
                "seed", "n", "stream")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """One or several OpenAI-compatible endpoints that serve the same model.

    Raises:
        ConfigError: a value out of its range.
    """

    urls: tuple[str, ...] = ()
    """Base URLs, which usually end in `/v1`; all must serve the same model."""
    start: str | None = None
    """In place of `urls`: `vllm`, `sglang`, `transformers`, or a command line with `{port}` (and `{model}`,
    `{name}`, `{python}`; other braces stay). The run starts such a server on this machine and ends it. There is
    one on each GPU, or one over several GPUs if the model needs them. All but `transformers` serve the adapters
    of the run."""
    python: str | None = None
    """Python interpreter of the environment in which the server of `start` is installed; null: the one that
    runs `gatt`."""
    start_words: tuple[str, ...] = ()
    """Further words for the command of `start`, such as `[--dtype, float32]`."""
    start_seconds: float = 900.0
    """Longest time until the server of `start` must answer."""
    api_key_env: str | None = None
    """Name, in capitals, of the environment variable that holds the key. The key is sent to all `urls`.
    null: `OPENAI_API_KEY` if it is set; a server without keys needs none."""
    max_concurrency: int = 32
    """Most open requests, over all endpoints."""
    timeout_seconds: float = 300.0
    """Longest time for one reply."""
    max_retries: int = 8
    """How often a failed request is repeated before the run stops (`too many requests` does not count). Pauses
    double from half a second to a minute, so with 8 the run survives a server that is away for a minute."""
    max_wait_seconds: float = 600.0
    """Longest time in which the servers answer `too many requests` and give no reply. Then the run stops,
    and the same command continues it later."""
    can_prefill: bool = False
    """Whether the server continues a reply whose beginning is given (`continue_final_message`), as vLLM
    and SGLang do. `prefill_attempts` of a teacher need it."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The server's name for the length limit of a reply."""
    omit: tuple[Omitted, ...] = ()
    """Fields that are not sent, for servers that refuse them: `temperature`, `top_p`, `seed`, `max_tokens`.
    The server's own values then hold."""
    stop_reasons: tuple[str, ...] = ()
    """Values of `finish_reason` besides `stop` that mean a whole reply, such as `eos` or `stop_sequence`;
    `none` stands for a missing value. Replies that end with other words are no targets and get no verdict."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request, such as `{top_k: -1}` or
    `{chat_template_kwargs: {enable_thinking: false}}`."""

    def __post_init__(self) -> None:
        if bool(self.urls) == (self.start is not None):
            what = "and start are both given" if self.urls else "is empty"
            raise ConfigError(
                f"urls {what}: expected urls, such as http://host:8000/v1, or start, such as vllm"
            )
        if self.start is None and (self.python or self.start_words):
            raise ConfigError(
                "python and start_words are for a server of start, which is not given"
            )
        if self.start is not None and self.start not in STARTED and "{port}" not in self.start:
            raise ConfigError(
                f"start is {self.start!r}: expected {', '.join(STARTED)}, or a command line with {{port}}"
            )
        for url in self.urls:
            _check_url(url)
        if len({url.rstrip("/") for url in self.urls}) < len(self.urls):
            raise ConfigError("urls names an endpoint twice: expected each once")
        # The value is not shown: it may be the key itself.
        if self.api_key_env is not None and not _KEY_NAME.fullmatch(self.api_key_env):
            raise ConfigError(
                "api_key_env is no name of an environment variable in capitals: expected one such as "
                f"{DEFAULT_KEY_NAME}, never the key itself; change a key that stood in a file"
            )
        for name, (least, most) in _BOUNDS.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise ConfigError(f"{name} is {value}: expected {least} to {most}")
        for name in ("timeout_seconds", "max_wait_seconds", "start_seconds"):
            if not (seconds := getattr(self, name)) > 0:
                raise ConfigError(f"{name} is {seconds}: expected more than 0")
        if taken := [key for key in self.extra_body if key in _OURS]:
            raise ConfigError(f"extra_body holds {taken[0]!r}: that is set from other settings")
        if (place := key_in(self.extra_body)) is not None:
            raise ConfigError(
                f"extra_body holds a key or password at {place!r}, and settings are written to files: "
                "expected it in the environment variable that api_key_env names"
            )

    @property
    def prefills(self) -> bool:
        """Whether beginnings of replies can be given: where it is set, and with a server that is known to."""
        return self.can_prefill or self.start in ("vllm", "sglang")

    def decisive(self) -> dict[str, Any]:
        """Return the settings that change replies; newer ones only where they are set."""
        settings: dict[str, Any] = {"can_prefill": self.prefills, "extra_body": {**self.extra_body}}
        if self.omit:
            settings["omit"] = sorted(self.omit)
        if self.stop_reasons:
            settings["stop_reasons"] = sorted(self.stop_reasons)
        return settings

    def read_key(self) -> str:
        """Return the key in the environment; empty where there is none and `api_key_env` is null.

        Raises:
            ConfigError: the variable that is named is not set, or its value cannot stand in a header.
        """
        name = self.api_key_env or DEFAULT_KEY_NAME
        key = os.environ.get(name, "").strip()
        if self.api_key_env and not key:
            raise ConfigError(
                f"environment variable {name}, which server.api_key_env names, is not set or empty: "
                "expected the key of the server: set it, or leave api_key_env out for a server without keys"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"environment variable {name}: expected a key of plain characters, found others: set it "
                "again without quotes, spaces or line breaks"
            )
        return key


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
