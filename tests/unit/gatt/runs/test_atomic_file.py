"""Files and folders take their place whole; what cannot be written is refused before the work."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError

from gatt.errors import ModelError, StoreError
from gatt.runs.atomic_file import (
    atomic_stream,
    atomic_write_json,
    atomic_write_text,
    making_draft,
    refuse_unwritable,
    whole_folder,
)


def test_writes_replace_whole_files_and_make_folders(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.json"
    atomic_write_json(path, {"ä": [1]})
    assert path.read_text(encoding="utf-8") == '{\n  "ä": [\n    1\n  ]\n}\n'
    with atomic_stream(path) as stream:
        stream.write(b"two")
        assert path.read_text(encoding="utf-8").startswith("{")
    assert path.read_text(encoding="utf-8") == "two"
    assert os.listdir(path.parent) == ["x.json"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "x.json"
    atomic_write_text(path, "old")
    with pytest.raises(TypeError), atomic_stream(path) as stream:
        stream.write("no bytes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not JSON compliant"):
        atomic_write_json(path, float("nan"))

    def fsync(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("gatt.runs.atomic_file.os.fsync", fsync)
    with pytest.raises(StoreError, match=r"x\.json: no space left"):
        atomic_write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["x.json"]


def test_links_devices_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    kept, link, pipe = (tmp_path / name for name in ("kept.txt", "link.txt", "pipe"))
    kept.write_text("old", encoding="utf-8")
    link.symlink_to(kept)
    atomic_write_text(link, "new")
    assert link.is_symlink()
    assert kept.read_text(encoding="utf-8") == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        atomic_write_text(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    with pytest.raises(StoreError, match=str(tmp_path)):
        atomic_write_text(tmp_path, "to nobody")
    assert sorted(os.listdir(tmp_path)) == ["kept.txt", "link.txt", "pipe"]


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path: Path, monkeypatch) -> None:
    kept = tmp_path / "kept.txt"
    kept.touch()
    for path in (kept, tmp_path / "new" / "deep" / "x.json", Path("x.json"), Path(os.devnull)):
        refuse_unwritable(path)
    assert os.listdir(tmp_path) == ["kept.txt"]
    for path, fact in ((tmp_path, "folder"), (kept / "deep" / "x.json", f"{kept} is a file")):
        with pytest.raises(StoreError, match=rf"^{path}: .*{fact}"):
            refuse_unwritable(path)
    # Root may write anywhere, so the rights are made up.
    monkeypatch.setattr("gatt.runs.atomic_file.os.access", lambda place, _: place != tmp_path)
    refuse_unwritable(kept)
    with pytest.raises(StoreError, match=rf"no right to write {tmp_path}"):
        refuse_unwritable(tmp_path / "new" / "x.json")


KILLED = """
import os, pathlib, signal, sys
from gatt.runs.atomic_file import atomic_stream, whole_folder
with {}(pathlib.Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("make", "remove", "others"),
    [
        (atomic_stream, Path.unlink, {".x 1.123.tmp", ".x [1].old.tmp", ".x [1].1.old.tmp"}),
        (whole_folder, shutil.rmtree, {".x 1.abcdefgh.tmp", ".x [1].old.tmp"}),
    ],
)
def test_the_draft_of_a_killed_process_is_removed_by_the_next_one(
    tmp_path: Path, make: Any, remove: Any, others: set[str]
) -> None:
    path = tmp_path / "x [1]"
    code = KILLED.format(make.__name__)
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".x [1].")
    # Another's, though a pattern of that name, or one of any length, would match them.
    for name in others:
        Path.touch(tmp_path / name) if make is atomic_stream else Path.mkdir(tmp_path / name)
    with make(path):
        being_filled = set(os.listdir(tmp_path)) - others
        assert left not in being_filled
        # Another that begins removes nothing that is being filled.
        with making_draft((tmp_path / name for name in being_filled), tmp_path, remove):
            assert set(os.listdir(tmp_path)) == being_filled | others
    assert set(os.listdir(tmp_path)) == {path.name, *others}


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


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), ModelError("no model")])
def test_a_block_that_is_stopped_leaves_nothing(tmp_path: Path, stop: BaseException) -> None:
    def fill_half() -> None:
        with whole_folder(tmp_path / "served") as folder:
            (folder / "half.txt").write_text("a", encoding="utf-8")
            raise stop

    with pytest.raises(type(stop)):
        fill_half()
    assert os.listdir(tmp_path) == []


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
