"""`gatt push`: an adapter or samples, to the hub or a local folder."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gatt.config.arguments import add_config_arguments, config_from_args
from gatt.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class PushConfig:
    """What is shared, and where it goes.

    Raises:
        ConfigError: settings that do not go together.
    """

    what: Literal["adapter", "dataset"]
    """`adapter` of `gatt train`, `dataset` of `gatt synth`; a folder of `gatt export` is complete, and
    `hf upload` shares it."""
    folder: Path
    """The folder that the command left."""
    repo_id: str | None = None
    """Repository on the hub, `owner/name`; made if it does not exist. The token is read from `HF_TOKEN`."""
    output_dir: Path | None = None
    """A new local folder in place of the hub, laid out the same way."""
    private: bool = True
    """Whether the repository must be private; one that is public already is then refused."""
    results: Path | None = None
    """For an adapter: folder of an evaluation of it (`gatt eval`); its rates go into the card."""
    license: str | None = None
    """The licence on the card, as the hub spells it (`apache-2.0`); null keeps the known one."""

    def __post_init__(self) -> None:
        if (self.repo_id is None) == (self.output_dir is None):
            found = "neither" if self.output_dir is None else "both"
            raise ConfigError(f"repo_id and output_dir: found {found}, expected one of them")
        if self.results is not None and self.what != "adapter":
            raise ConfigError(f"results with what={self.what}: expected them with an adapter")


HELP = "share an adapter or a data set: on the hub, or in a folder with the same files"
TAKES_OVERRIDES = True
CONFIG = PushConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config`; every key of `PushConfig` can be set after it."""
    add_config_arguments(parser, PushConfig)
    parser.description = f"""{HELP}

  gatt push --what=adapter --folder=runs/demo/train/adapter --results=runs/demo --output_dir=shared/adapter
  gatt push --what=dataset --folder=runs/demo/synth --repo_id=owner/name

The token is read from HF_TOKEN; a new repository is private. Paths of this machine are cut to their
last part in cards and settings."""


def run(args: argparse.Namespace) -> int:
    """Share it and print where it is."""
    config = config_from_args(PushConfig, args)
    from gatt.commands.push.send import push

    sys.stdout.write(f"{push(config)}\n")
    return 0
