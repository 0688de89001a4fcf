"""The output folder of a training run: its configuration, its progress, and its adapter.

`train.json` in it holds the fingerprint of all that changes the result, what
was fingerprinted, and the state of the run. `train.json.lock` keeps a second run
out while the first one trains. An adapter is two files of PEFT and a model card.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from filelock import BaseFileLock
from jinja2 import Template
from safetensors import SafetensorError, safe_open

from gatt.comb.comb import DEFAULT_OBJECTIVE
from gatt.comb.objectives.table import TABLE
from gatt.config.load import config_dict
from gatt.data.sample import KIND_NAMES
from gatt.data.training_marks import TrainedOn, write_marks
from gatt.errors import StaleError, StoreError
from gatt.models.base_card import hub_id
from gatt.models.digest import adapter_digest, model_digest
from gatt.models.template_variables import write_variables
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.input_file import open_text, read_json
from gatt.runs.provenance import fingerprint, versions
from gatt.runs.store import differences, take_lock
from gatt.train.config import TrainConfig
from gatt.train.data.packing import is_packed
from gatt.train.data.report import RowReport

FILE: Final = "train.json"
ADAPTER: Final = "adapter"
BEST_ADAPTER: Final = "best_adapter"
SCHEMA: Final = 1
_SETTINGS: Final = (
    "placement", "history", "supervise", "objective", "plain_loss", "plain_kl_coef", "max_length",
    "learning_rate", "lr_scheduler_type", "per_device_train_batch_size", "gradient_accumulation_steps", "optim",
    "weight_decay", "seed",
)  # fmt: skip
"""Settings that the card names."""
TRACKED: Final = "tracked.json"
"""In the folder of the best adapter of a run: how it adhered, turn by turn."""
FILES: Final = ("adapter_model.safetensors", "adapter_config.json")

WITHOUT_EFFECT: Final = (
    "output_dir", "resume", "logging_steps", "save_steps", "save_total_limit", "report_to",
    "disable_tqdm", "track", "max_lost_targets", "launch",
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
    return {
        **settings,
        **_inputs(config),
        "bf16": bf16,
        "pack_rows": "auto"
        if config.pack_rows == "auto" and is_packed(config)
        else is_packed(config),
        "world_size": world_size,
        "template": hashlib.sha256(template.encode()).hexdigest()[:16],
        "model_digest": model_digest(config.model),
    }


def _inputs(config: TrainConfig) -> dict[str, Any]:
    first = config.init_adapter
    return {
        "samples": [digest(path) for path in config.samples],
        "init_adapter": None if first is None else adapter_digest(first),
    }


def refuse_stale(config: TrainConfig) -> None:
    """Refuse to go on in a folder with weights of other samples or another first adapter.

    Neither model nor tokenizer is read.

    Raises:
        StaleError: names what changed.
        StoreError: a file of samples cannot be read.
        ModelError: the first adapter cannot be read.
    """
    try:
        made_of = read_json(config.output_dir / FILE)["identity"]
    except (OSError, ValueError, TypeError, KeyError):
        # `TrainStore.read` says what is wrong with it.
        return
    inputs = _inputs(config)
    before = {name: made_of.get(name) for name in inputs}
    if before != inputs and _has_weights(config.output_dir):
        raise StaleError(
            f"{config.output_dir}: belongs to other inputs{differences(before, inputs)}: choose another "
            "output_dir or delete it",
            tuple(name for name in inputs if before[name] != inputs[name]),
        )


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
        """Return the record of this run; None if nothing was saved in the folder yet.

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
            record: dict[str, Any] = read_json(path)
            mark = record["fingerprint"]
        except (OSError, ValueError, TypeError, KeyError):
            raise StoreError(
                f"{path}: not the record of a training run: choose another output_dir or delete it"
            ) from None
        if mark != fingerprint(self.identity):
            if not _has_weights(self.folder):
                return None
            raise StoreError(
                f"{self.folder}: belongs to another configuration"
                f"{differences(record.get('identity', {}), self.identity)}: choose another "
                "output_dir or delete it"
            )
        return record

    def lock(self) -> BaseFileLock:
        """Keep other runs out of the folder until the lock that is returned is released.

        Raises:
            StoreError: another run holds it, or it cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return take_lock(self.folder / FILE)
        except OSError as error:
            raise StoreError(
                f"{self.folder}: cannot write: {error.strerror}: choose another output_dir or mend it"
            ) from None

    def write(self, status: str, **facts: Any) -> None:
        """Record the run, whole or not at all: its status, `running` or `finished`, and more."""
        record = {"schema": SCHEMA, "fingerprint": fingerprint(self.identity), "status": status}
        atomic_write_json(self.folder / FILE, {**record, "identity": dict(self.identity), **facts})

    def remove_checkpoints(self, *, only_torn: bool) -> None:
        """Delete all checkpoints, or those that an interrupt left half written."""
        for path in self.folder.glob("checkpoint-[0-9]*"):
            if not only_torn or not is_complete(path):
                shutil.rmtree(path, ignore_errors=True)


def _has_weights(folder: Path) -> bool:
    """Whether a run saved anything: a first start that failed leaves only its record."""
    saved = (folder / name / FILES[0] for name in (ADAPTER, BEST_ADAPTER))
    checkpoints = folder.glob("checkpoint-[0-9]*")
    return any(path.exists() for path in saved) or any(map(is_complete, checkpoints))


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


def write_adapter(
    draft: Path,
    target: Path,
    config: TrainConfig,
    report: RowReport,
    result: Mapping[str, Any],
    dialogues: TrainedOn | None,
) -> None:
    """Make the folder of an adapter out of what the trainer saved; it appears whole.

    The base model is named as the user named it: where this machine keeps its
    files is of no use to others.

    `draft` was saved by the trainer and is gone afterwards; `target` is replaced if it is there. `result` has
    steps, loss and tokens, of a best adapter also what was measured of it (`tracked`). `dialogues` is None
    where those that it was trained on are not all known.
    """
    for path in draft.iterdir():
        if path.name not in FILES:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    settings = draft / "adapter_config.json"
    values = json.loads(settings.read_text(encoding="utf-8"))
    values["base_model_name_or_path"] = config.model
    settings.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    if dialogues is not None:
        write_marks(draft, dialogues)
    write_variables(draft, config.chat_template_kwargs)
    if "tracked" in result:
        atomic_write_json(draft / TRACKED, result["tracked"])
    (draft / "README.md").write_text(model_card(config, report, result, values), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    draft.rename(target)


def model_card(
    config: TrainConfig,
    report: RowReport,
    result: Mapping[str, Any],
    adapter: Mapping[str, Any],
) -> str:
    """Return the model card: what it is, how it was made, and what it is not good for.

    Arguments are those of `write_adapter`; `adapter` holds PEFT's settings.
    """
    names = [name for name in _SETTINGS if name != "plain_kl_coef" or config.plain_loss == "kl"]
    settings = {name: _shown(getattr(config, name)) for name in names}
    for name in ("r", "lora_alpha", "lora_dropout"):
        settings[f"lora.{name}"] = _shown(adapter.get(name))
    # Settings of an objective have its name.
    if of_objective := config_dict(config).get(config.objective):
        settings |= {
            f"{config.objective}.{name}": _shown(value) for name, value in of_objective.items()
        }
    if config.chat_template_kwargs:
        settings["chat_template_kwargs"] = json.dumps(dict(config.chat_template_kwargs))
    if config.init_adapter is not None:
        settings["init_adapter"] = config.init_adapter.name
    data = {
        "samples used, of read": f"{report.num_used} of {report.num_samples}",
        f"rows ({report.layout})": report.num_rows,
        "target replies": report.num_targets,
        "supervised tokens, of all": f"{report.num_supervised_tokens} of {report.num_tokens}",
        **{
            f"learned by {TABLE[name].summary}": num
            for name, num in report.objectives.items()
            if name != DEFAULT_OBJECTIVE
        },
        **({"tokens that the teacher reads": read} if (read := report.num_teacher_tokens) else {}),
        "exchanges dropped by max_length": report.num_exchanges_dropped,
        **{
            f"targets, {name}": num
            for k, name in KIND_NAMES.items()
            if (num := report.kinds.get(k))
        },
        **{f"samples, {family}": count for family, count in sorted(report.families.items())},
        **{f"dropped, {reason}": count for reason, count in sorted(report.dropped.items())},
    }
    tracked = result.get("tracked")
    rates = tracked["adherence"] if tracked else {}
    source = files("gatt.train").joinpath("adapter_card.j2").read_text(encoding="utf-8")
    card: str = Template(source, trim_blocks=True, keep_trailing_newline=True).render(
        config=config, report=report, result=result, settings=settings, data=data, tracked=tracked,
        # The hub takes ids only; a path there would make the card invalid, or name a stranger's model.
        hub_id=hub_id(config.model), has_kl="kl" in report.objectives,
        rates={
            f"adherence at turn {turn}": "undecided" if rate is None else f"{rate:.0%}"
            for turn, rate in rates.items()
        },
        versions=", ".join(f"{name} {version}" for name, version in versions().items() if version),
    )  # fmt: skip
    return card


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
