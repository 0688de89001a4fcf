"""What a wheel holds: the packages, all that they read, and one version."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gatt", "data_synth", "eval")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build from a copy: what an earlier build left in the checkout must not get in."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in (*PACKAGES, "configs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=source, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def files_of(package: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_every_file_of_the_packages_is_in_it_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = set().union(*(files_of(package) for package in PACKAGES))
    configs = {f"gatt/config/shipped/{name.partition('/')[2]}" for name in files_of("configs")}
    assert found == expected | configs
    assert {"gatt/py.typed", "data_synth/py.typed", "eval/py.typed"} <= found
    assert {"gatt/config/shipped/demo.yaml", "eval/suites/behaviour.yaml"} <= found
    # A link that git wrote out as a text would be one line long.
    demo = wheel.read("gatt/config/shipped/demo.yaml")
    assert demo == (ROOT / "configs" / "demo.yaml").read_bytes()


def test_the_metadata_and_the_changelog_say_what_the_project_says(wheel: zipfile.ZipFile) -> None:
    place = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    found = Parser().parsestr(wheel.read(place).decode())
    assert (found["Version"], found["Requires-Python"]) == (PROJECT["version"], ">=3.11")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == PROJECT["version"]


def test_the_version_stands_in_one_place() -> None:
    quoted = re.compile(rf"""['"]v?{re.escape(PROJECT["version"])}['"]""")
    for package in (*PACKAGES, "scripts"):
        for path in (ROOT / package).rglob("*.py"):
            assert not quoted.search(path.read_text(encoding="utf-8")), path
