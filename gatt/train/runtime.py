"""Ranks, devices and precision: the only place that knows them."""

from __future__ import annotations

import atexit
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
import torch

from gatt.errors import GattError, ToldByMainError

if TYPE_CHECKING:
    from accelerate import PartialState


T = TypeVar("T")


def current_runtime() -> PartialState:
    """Return ranks and device as Accelerate set them up.

    Call it after the training arguments were made: they choose back end and
    device, and the first to ask Accelerate fixes both.
    """
    from accelerate import PartialState

    return PartialState()


def wait_for_everyone() -> None:
    """Return once every process has come here."""
    current_runtime().wait_for_everyone()


def from_main(compute: Callable[[], T]) -> T:
    """Return on every process what the main one computed; every process calls it.

    Errors are those of `from_everyone`.
    """
    is_main = current_runtime().is_main_process
    value: T = from_everyone(lambda: compute() if is_main else None)[0]  # type: ignore[assignment]
    return value


def from_everyone(compute: Callable[[], T]) -> list[T]:
    """Return on every process what each of them computed, in order of rank; every process calls it.

    An error of one process reaches all of them: nobody is left waiting.

    Raises:
        GattError: on the main process, whatever another one raised.
        ToldByMainError: on the others, where the main process tells of it.
    """
    from accelerate.utils import gather_object

    runtime = current_runtime()
    if runtime.num_processes == 1:
        return [compute()]
    value: T | None = None
    failure: BaseException | None = None
    try:
        value = compute()
    except BaseException as error:
        failure = error
    own_problem = f"{type(failure).__name__}: {failure}" if failure else None
    outcomes: list[tuple[Any, str | None]] = gather_object([(value, own_problem)])
    rank, problem = next(((r, p) for r, (_, p) in enumerate(outcomes) if p), (0, None))
    if problem is None:
        return [outcome for outcome, _ in outcomes]
    if failure is not None and (runtime.is_main_process or not isinstance(failure, GattError)):
        raise failure
    if runtime.is_main_process:
        raise GattError(f"process {rank} of {runtime.num_processes}: {problem}")
    raise ToldByMainError(problem)


def is_launched_main() -> bool:
    """Whether this is the main process by the launcher's word; safe before any set-up."""
    return int(os.environ.get("RANK", "0")) == 0


def leave(status: int) -> NoReturn:
    """End this process with an exit status; of many processes, without Python's own clean-up.

    A worker thread of gloo may still have to free the tensors of the last
    collective when the interpreter goes down. It then waits for the lock that
    Python before 3.14 answers with `pthread_exit`, which ends the process with
    "terminate called without an active exception" and status -6. Here exit
    handlers run and streams are flushed, and the process ends at once.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        sys.exit(status)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def trains_on_cuda() -> bool:
    """Whether Accelerate takes a CUDA device for this process; safe before any set-up."""
    is_cpu_asked = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")
    return torch.cuda.is_available() and not is_cpu_asked


def supports_bf16() -> bool:
    """Whether training can run in bfloat16: on a CUDA device that has it, never on CPU."""
    return trains_on_cuda() and torch.cuda.is_bf16_supported()


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode while the block runs, and restore everything afterwards.

    Restored are the mode of every module, which weights are trained, and the states of the random
    generators of Python, NumPy and torch, including that of the model's device.
    """
    modes = [(module, module.training) for module in model.modules()]
    trained = [(weight, weight.requires_grad) for weight in model.parameters()]
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        model.eval()
        try:
            yield
        finally:
            for module, is_training in modes:
                module.training = is_training
            for weight, is_trained in trained:
                weight.requires_grad_(is_trained)
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002
