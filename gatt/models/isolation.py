"""Using a model in the middle of its training, without an effect on the training."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode while the block runs, and restore everything afterwards.

    Restored are the mode of every module, which weights are trained, and the states of the random
    generators of Python, NumPy and torch, including that of the model's device.

    Args:
        model: a `torch.nn.Module` with a `device`.
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
