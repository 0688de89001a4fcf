"""A folder appears whole, or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import SafetensorError

from gatt.errors import ModelError, StoreError
from gatt.runs.atomic_file import whole_folder


def test_nothing_is_there_before_all_is_there(tmp_path: Path) -> None:
    target = tmp_path / "runs" / "served"
    with whole_folder(target) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "a.txt").write_text("a", encoding="utf-8")
        (folder / "inner" / "a.txt").chmod(0o600)
        assert not target.exists()
        assert folder.name.startswith(".served.")
    assert (target / "inner" / "a.txt").read_text(encoding="utf-8") == "a"
    assert (target / "inner" / "a.txt").stat().st_mode & 0o777 == 0o644
    assert target.stat().st_mode & 0o777 == 0o755
    assert os.listdir(target.parent) == ["served"]


def fill_half(target: Path, stop: BaseException) -> None:
    with whole_folder(target) as folder:
        (folder / "half.txt").write_text("a", encoding="utf-8")
        raise stop


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), ModelError("no model")])
def test_a_block_that_is_stopped_leaves_nothing(tmp_path: Path, stop: BaseException) -> None:
    with pytest.raises(type(stop)):
        fill_half(tmp_path / "served", stop)
    assert os.listdir(tmp_path) == []


KILLED = """
import os, pathlib, signal, sys
from gatt.runs.atomic_file import whole_folder
with whole_folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "half.txt").write_text("a", encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_with_the_next_one(tmp_path: Path) -> None:
    target = tmp_path / "served [1]"
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert done.returncode == -9
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".served [1].")
    # Another's, though a pattern of that name, or one of any length, would take them.
    others = {".served 1.abcdefgh.tmp", ".served [1].old.tmp"}
    for name in others:
        (tmp_path / name).mkdir()
    with whole_folder(target) as first:
        # Another that begins takes what was left, and nothing that is being filled.
        with pytest.raises(ModelError):
            fill_half(target, ModelError("no model"))
        assert set(os.listdir(tmp_path)) == {first.name, *others}
    assert set(os.listdir(tmp_path)) == {"served [1]", *others}


STARTS = """
import pathlib, sys
from gatt.runs.atomic_file import draft_of
for _ in range(60):
    with draft_of(pathlib.Path(sys.argv[1])) as draft:
        (draft / "a.txt").touch()
"""


def test_drafts_that_begin_at_once_leave_each_other_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS, str(tmp_path / "served")]
    started = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, Path.touch, lambda target: target.symlink_to("nowhere")],
    ids=["folder", "file", "dangling link"],
)
def test_what_is_there_stays(tmp_path: Path, make: Callable[[Path], None]) -> None:
    target = tmp_path / "served"
    make(target)
    with pytest.raises(StoreError, match=r"served: exists already"), whole_folder(target):
        pass
    assert os.listdir(tmp_path) == ["served"]


@pytest.mark.parametrize(
    ("error", "fact"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "no space left"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "no space left"),
        (SafetensorError("I/O error: No space left on device (os 28)"), "no space left"),
        (SafetensorError("broken\nheader"), "cannot write: broken header"),
        (OSError(errno.EIO, "Input/output error"), "cannot write: Input/output error"),
    ],
)
def test_a_disk_that_refuses(tmp_path: Path, error: Exception, fact: str) -> None:
    with pytest.raises(StoreError, match=rf"served: {fact}"), whole_folder(tmp_path / "served"):
        raise error
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="served"), whole_folder(tmp_path / "file" / "served"):
        pass
