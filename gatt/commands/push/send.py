"""`gatt push`: the folder is laid out, and sent to the hub or kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from gatt.commands.push.command import PushConfig
from gatt.commands.push.dataset import lay_out_dataset
from gatt.commands.push.layout import Layout, lay_out_adapter, lay_out_report
from gatt.errors import ConfigError, DataError, HubError
from gatt.models.adapter import one_line
from gatt.runs.atomic_file import whole_folder
from gatt.runs.secrets import public

TOKEN: Final = "HF_TOKEN"
# Files of an earlier, larger push would be read as part of this one.
_STALE: Final = ("*.safetensors", "data/*.parquet")
LAYOUTS: Final[Mapping[str, tuple[str, Callable[[Layout], None]]]] = {
    "adapter": ("model", lay_out_adapter),
    "dataset": ("dataset", lay_out_dataset),
    "report": ("space", lay_out_report),
}
"""What is pushed: the hub's type of its repository, and the function that fills the folder."""


def push(config: PushConfig) -> str:
    """Lay out what is shared, and send it to the hub or keep it in a local folder; return one line on it.

    Raises:
        ConfigError: no token for the hub.
        DataError: the folder to push does not exist or is broken.
        HubError: the hub cannot be reached or refuses, or the repository is public already.
        ModelError: no adapter there.
        StoreError: the local folder exists already, or cannot be written.
    """
    if not config.folder.is_dir():
        raise DataError(f"{config.folder}: no such folder: expected one that a gatt command made")
    # Checked before the layout, which may take long.
    token = _read_token() if config.output_dir is None else ""
    repo_type, lay_out = LAYOUTS[config.what]
    with tempfile.TemporaryDirectory(prefix="gatt-push-") as scratch:
        target = config.output_dir or Path(scratch) / "repository"
        with whole_folder(target) as folder:
            lay_out(Layout(config, folder))
        sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
        place = str(target)
        if config.repo_id is not None:
            place = _upload(config, config.repo_id, target, repo_type, token)
    return (
        f"{place}: {config.what} as a {repo_type} repository, {len(sizes)} files, "
        f"{sum(sizes) / 1e6:,.1f} MB"
    )


def _read_token() -> str:
    """Return the token of the environment; one stored in a file is not read."""
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise ConfigError(
            f"environment variable {TOKEN} is not set or empty: expected a token of the hub that may write, "
            "or a local folder with output_dir"
        )
    return token


def _upload(config: PushConfig, repo_id: str, folder: Path, repo_type: str, token: str) -> str:
    """Send a folder to a repository in one commit, and return its address."""
    from httpx2 import HTTPError
    from huggingface_hub import HfApi

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=token)
    where: dict[str, Any] = {"repo_id": repo_id, "repo_type": repo_type}
    message = f"Upload {config.what} with gatt push"
    try:
        sdk = "static" if repo_type == "space" else None
        url = api.create_repo(**where, private=config.private, exist_ok=True, space_sdk=sdk)
        # `create_repo` ignores `private` for a repository that exists.
        if config.private and not api.repo_info(**where).private:
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
