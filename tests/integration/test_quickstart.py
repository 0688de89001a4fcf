"""`docs/quickstart.ipynb` runs from its first cell to its last, on the embedded model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.texts.doc_pages import ROOT

pytestmark = pytest.mark.integration


def test_the_notebook_makes_data_an_adapter_dialogues_and_a_curve(tmp_path: Path) -> None:
    notebook = json.loads((ROOT / "docs" / "quickstart.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    # Smaller still than the page: the same cells, fewer samples.
    assert "SAMPLES, TURNS = 8, 6" in cells[0]
    cells[0] = cells[0].replace("SAMPLES, TURNS = 8, 6", "SAMPLES, TURNS = 3, 4")
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", "\n\n".join(cells)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "gatt" in done.stdout
    results = json.loads((tmp_path / "quickstart" / "eval" / "results.json").read_text("utf-8"))
    assert {"base", "gatt"} <= {curve["arm"] for curve in results["curves"]}
    assert (tmp_path / "quickstart" / "curve.png").stat().st_size > 1000
