"""A model lent to something else comes back as it was."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import nn

from gatt.models.isolation import undisturbed


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trained = nn.Linear(2, 2)
        self.frozen = nn.Linear(2, 2).requires_grad_(False).eval()
        self.device = torch.device("cpu")


def draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), float(torch.rand(()))  # noqa: NPY002


def seed() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)


@pytest.mark.parametrize("fails", [False, True])
def test_modes_trained_weights_and_generators_come_back(fails: bool) -> None:
    model = Small()
    model.train()
    model.frozen.eval()
    seed()
    expected = draws()
    seed()
    try:
        with undisturbed(model):
            assert not model.trained.training
            draws()
            model.trained.requires_grad_(False)
            model.frozen.train()
            if fails:
                raise KeyError
    except KeyError:
        assert fails
    assert draws() == expected
    assert (model.training, model.trained.training, model.frozen.training) == (True, True, False)
    assert all(weight.requires_grad for weight in model.trained.parameters())
    assert not any(weight.requires_grad for weight in model.frozen.parameters())
