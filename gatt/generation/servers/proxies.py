"""The HTTP client of servers, and the proxies that the environment names for it."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import httpx2

from gatt.errors import ConfigError

_KNOWN: Final = ("http", "https", "socks5", "socks5h")


def make_client(urls: Sequence[str], **settings: Any) -> httpx2.AsyncClient:
    """Return the client; servers on this machine are asked without a proxy.

    Raises:
        ConfigError: a variable of the environment names a proxy that cannot be used.
    """
    local = [url for url in urls if is_loopback(url)]
    hosts = {urlsplit(url).hostname or "" for url in local}
    mounts = {f"all://[{host}]" if ":" in host else f"all://{host}": None for host in hosts}
    # Without a server elsewhere the variables are not even read: they may be broken.
    is_elsewhere = len(local) < len(urls)
    try:
        return httpx2.AsyncClient(
            mounts=mounts, trust_env=is_elsewhere, verify=httpx2.create_ssl_context(), **settings
        )
    except OSError as error:
        raise ConfigError(
            f"environment variable SSL_CERT_FILE or SSL_CERT_DIR: {error.strerror}: expected certificates of "
            "authorities: mend or unset it"
        ) from None
    except (ValueError, ImportError, httpx2.InvalidURL) as error:
        if not is_elsewhere:
            raise
        raise ConfigError(
            f"{_broken_variable()}: {' '.join(str(error).split())}: expected http://HOST:PORT, https:// or "
            "socks5:// (which needs the package socksio): mend or unset it"
        ) from None


def is_loopback(url: str) -> bool:
    """Whether a URL is of this machine."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        # Short forms such as 127.1 are names for `ipaddress` alone.
        is_short = host.replace(".", "").isdecimal()
        address = ipaddress.ip_address(socket.inet_aton(host) if is_short else host)
    except (ValueError, OSError):
        return False
    return address.is_loopback or address.is_unspecified


def proxy_variable(url: str) -> str:
    """Return the environment variable whose proxy is used for a server; empty without a proxy."""
    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return ""
    return next(iter(_variables(parts.scheme, "all")), "")


def _broken_variable() -> str:
    """Return what to name in an error: the variable whose proxy has an unknown scheme, or all of them."""
    names = list(_variables("http", "https", "all"))
    schemes = {name: os.environ[name].partition("://")[0].lower() for name in names}
    bad = [name for name in names if "://" in os.environ[name] and schemes[name] not in _KNOWN]
    socks = [name for name in names if schemes[name].startswith("socks")]
    return f"environment variable {', '.join(bad or socks or [*names, 'NO_PROXY'])}"


def _variables(*schemes: str) -> Iterator[str]:
    for scheme in schemes:
        for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
            if os.environ.get(name, "").strip():
                yield name
                break
