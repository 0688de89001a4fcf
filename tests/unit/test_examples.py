"""The examples of the documentation give what they say, and short names cost what they need."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import pytest

MODULES = ("gatt", "gatt.data.views", "gatt.comb.collator", "gatt.train.trainer", "eval.run")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_documentation_run(name: str) -> None:
    module = importlib.import_module(name)
    failed, attempted = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("package", ["gatt", "eval"])
def test_every_short_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize(
    "statement",
    [
        "import gatt.data.views",
        "from gatt import Dialogue, Message, TrainConfig, sampling_view, training_view",
        "from eval import EvalConfig",
    ],
)
def test_what_needs_no_torch_imports_none(statement: str) -> None:
    heavy = "{'torch', 'transformers', 'trl', 'peft', 'datasets', 'matplotlib'}"
    program = f"import sys\n{statement}\nassert not {heavy} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
