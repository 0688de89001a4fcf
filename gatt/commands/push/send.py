"""`gatt push`: the folder is laid out, and sent to the hub or kept."""

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
"""What is pushed: the hub's type of its repository, and the function that fills the folder."""


@dataclass(frozen=True)
class PushResult:
    """Where a push went, and its size."""

    place: str
    """The address on the hub, or the local folder."""
    repo_type: str
    num_files: int
    num_bytes: int
    left_out: tuple[str, ...]
    """Files of the pushed folder that were not shared."""


def push(config: PushConfig) -> PushResult:
    """Lay out what is shared, and send it to the hub or keep it in a local folder.

    Raises:
        ConfigError: no token for the hub.
        DataError: the folder to push does not exist or is broken.
        HubError: the hub cannot be reached or refuses.
        ModelError: no adapter there.
        StoreError: the local folder exists already, or cannot be written.
    """
    if not config.folder.is_dir():
        raise DataError(f"{config.folder}: no such folder: expected one that a gatt command made")
    if config.to is None:
        # Checked before the layout, which may take long.
        read_token()
    repo_type, lay_out = LAYOUTS[config.what]
    with tempfile.TemporaryDirectory(prefix="gatt-push-") as scratch:
        target = config.to or Path(scratch) / "repository"
        with whole_folder(target) as folder:
            layout = Layout(config, folder)
            lay_out(layout)
        sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
        place = str(target)
        if config.repo_id is not None:
            message = f"Upload {config.what} with gatt push"
            place = upload(
                target, config.repo_id, repo_type, is_private=config.private, message=message
            )
    return PushResult(place, repo_type, len(sizes), sum(sizes), tuple(layout.left_out))
