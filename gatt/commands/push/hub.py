"""The way to the hub: a repository made or found, and a folder sent there in one commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from gatt.errors import ConfigError, HubError
from gatt.models.adapter import one_line
from gatt.runs.secrets import public

TOKEN: Final = "HF_TOKEN"
ENDPOINT: Final = "HF_ENDPOINT"
# What an earlier, larger push left would be read as part of this one.
_STALE: Final = ("*.safetensors", "*.safetensors.index.json", "data/*.parquet")


def read_token() -> str:
    """Return the token of the environment; one that is kept in a file is not looked at.

    Raises:
        ConfigError: there is none.
    """
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise ConfigError(
            f"environment variable {TOKEN} is not set or empty: expected a token of the hub that may write, "
            "or a local folder with to"
        )
    return token


def upload(folder: Path, repo_id: str, repo_type: str, *, is_private: bool, message: str) -> str:
    """Send a folder to a repository in one commit, and return where it is.

    Args:
        folder: laid out.
        repo_id: `owner/name`; made if it is not there.
        repo_type: `model`, `dataset` or `space`.
        is_private: whether it must not be public.
        message: of the commit.

    Raises:
        ConfigError: no token.
        HubError: the hub cannot be reached or refuses, or the repository is public already.
    """
    token = read_token()
    from httpx2 import HTTPError
    from huggingface_hub import HfApi

    api = HfApi(endpoint=os.environ.get(ENDPOINT) or None, token=token)
    where: dict[str, Any] = {"repo_id": repo_id, "repo_type": repo_type}
    try:
        sdk = "static" if repo_type == "space" else None
        url = api.create_repo(**where, private=is_private, exist_ok=True, space_sdk=sdk)
        # `private` is ignored where it exists.
        if is_private and not api.repo_info(**where).private:
            raise HubError(
                f"{repo_id}: exists already and is public: say private=false if the world may see it"
            )
        api.upload_folder(
            **where, folder_path=folder, commit_message=message, delete_patterns=[*_STALE]
        )
    except (HTTPError, OSError, ValueError) as error:
        raise HubError(
            f"{repo_id}: the hub cannot be reached or refuses: {public(one_line(error), token)}"
        ) from None
    return str(url)
