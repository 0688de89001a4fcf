"""Samples as a data set repository: parquet with typed columns, where they come from, and the card."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gatt.commands.push.layout import Layout, read_json
from gatt.commands.push.parquet import write_parquet
from gatt.runs.store import meta_path

_SAMPLES: Final = "samples.jsonl"
_SOURCE: Final = "source.json"
_AS_JSON: Final = 'Read it with `datasets.load_dataset("json", data_files="samples.jsonl")`.'
_ONE_LINE: Final = "One JSON line a sample:"
_LICENSES: Final = {"chitchat": "mit"}
"""Of the dialogues that come with a source."""
_SIZES: Final = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
)


def lay_out_dataset(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no samples there, broken ones, or ones of another version.
    """
    samples = layout.source(_SAMPLES, "that `gatt synth` made")
    if (path := meta_path(samples)).is_file():
        layout.learn(meta := read_json(path))
        layout.write_json(path.name, meta)
    num_rows = write_parquet(samples, layout.target / "data", layout.private())
    source = ""
    if (path := samples.with_name(_SOURCE)).is_file():
        found = read_json(path)
        source = Path(str(found.get("source", ""))).name if isinstance(found, dict) else ""
        layout.write_json(_SOURCE, found)
    card = layout.card()
    data = card.data
    data.license = layout.config.license or data.license or _LICENSES.get(source)
    data.task_categories = ["text-generation"]
    data.size_categories = [_size(num_rows)]
    data.configs = [{"config_name": "default", "data_files": "data/train-*.parquet"}]
    body = card.text.strip() or f"# GAtt samples\n\n{num_rows} samples of `gatt synth`."
    where = layout.config.repo_id or "FOLDER"
    loaded = f'Read it with `datasets.load_dataset("{where}", split="train")`.'
    if _AS_JSON in body:
        body = body.replace(_AS_JSON, loaded).replace(_ONE_LINE, "One row a sample:")
    else:
        body += f"\n\n{loaded}"
    layout.write_card(data, f"{body}\n\n{_FILES}\n\n{_licence(data.license)}")


_FILES: Final = """## Files

`data/train-*.parquet`: the samples, one row each, columns with declared types. An absent text is empty;
`instruction` is null in a plain dialogue; the parameters of a verifier are JSON in a string.
`samples.jsonl.meta.json` says what the samples were made with, `source.json` what was kept of the source.
A JSONL file of the rows is what `gatt train` reads:

```python
from datasets import load_dataset

load_dataset("parquet", data_files="data/*.parquet", split="train").to_json("samples.jsonl")
```

## Limits

- The replies are a model's own, chosen by rules: they keep the instruction, and may be wrong otherwise.
- A rule sees what it looks for. Verdicts and the number of draws stand beside each reply.
- Screening dialogues for personal data and profanity by lists and patterns is not perfect."""


def _licence(name: str | None) -> str:
    said = f"`{name}`." if name else "Not stated; the dialogues keep that of their source."
    return f"## Licence\n\n{said} What the teacher's licence asks of its replies holds too."


def _size(num_rows: int) -> str:
    return next((name for most, name in _SIZES if num_rows < most), "n>100M")
