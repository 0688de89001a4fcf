"""Training on several devices: `gatt train` and `gatt run` start `accelerate launch` themselves.

Each process runs `gatt train` with a share of the batch, so that a step has as many rows as on one device.
The processes tell of an error on stderr, in one line, and leave their outcome in a folder: with any other exit
status than 0 the launcher would print a traceback of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from gatt.cli import main
from gatt.config.load import config_file, save_config
from gatt.errors import ConfigError, ToldByMainError, TrainingError
from gatt.stages.machine import Machine, choose_settings, num_weights
from gatt.train.config import TrainConfig

OUTCOME: Final = "GATT_LAUNCH_OUTCOME"
"""Variable with the folder in which the processes leave their exit status and the line on what is there."""
MODULE: Final = "gatt.commands.launch"
FILE: Final = "launch.yaml"
"""The configuration of each process, in the output folder."""
_LAUNCHED: Final = ("LOCAL_RANK", "WORLD_SIZE", "ACCELERATE_MIXED_PRECISION")
"""Set by `accelerate launch` or `torchrun` for the processes that they start."""
_PATIENCE: Final = 60.0
"""Seconds in which the processes of an interrupted training may end by themselves."""


@dataclass(frozen=True)
class Launch:
    """A training on several processes."""

    config: TrainConfig
    """Of each process: with its share of the batch."""
    config_file: Path
    """Of Accelerate."""
    num_processes: int
    num_devices: int
    """GPUs among which the work is shared; 1 on a CPU."""
    why: str

    def __str__(self) -> str:
        batch = self.config.per_device_train_batch_size * self.config.gradient_accumulation_steps
        return (
            f"{self.num_processes} processes by accelerate/{self.config_file.stem} ({self.why}), {batch} rows "
            "of a step each"
        )

    def run(self) -> str:
        """Train, and return the main process's line on what is there when all have ended.

        Raises:
            ToldByMainError: the training ended with an error, of which a process has told.
            TrainingError: a process ended without a word.
            StoreError: the output folder cannot be written.
        """
        path = self.config.output_dir / FILE
        save_config(self.config, path)
        with tempfile.TemporaryDirectory() as folder:
            code = _ended(self._command(path), self._environment(folder))
            outcome = {
                file.name: file.read_text(encoding="utf-8") for file in Path(folder).iterdir()
            }
        if "summary" in outcome and code == 0:
            return outcome["summary"]
        if "error" in outcome:
            raise ToldByMainError(outcome["error"])
        raise TrainingError(
            f"{self.config.output_dir}: a process of the training ended without a word (exit status {code}), "
            "see the lines above: mend the cause, and start the same command again to go on"
        )

    def _command(self, path: Path) -> list[str]:
        return [
            sys.executable, "-m", MODULE, "--config_file", str(self.config_file),
            "--num_processes", str(self.num_processes), "--main_process_port", "0",
            "-m", MODULE, "--config", str(path),
        ]  # fmt: skip

    def _environment(self, folder: str) -> dict[str, str]:
        settings = {OUTCOME: folder}
        if self.num_devices == 1:
            settings["ACCELERATE_USE_CPU"] = "true"
        threads = max((os.cpu_count() or 1) // self.num_processes, 1)
        return {"OMP_NUM_THREADS": str(threads), **os.environ, **settings}


def planned_launch(config: TrainConfig) -> Launch | None:
    """Return how a training is started on several processes; None where this one trains.

    Raises:
        ConfigError: more processes than GPUs, an unknown file of Accelerate, or a batch that so many
            processes cannot share.
    """
    if any(name in os.environ for name in _LAUNCHED):
        return None
    import torch

    num_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    wanted = config.launch.num_processes
    num = max(num_devices, 1) if wanted is None else wanted
    if num == 1:
        return None
    if 0 < num_devices < num:
        raise ConfigError(
            f"launch.num_processes is {num}: expected at most {num_devices}, one for each visible GPU"
        )
    name, why = _chosen(config, num_devices)
    return Launch(shared(config, num), config_file(Path(name)), num, num if num_devices else 1, why)


def _chosen(config: TrainConfig, num_devices: int) -> tuple[str, str]:
    """Return the configuration of Accelerate, and why it was taken."""
    if given := config.launch.config_file:
        return given, "as set"
    if not num_devices:
        return "accelerate/ddp", "one model a process"
    machine = Machine.here()
    needs = choose_settings(num_weights(config.model), machine)
    fits = config.load_in_4bit or not (needs.load_in_4bit or needs.is_too_large)
    what = "fits" if fits else "does not fit"
    return f"accelerate/{'ddp' if fits else 'fsdp2'}", f"the model {what} on one GPU"


def shared(config: TrainConfig, num_processes: int) -> TrainConfig:
    """Return the configuration of one of many processes: a step has as many rows as before.

    Raises:
        ConfigError: no batch size and accumulation give each process as many.
    """
    most, steps = config.per_device_train_batch_size, config.gradient_accumulation_steps
    rows, rest = divmod(most * steps, num_processes)
    if rest:
        raise ConfigError(
            f"a step has {most * steps} rows (per_device_train_batch_size times gradient_accumulation_steps), "
            f"which {num_processes} processes cannot share: expected a multiple of {num_processes}, such as "
            f"gradient_accumulation_steps={-(-steps // num_processes) * num_processes}; or set "
            "launch.num_processes"
        )
    size = next(size for size in range(min(most, rows), 0, -1) if rows % size == 0)
    return replace(
        config, per_device_train_batch_size=size, gradient_accumulation_steps=rows // size
    )


def leave_outcome(name: Literal["summary", "error"], text: str) -> bool:
    """Leave the outcome of a process for the command that launched it; False where none did."""
    if not (folder := os.environ.get(OUTCOME)):
        return False
    (Path(folder) / name).write_text(text, encoding="utf-8")
    return True


def _ended(command: list[str], environment: Mapping[str, str]) -> int:
    """Return the exit status of a launcher once it has ended; an interrupt ends it first."""
    # In a session of its own: on Ctrl-C the launcher is told once, by this process.
    process = subprocess.Popen(command, env=dict(environment), start_new_session=True)
    with _stops_by_signal():
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
            raise
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _stops_by_signal() -> Iterator[None]:
    """Take SIGTERM for an interrupt: without it the processes would be left alone."""

    def interrupt(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _launch() -> int:
    """Run `accelerate launch` with the words of this process; an interrupt is no traceback."""
    from accelerate.commands.launch import main as accelerate_launch
    from torch.distributed.elastic.multiprocessing.api import SignalException

    try:
        accelerate_launch()
    except (KeyboardInterrupt, SignalException):
        return 1
    return 0


def _train() -> NoReturn:
    """Run `gatt train` as one of many processes, and leave its exit status."""
    from gatt.train.runtime import leave

    status = main(["train", *sys.argv[1:]])
    if status:
        leave_outcome("error", str(status))
    leave(0)


if __name__ == "__main__":
    sys.exit(_train() if "LOCAL_RANK" in os.environ else _launch())
