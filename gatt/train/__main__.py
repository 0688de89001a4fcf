"""`accelerate launch -m gatt.train --config configs/train/default.yaml`: see `gatt.train.run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gatt.cli import main as command_line
from gatt.train.runtime import leave


def main(argv: Sequence[str] | None = None) -> int:
    """Run `gatt train` with these words and return its exit status."""
    return command_line(["train", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    leave(main())
