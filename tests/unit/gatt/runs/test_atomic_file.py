"""A file takes its place whole or the old one stays; what cannot be written is refused before the work."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatt.errors import StoreError
from gatt.runs.atomic_file import (
    atomic_stream,
    atomic_write_json,
    atomic_write_text,
    making_draft,
    refuse_unwritable,
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
from gatt.runs.atomic_file import atomic_stream
with atomic_stream(pathlib.Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_draft_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "report [1].html"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".report [1].html.")
    # Another's, though a pattern of that name would match them.
    others = {".report 1.html.123.tmp", ".report [1].html.old.tmp", ".report [1].html.1.old.tmp"}
    for name in others:
        (tmp_path / name).touch()
    with atomic_stream(path):
        being_filled = set(os.listdir(tmp_path)) - others
        assert left not in being_filled
        # Another that begins removes nothing that is being filled.
        drafts = (tmp_path / name for name in being_filled)
        with making_draft(drafts, tmp_path, Path.unlink):
            assert set(os.listdir(tmp_path)) == being_filled | others
    assert set(os.listdir(tmp_path)) == {path.name, *others}
