"""`gatt push`: an adapter, samples or a report becomes a folder, which is sent to the hub or kept."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.evaluation import CARD, RESULTS_FILE, TAGS, evaluation_of
from gatt.commands.export.redaction import Private, private_in, public_value
from gatt.commands.push.command import PushConfig
from gatt.commands.templates import filled
from gatt.data.sample import read_samples
from gatt.data.training_marks import FILE as MARKS
from gatt.errors import ConfigError, DataError, HubError
from gatt.models.adapter import SETTINGS, WEIGHTS, base_model_of, one_line
from gatt.models.base_card import hub_id, license_of, note_of, public_name, read_card
from gatt.models.digest import adapter_digest
from gatt.models.template_variables import FILE as VARIABLES
from gatt.runs.atomic_file import whole_folder
from gatt.runs.input_file import read_json, read_text
from gatt.runs.secrets import key_in, public
from gatt.runs.store import meta_path

_PAGE: Final = "report.html"


class Layout:
    """A folder to fill.

    Args:
        config: what is pushed.
        target: the folder.
    """

    def __init__(self, config: PushConfig, target: Path) -> None:
        self.config = config
        self.target = target
        self.private: list[Private] = [Path.cwd(), Path.home(), config.folder.resolve()]

    def read(self, path: Path) -> Any:
        """Return the text of a file, or the value of a `.json` file; its paths are private from now on.

        Raises:
            DataError: it is not there, or broken.
        """
        if not path.is_file():
            raise DataError(f"{path.parent}: no {path.name}: expected a folder of a gatt command")
        try:
            value = read_json(path) if path.suffix == ".json" else read_text(path)
        except ValueError as error:
            said = " ".join(str(error).split())
            raise DataError(f"{path}: broken ({said}): make it again") from None
        self.private.extend(private_in(value))
        return value

    def write(self, name: str, value: Any) -> None:
        """Write a text or a JSON value without local paths and servers.

        Raises:
            DataError: it holds what looks like an access key.
        """
        text = public_value(value, *self.private)
        if not isinstance(text, str):
            text = json.dumps(text, indent=2, ensure_ascii=False) + "\n"
        if key_in(text) is not None:
            raise DataError(
                f"{self.config.folder}: {name} would hold what looks like an access key: take it out of the "
                "files there, and make a new key"
            )
        (self.target / name).write_text(text, encoding="utf-8")

    def card(self) -> Any:
        """Return the card of the pushed folder, an empty one where there is none."""
        path = self.config.folder / CARD
        card: Any = read_card(self.read(path) if path.is_file() else "")
        card.data.license = self.config.license or card.data.get("license")
        return card

    def write_card(self, card: Any) -> None:
        """Write the card; see `write`."""
        self.write(CARD, f"---\n{card.data.to_yaml()}\n---\n\n{card.text.strip()}\n")


def lay_out_adapter(layout: Layout) -> None:
    """Fill the folder with PEFT's two files, what the adapter was trained on and with, and the card.

    Raises:
        DataError: no evaluation in `results`, or one of another adapter.
        ModelError: no adapter there.
    """
    config, folder = layout.config, layout.config.folder
    base = base_model_of(folder) or ""
    settings = layout.read(folder / SETTINGS)
    card = layout.card()
    card.text = card.text.strip() or f"# Ghost Attention adapter\n\nFor `{public_name(base)}`."
    card.data.library_name, card.data.pipeline_tag = "peft", "text-generation"
    if base:
        settings["base_model_name_or_path"] = hub_id(base) or public_name(base)
        card.data.base_model = hub_id(base)
        card.data.license = card.data.license or license_of(base)
    if note := note_of(base):
        card.text += f"\n\n## Base model\n\n{note}"
    if config.results is not None:
        section, run = evaluation_of(config.results, config.arm, adapter_digest(folder))
        layout.private.extend(private_in(run))
        before, mark, after = card.text.partition("\n## Limits")
        card.text = f"{before.rstrip()}\n\n{section}\n{mark}{after}"
    layout.write(SETTINGS, settings)
    for path in (folder / WEIGHTS, folder / MARKS, folder / VARIABLES):
        if path.is_file():
            shutil.copyfile(path, layout.target / path.name)
    layout.write_card(card)


def lay_out_report(layout: Layout) -> None:
    """Fill the folder with a static space: the page, the numbers behind it, and the card.

    Raises:
        DataError: no report or no results there, broken ones, or no such arm in them.
    """
    config, card = layout.config, layout.card()
    page = layout.read(config.folder / _PAGE)
    section, run = evaluation_of(config.folder, config.arm)
    layout.write(RESULTS_FILE, layout.read(config.folder / RESULTS_FILE))
    layout.write(_PAGE, page)
    name = run.get("name") or config.folder.resolve().name
    card.data.title = f"GAtt evaluation: {name}"
    card.data.sdk, card.data.app_file, card.data.tags = "static", _PAGE, [*TAGS]
    card.text = filled("push/report.md.j2", title=card.data.title, evaluation=section)
    layout.write_card(card)


ROWS_A_FILE: Final = 10_000
_LICENSES: Final = {"chitchat": "mit"}
"""Licences of the dialogues that come with `gatt`."""
_AS_JSON: Final = 'Read it with `datasets.load_dataset("json", data_files="samples.jsonl")`.'


def lay_out_dataset(layout: Layout) -> None:
    """Fill the folder.

    Raises:
        DataError: no samples there, broken ones, or ones with an access key.
    """
    samples = layout.config.folder / "samples.jsonl"
    if not samples.is_file():
        raise DataError(f"{samples.parent}: no {samples.name}: expected a folder of `gatt synth`")
    if (path := meta_path(samples)).is_file():
        layout.read(path)
    num_rows = write_parquet(samples, layout)
    card = layout.card()
    source = samples.with_name("source.json")
    name = layout.read(source).get("source") if source.is_file() else None
    card.data.license = card.data.license or _LICENSES.get(str(name))
    card.data.task_categories = ["text-generation"]
    card.data.configs = [{"config_name": "default", "data_files": "data/train-*.parquet"}]
    body = card.text.strip() or f"# GAtt samples\n\n{num_rows} samples of `gatt synth`."
    card.text = filled(
        "push/dataset.md.j2",
        body=body.replace(_AS_JSON, "").replace("One JSON line a sample:", "One row a sample:"),
        place=layout.config.repo_id or "FOLDER",
        license=card.data.license,
    )
    layout.write_card(card)


def write_parquet(samples: Path, layout: Layout) -> int:
    """Write samples as parquet files of the same column types, and return their number.

    Rows and their order are those of the JSONL file; only their provenance loses
    local paths.

    Raises:
        DataError: broken samples, one with an access key, or values of a key that differ in type.
    """
    import pyarrow as pa
    from datasets import Dataset

    def groups() -> Iterator[list[dict[str, Any]]]:
        rows = _rows(samples, layout)
        while group := list(islice(rows, ROWS_A_FILE)):
            yield group

    folder, num_rows = layout.target / "data", 0
    folder.mkdir()
    try:
        # A key may be absent, null or empty in all rows of one file and not of another.
        schemas = [pa.schema(list(pa.array(rows).type)) for rows in groups()]
        columns = pa.struct(list(pa.unify_schemas(schemas, promote_options="permissive")))
        for number, rows in enumerate(groups()):
            table = pa.Table.from_struct_array(pa.array(rows, type=columns))
            Dataset(table).to_parquet(folder / f"train-{number:05d}.parquet")
            num_rows += len(rows)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise DataError(
            f"{samples}: its values have no common column types ({one_line(error)}): expected samples of "
            "`gatt synth`"
        ) from None
    return num_rows


def _rows(samples: Path, layout: Layout) -> Iterator[dict[str, Any]]:
    for sample in read_samples(samples):
        row = sample.as_dict()
        if (place := key_in(row)) is not None:
            raise DataError(
                f"{samples}: sample {sample.id!r}, {place}: looks like an access key or password: take the "
                "sample out, and change the key if it is one"
            )
        # Parquet knows no object without keys.
        yield row | {"provenance": public_value(row["provenance"], *layout.private) or None}


TOKEN: Final = "HF_TOKEN"
# Files of an earlier, larger push would be read as part of this one.
_STALE: Final = ("*.safetensors", "data/*.parquet")
LAYOUTS: Final[Mapping[str, tuple[str, Callable[[Layout], None]]]] = {
    "adapter": ("model", lay_out_adapter),
    "dataset": ("dataset", lay_out_dataset),
    "report": ("space", lay_out_report),
}
"""What is pushed: the hub's type of its repository, and the function that fills the folder."""


