"""What only a process of its own shows: its environment and its standard streams."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.hostile.files import filled

GATT = [sys.executable, "-m", "gatt"]


def environment(**changes: str | None) -> dict[str, str]:
    given = {
        **os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(sys.path), **changes,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


@pytest.mark.parametrize(
    "changes",
    [
        {"HOME": None, "TERM": "dumb", "COLUMNS": "1", "LC_ALL": "C", "PYTHONUTF8": "0"},
        {"HOME": "/proc/nowhere", "COLUMNS": "x", "LANG": "xx_XX.nonsense", "TMPDIR": "/proc"},
    ],
    ids=["bare", "wrong"],
)
def test_an_odd_environment_changes_nothing(changes, world, tmp_path) -> None:
    words = filled("report {evaluated} --output=page.html", world, {})
    done = subprocess.run(
        [*GATT, *words], cwd=tmp_path, env=environment(**changes), stdin=subprocess.DEVNULL,
        capture_output=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("target", "status"), [("/dev/full", 2), (None, 141)], ids=["full disk", "closed pipe"]
)
def test_text_that_cannot_be_printed_ends_in_at_most_one_line(target, status, tmp_path) -> None:
    if target:
        out = os.open(target, os.O_WRONLY)
    else:
        reader, out = os.pipe()
        os.close(reader)
    done = subprocess.run(
        [*GATT, "configs", "demo"], cwd=tmp_path, env=environment(), stdout=out,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=100,
    )  # fmt: skip
    os.close(out)
    assert done.returncode == status
    assert done.stderr.count(b"\n") == (status == 2), done.stderr
