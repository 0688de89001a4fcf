"""The documentation: its commands are read by the classes that would run them, its pages are all there."""

from __future__ import annotations

import argparse
import doctest
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from accelerate.commands.launch import launch_command_parser

from data_synth.catalog_check import check_entry
from eval.config import EvalConfig
from gatt.cli import main
from gatt.config.load import load_config
from gatt.data.catalog.read import load_catalog
from tests.support.models.tiny import save_tiny_model
from tests.support.runs.fake_commands import command_modules
from tests.support.texts.doc_pages import DOCS, ROOT, blocks

PAGES = sorted(p for p in DOCS.rglob("*.md") if not p.is_relative_to(DOCS / "results"))
GUIDES = ("dental_clinic", "own_data", "cluster")


def commands(page: Path) -> list[str]:
    """Return the lines of the page's shell blocks that call this project's commands."""
    lines = [
        line.partition(" #")[0].strip()
        for block in blocks(page)
        if block.language in ("bash", "")
        for line in block.text.replace("\\\n", " ").splitlines()
    ]
    return [line for line in lines if line.startswith(("gatt ", "accelerate launch "))]


COMMANDS = [(page, line) for page in (ROOT / "README.md", *PAGES) for line in commands(page)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder from which `configs/` can be seen, as from a checkout."""
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COPY = re.compile(r'^cp "\$CHECKOUT"/(\S+) (\S+)$', re.MULTILINE)


def write_files(page: Path, folder: Path) -> list[Path]:
    """Write the page's YAML blocks under their titles and what it copies from the checkout; return the
    paths."""
    written = []
    for block in blocks(page):
        if block.language == "bash":
            for pattern, target in COPY.findall(block.text):
                written += [Path(shutil.copy(file, folder / target)) for file in ROOT.glob(pattern)]
        if block.language == "yaml" and block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            written.append(path)
    return written


def parse(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, Any]:
    """Return the command that `gatt` would run, and the arguments that it would get."""
    seen: list[tuple[ModuleType, argparse.Namespace]] = []
    for module in command_modules().values():

        def run(args: argparse.Namespace, of: ModuleType = module) -> int:
            seen.append((of, args))
            return 0

        monkeypatch.setattr(module, "run", run)
    assert main(words) == 0
    return seen[0]


def launched(words: list[str]) -> list[str]:
    """Return the words behind `-m gatt.train`, once accelerate has taken its own."""
    args = launch_command_parser().parse_args(words)
    assert args.config_file is None or Path(args.config_file).is_file()
    assert args.training_script == ("gatt.train" if args.module else "scripts/train.py")
    return [str(word) for word in args.training_script_args]


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=lambda v: getattr(v, "stem", None))
def test_every_command_is_one_that_runs(page, line, folder, monkeypatch) -> None:
    # A page may lean on a file of the guides.
    for other in (*(DOCS / "guides" / f"{guide}.md" for guide in GUIDES), page):
        write_files(other, folder)
    shipped = re.compile(r'"\$\(gatt configs (\S+) --path\)"')
    words = shlex.split(shipped.sub(r"configs/\1.yaml", line))
    if words[0] == "accelerate":
        words = ["gatt", "train", *launched(words[2:])]
    module, args = parse(words[1:], monkeypatch)
    if hasattr(module, "CONFIG"):
        assert load_config(module.CONFIG, args.config, args.overrides) is not None


@pytest.mark.parametrize(
    ("guide", "catalog", "families"),
    [
        ("dental_clinic", "instructions", ("clinic", "errands", "leisure", "other_bot", "services")),
        ("own_data", "my_catalog", ("support",)),
    ],
)  # fmt: skip
def test_catalogues_of_the_guides_are_sound(guide, catalog, families, folder) -> None:
    write_files(DOCS / "guides" / f"{guide}.md", folder)
    found = load_catalog(folder / catalog)
    assert found.families == families
    assert {entry.id: check_entry(entry) for entry in found.entries} == {
        entry.id: [] for entry in found.entries
    }


def test_the_dental_guide_measures_what_it_did_not_train(folder: Path) -> None:
    write_files(DOCS / "guides" / "dental_clinic.md", folder)
    catalog = load_catalog(folder / "instructions")
    assert catalog.entry("other_bot.savings").split == "heldout_value"
    for name in ("eval.yaml", "served.yaml"):
        config = load_config(EvalConfig, folder / name)
        assert (config.part, config.sampling.temperature) == ("eval", 0.0)


MODULES = ("gatt", "gatt.data.views", "gatt.comb.collator", "gatt.train.gatt_trainer", "eval.run")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_documentation_run(name: str) -> None:
    module = importlib.import_module(name)
    failed, attempted = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert attempted > 0
    assert failed == 0


def test_the_script_of_the_python_page_trains(tmp_path, monkeypatch) -> None:
    [script] = [b for b in blocks(DOCS / "reference" / "python.md") if b.title == "train.py"]
    model = save_tiny_model(tmp_path / "model")
    monkeypatch.setattr(sys, "argv", ["train.py", str(model), str(tmp_path / "run")])
    exec(compile(script.text, "train.py", "exec"), {"__name__": "__main__"})
    assert (tmp_path / "run" / "adapter" / "adapter_model.safetensors").is_file()


@pytest.mark.parametrize("package", ["gatt", "eval", "data_synth"])
def test_every_short_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


LIGHT = (
    "import gatt.data.views",
    "from gatt import Dialogue, Message, TrainConfig, sampling_view, training_view",
    "from eval import EvalConfig",
    "from gatt.runs.provenance import provenance; assert provenance()['gpus'] == []",
    "import gatt.generation.config",
    "from gatt.cli import main; assert main(['--help']) == 0",
)


def test_what_needs_no_torch_imports_none() -> None:
    """In one process, since none of them may; the first one that does is named."""
    program = f"""
import sys
heavy = {{'torch', 'transformers', 'trl', 'peft', 'datasets', 'matplotlib', 'httpx2'}}
for statement in {LIGHT}:
    exec(statement, {{}})
    assert not heavy & set(sys.modules), statement
import gatt.generation.servers.engine
assert 'torch' not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "commands, in the order of the work:" in done.stdout
