"""A path on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path


def path_argument(text: str) -> Path:
    """Return a path with `~` expanded, which a shell leaves as it is in `--key=~/x`.

    Raises:
        ArgumentTypeError: it is empty, holds a NUL, or names the home of nobody.
    """
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no path: expected a file or a folder")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"{text}: nobody of that name has a home here") from None
