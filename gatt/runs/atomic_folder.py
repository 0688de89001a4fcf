"""A folder that appears whole or not at all. No torch here."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError

from gatt.errors import StoreError
from gatt.runs.atomic_file import NO_SPACE
from gatt.runs.drafts import DRAFT, free, locked, making_draft


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Open a new folder to fill that takes its place at the end: no reader ever sees half of it.

    Raises:
        StoreError: something stands at its place already, or the disk refuses.
    """
    draft: Path | None = None
    try:
        # A dangling link is there, too.
        if target.exists() or target.is_symlink():
            raise StoreError(f"{target}: exists already: give a new folder, or move it away")
        with draft_of(target) as draft:
            yield draft
            _settle(draft)
            draft.rename(target)
    except (OSError, SafetensorError) as error:
        raise _refused(error, target, draft) from error


@contextlib.contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Make an empty folder for one that is to stand at a place: beside it, under a hidden name.

    What is still there when the block ends goes; what a killed process left behind goes with the next one.

    Raises:
        OSError: the disk refuses.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with making_draft(_drafts(target), target.parent, shutil.rmtree):
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=DRAFT, dir=target.parent))
        lock = locked(draft)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        free(lock)


def _drafts(target: Path) -> Iterator[Path]:
    # As many letters as `mkdtemp` draws: `.NAME.old.tmp` is somebody else's.
    yield from target.parent.glob(f"{glob.escape(f'.{target.name}.')}{'?' * 8}{DRAFT}")


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
