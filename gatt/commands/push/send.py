"""`gatt push`: laid out, and sent to the hub or put into a local folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gatt.commands.push.adapter import lay_out_adapter
from gatt.commands.push.config import PushConfig
from gatt.commands.push.dataset import lay_out_dataset
from gatt.commands.push.hub import read_token, upload
from gatt.commands.push.layout import Layout
from gatt.commands.push.model import lay_out_model
from gatt.commands.push.report import lay_out_report
from gatt.errors import DataError
from gatt.runs.atomic_folder import whole_folder

LAYOUTS: Final[Mapping[str, tuple[str, Callable[[Layout], None]]]] = {
    "adapter": ("model", lay_out_adapter),
    "model": ("model", lay_out_model),
    "dataset": ("dataset", lay_out_dataset),
    "report": ("space", lay_out_report),
}
"""What is pushed: the hub's type of its repository, and what fills the folder."""


@dataclass(frozen=True)
class PushResult:
    """What a push left behind."""

    place: str
    """The address on the hub, or the local folder."""
    repo_type: str
    num_files: int
    num_bytes: int
    left_out: tuple[str, ...]
    """Files of the pushed folder that are of no kind that is shared."""


def push(config: PushConfig) -> PushResult:
    """Lay out what is shared, and send it to the hub or keep it in a local folder.

    Raises:
        ConfigError: no token for the hub.
        DataError: what is to be pushed is not there or broken.
        HubError: the hub cannot be reached or refuses.
        ModelError: no adapter there.
        StoreError: the local folder is there already, or cannot be written.
    """
    if not config.folder.is_dir():
        raise DataError(f"{config.folder}: no such folder: expected what a command of gatt left")
    repo_type, lay_out = LAYOUTS[config.what]
    if config.to is not None:
        with whole_folder(config.to) as folder:
            layout = Layout(config, folder, links=False)
            lay_out(layout)
            sizes = _sizes(folder)
        place = str(config.to)
        return PushResult(place, repo_type, len(sizes), sum(sizes), tuple(layout.left_out))
    # Before the work, which may take long.
    read_token()
    with tempfile.TemporaryDirectory(prefix="gatt-push-") as scratch:
        # Made whole first: nothing is sent of what breaks half way.
        with whole_folder(Path(scratch) / "repository") as folder:
            layout = Layout(config, folder, links=True)
            lay_out(layout)
        sizes = _sizes(folder := Path(scratch) / "repository")
        place = upload(
            folder,
            config.repo_id or "",
            repo_type,
            is_private=config.private,
            message=f"Upload {config.what} with gatt push",
        )
    return PushResult(place, repo_type, len(sizes), sum(sizes), tuple(layout.left_out))


def _sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
