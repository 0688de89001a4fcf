"""The output folder of a training run: whose it is, and how far it came.

`train.json` in it holds the fingerprint of all that changes the result, what
was fingerprinted, and the state of the run. `train.json.lock` keeps a second run
out while the first one trains.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open

from gatt.config.load import config_dict
from gatt.errors import StoreError
from gatt.models.digest import adapter_digest, model_digest
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.input_file import open_text, read_json
from gatt.runs.provenance import fingerprint
from gatt.runs.store import differences, take_lock
from gatt.train.config import TrainConfig

FILE: Final = "train.json"
ADAPTER: Final = "adapter"
BEST_ADAPTER: Final = "best_adapter"
SCHEMA: Final = 1

WITHOUT_EFFECT: Final = (
    "output_dir", "resume", "logging_steps", "save_steps", "save_total_limit", "report_to",
    "disable_tqdm", "track", "max_lost_targets",
)  # fmt: skip
"""Settings that leave the adapter as it is; a run may be gone on with under other ones."""


def identity(config: TrainConfig, *, world_size: int, bf16: bool, template: str) -> dict[str, Any]:
    """Return all that changes the result of a run, as JSON takes it.

    Files count by their content, so that a run may be moved with its data. The number of processes
    sets how many rows make a step; the chat template has its variables set.

    Raises:
        StoreError: a file of samples cannot be read.
        ModelError: the model or the first adapter cannot be read.
    """
    settings = {k: v for k, v in config_dict(config).items() if k not in WITHOUT_EFFECT}
    settings["samples"] = [digest(path) for path in config.samples]
    if config.init_adapter is not None:
        settings["init_adapter"] = adapter_digest(config.init_adapter)
    return {
        **settings,
        "bf16": bf16,
        "world_size": world_size,
        "template": hashlib.sha256(template.encode()).hexdigest()[:16],
        "model_digest": model_digest(config.model),
    }


def digest(path: Path) -> str:
    """Return 16 hex digits of a file's content; packing it (`.gz`, `.xz`) changes nothing.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        with open_text(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    except OSError as error:
        raise StoreError(f"{path}: cannot read: {error.strerror}: check the path") from None


@dataclass(frozen=True)
class TrainStore:
    """The output folder of one run."""

    folder: Path
    identity: Mapping[str, Any]

    @property
    def adapter(self) -> Path:
        """Where the finished adapter stands."""
        return self.folder / ADAPTER

    @property
    def best_adapter(self) -> Path:
        """Where the adapter stands that adhered best while it was trained, if that was tracked."""
        return self.folder / BEST_ADAPTER

    def read(self) -> dict[str, Any] | None:
        """Return what is recorded of this run; None for a fresh folder.

        Raises:
            StoreError: the folder is of another configuration, or of something else.
        """
        path = self.folder / FILE
        if not path.exists():
            if self.folder.exists() and any(self.folder.glob("checkpoint-*")):
                raise StoreError(
                    f"{self.folder}: checkpoints without {FILE}: choose another output_dir or "
                    "delete it"
                )
            return None
        try:
            found: dict[str, Any] = read_json(path)
            mark = found["fingerprint"]
        except (OSError, ValueError, TypeError, KeyError):
            raise StoreError(
                f"{path}: not the record of a training run: choose another output_dir or delete it"
            ) from None
        if mark != fingerprint(self.identity):
            raise StoreError(
                f"{self.folder}: belongs to another configuration"
                f"{differences(found.get('identity', {}), self.identity)}: choose another "
                "output_dir or delete it"
            )
        return found

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out of the folder while the block runs.

        Raises:
            StoreError: another run holds it, or it cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = take_lock(self.folder / FILE)
        except OSError as error:
            raise StoreError(
                f"{self.folder}: cannot write: {error.strerror}: choose another output_dir or mend it"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def write(self, status: str, **more: Any) -> None:
        """Record the run, whole or not at all: its status, `running` or `finished`, and more."""
        record = {"schema": SCHEMA, "fingerprint": fingerprint(self.identity), "status": status}
        atomic_write_json(self.folder / FILE, {**record, "identity": dict(self.identity), **more})

    def remove_checkpoints(self, *, only_torn: bool) -> None:
        """Delete all checkpoints, or those that an interrupt left half written."""
        for path in self.folder.glob("checkpoint-[0-9]*"):
            if not only_torn or not is_complete(path):
                shutil.rmtree(path, ignore_errors=True)


def is_complete(checkpoint: Path) -> bool:
    """Whether a checkpoint was written to its end: the trainer's state comes last.

    A power cut can leave any of the other files empty or cut, so their ends are looked at as well.
    """
    try:
        state = read_json(checkpoint / "trainer_state.json")
        for weights in checkpoint.glob("*.safetensors"):
            with safe_open(weights, framework="pt"):
                pass
    except (OSError, ValueError, SafetensorError):
        return False
    # torch saves zip files, whose table stands at the end.
    return isinstance(state, dict) and all(map(zipfile.is_zipfile, checkpoint.glob("*.pt*")))
