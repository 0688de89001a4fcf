"""The configuration of `gatt push`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class PushConfig:
    """What is shared, and the place where it is written.

    Raises:
        ConfigError: settings that do not go together.
    """

    what: Literal["adapter", "dataset"]
    """`adapter`: of `gatt train`; `dataset`: of `gatt synth`. Share a folder of `gatt export` by `hf
    upload`."""
    folder: Path
    """Folder of the adapter or of the samples."""
    repo_id: str | None = None
    """Repository on the hub, `owner/name`; made if it does not exist. The token is read from `HF_TOKEN`."""
    output_dir: Path | None = None
    """A new local folder for the same files, in place of the hub."""
    private: bool = True
    """Whether the repository must be private. If so, a public one is refused."""
    results: Path | None = None
    """For an adapter: folder of an evaluation of it (`gatt eval`); its rates go into the card."""
    license: str | None = None
    """The licence on the card, as the hub spells it (`apache-2.0`); null keeps the licence of the card."""

    def __post_init__(self) -> None:
        if (self.repo_id is None) == (self.output_dir is None):
            given = "neither" if self.output_dir is None else "both"
            raise ConfigError(f"repo_id and output_dir: found {given}, expected one of them")
        if self.results is not None and self.what != "adapter":
            raise ConfigError(f"results with what={self.what}: expected them with an adapter")
