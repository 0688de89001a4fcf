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
from gatt.runs.atomic_file import DRAFT, NO_SPACE, free, locked, making_draft


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `target` when the block ends: no reader sees half of it.

    Raises:
        StoreError: the target exists already, or the disk refuses.
    """
    draft: Path | None = None
    try:
        # `exists` is false for a dangling link.
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
    """Yield an empty folder with a hidden name beside `target`, to be filled and renamed.

    It is deleted when the block ends, unless it was renamed. Drafts that killed processes left are
    deleted first.

    Raises:
        OSError: the disk refuses.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # As many letters as `mkdtemp` draws: `.NAME.old.tmp` is not ours.
    left = target.parent.glob(f"{glob.escape(f'.{target.name}.')}{'?' * 8}{DRAFT}")
    with making_draft(left, target.parent, shutil.rmtree):
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=DRAFT, dir=target.parent))
        lock = locked(draft)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        free(lock)


def _settle(folder: Path) -> None:
    """Make a draft readable for others, and flush it to the disk."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if path.is_symlink():
            # Its target may stand outside of the folder.
            continue
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())


def _refused(error: Exception, target: Path, draft: Path | None) -> StoreError:
    name, what = getattr(error, "filename", None), "write"
    if name is not None and draft is not None and not str(name).startswith(str(draft)):
        # The block failed to read a file elsewhere.
        target, what = Path(name), "read"
    said = " ".join(str(error).split())
    # safetensors reports a full disk as an error of its own.
    is_full = isinstance(error, OSError) and error.errno in NO_SPACE
    if is_full or "No space left" in said:
        return StoreError(f"{target}: no space left on its device: free some space and start again")
    reason = (isinstance(error, OSError) and error.strerror) or said
    return StoreError(f"{target}: cannot {what}: {reason}: mend it and start again")