def push(config: PushConfig) -> str:
    """Lay out what is shared, and send it to the hub or keep it in a local folder; return one line on it.

    Raises:
        ConfigError: no token for the hub.
        DataError: the folder to push does not exist or is broken.
        HubError: the hub cannot be reached or refuses, or the repository is public already.
        ModelError: no adapter there.
        StoreError: the local folder exists already, or cannot be written.
    """
    if not config.folder.is_dir():
        raise DataError(f"{config.folder}: no such folder: expected one that a gatt command made")
    # Checked before the layout, which may take long.
    token = _read_token() if config.output_dir is None else ""
    repo_type, lay_out = LAYOUTS[config.what]
    with tempfile.TemporaryDirectory(prefix="gatt-push-") as scratch:
        target = config.output_dir or Path(scratch) / "repository"
        with whole_folder(target) as folder:
            lay_out(Layout(config, folder))
        sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
        place = str(target)
        if config.repo_id is not None:
            place = _upload(config, config.repo_id, target, repo_type, token)
    return (
        f"{place}: {config.what} as a {repo_type} repository, {len(sizes)} files, "
        f"{sum(sizes) / 1e6:,.1f} MB"
    )


def _read_token() -> str:
    """Return the token of the environment; one stored in a file is not read."""
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise ConfigError(
            f"environment variable {TOKEN} is not set or empty: expected a token of the hub that may write, "
            "or a local folder with output_dir"
        )
    return token


def _upload(config: PushConfig, repo_id: str, folder: Path, repo_type: str, token: str) -> str:
    """Send a folder to a repository in one commit, and return its address."""
    from httpx2 import HTTPError
    from huggingface_hub import HfApi

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=token)
    where: dict[str, Any] = {"repo_id": repo_id, "repo_type": repo_type}
    message = f"Upload {config.what} with gatt push"
    try:
        sdk = "static" if repo_type == "space" else None
        url = api.create_repo(**where, private=config.private, exist_ok=True, space_sdk=sdk)
        # `create_repo` ignores `private` for a repository that exists.
        if config.private and not api.repo_info(**where).private:
            raise HubError(
                f"{repo_id}: exists already and is public: say private=false if the world may see it"
            )
        api.upload_folder(
            **where, folder_path=folder, commit_message=message, delete_patterns=[*_STALE]
        )
    except (HTTPError, OSError, ValueError) as error:
        raise HubError(
            f"{repo_id}: the hub cannot be reached or refuses: {public(one_line(error), token)}"
        ) from None
    return str(url)
