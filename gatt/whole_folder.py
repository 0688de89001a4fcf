"""A folder that appears whole or not at all. No torch here."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError

from gatt.errors import StoreError
from gatt.whole_file import NO_SPACE


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Open a new folder to fill that takes its place at the end: no reader ever sees half of it.

    It is filled beside its place under a hidden name, which goes if the block
    raises; only a killed process leaves it behind.

    Raises:
        StoreError: something stands at its place already, or the disk refuses.
    """
    draft: Path | None = None
    try:
        # A dangling link is there, too.
        if target.exists() or target.is_symlink():
            raise StoreError(f"{target}: exists already: give a new folder, or move it away")
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
        yield draft
        _settle(draft)
        draft.rename(target)
    except (OSError, SafetensorError) as error:
        raise _refused(error, target, draft) from error
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _settle(folder: Path) -> None:
    """Make a draft what its place promises: readable for others, and on the disk."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if path.is_symlink():
            # What it leads to is not ours to change.
            continue
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())


def _refused(error: Exception, target: Path, draft: Path | None) -> StoreError:
    name, what = getattr(error, "filename", None), "write"
    if name is not None and draft is not None and not str(name).startswith(str(draft)):
        # What was to be read refuses, not the place that is written.
        target, what = Path(name), "read"
    said = " ".join(str(error).split())
    # safetensors reports a full disk as an error of its own.
    is_full = isinstance(error, OSError) and error.errno in NO_SPACE
    if is_full or "No space left" in said:
        return StoreError(f"{target}: no space left on its device: free some space and start again")
    reason = (isinstance(error, OSError) and error.strerror) or said
    return StoreError(f"{target}: cannot {what}: {reason}: mend it and start again")
