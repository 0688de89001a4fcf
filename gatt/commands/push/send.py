"""`gatt push`: an adapter or samples become a folder, which is sent to the hub or kept."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from gatt.commands.export.evaluation import CARD, evaluation_of
from gatt.commands.export.redaction import Private, private_in, public_value
from gatt.commands.push.config import PushConfig
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

SAMPLES: Final = "samples.jsonl"


class PushFolder:
    """A folder to fill: `target`, with what `config` pushes."""

    def __init__(self, config: PushConfig, target: Path) -> None:
        self.config = config
        self.target = target
        self.private: list[Private] = [Path.cwd(), Path.home(), config.folder.resolve()]

    def read(self, name: str) -> Any:
        """Return the text of a file, or the value of a `.json` file; empty where there is none.

        Its paths and servers are private from now on.

        Raises:
            DataError: it is broken.
        """
        path, is_json = self.config.folder / name, name.endswith(".json")
        if not path.is_file():
            return {} if is_json else ""
        try:
            value = read_json(path) if is_json else read_text(path)
        except ValueError as error:
            raise DataError(f"{path}: broken ({one_line(error)}): make it again") from None
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


def _lay_out_adapter(layout: PushFolder, card: Any) -> None:
    """Fill the folder with PEFT's two files and what the adapter was trained on and with; complete the card."""
    folder, results = layout.config.folder, layout.config.results
    base = base_model_of(folder) or ""
    settings = layout.read(SETTINGS)
    card.text = card.text.strip() or f"# Ghost Attention adapter\n\nFor `{public_name(base)}`."
    card.data.library_name, card.data.pipeline_tag = "peft", "text-generation"
    if base:
        settings["base_model_name_or_path"] = hub_id(base) or public_name(base)
        card.data.base_model = hub_id(base)
        card.data.license = card.data.license or license_of(base)
    if note := note_of(base):
        card.text += f"\n\n## Base model\n\n{note}"
    if results is not None:
        section = evaluation_of(results, adapter_digest(folder))
        before, mark, after = card.text.partition("\n## Limits")
        card.text = f"{before.rstrip()}\n\n{section}\n{mark}{after}"
    layout.write(SETTINGS, settings)
    for path in (folder / WEIGHTS, folder / MARKS, folder / VARIABLES):
        if path.is_file():
            shutil.copyfile(path, layout.target / path.name)


def _lay_out_dataset(layout: PushFolder, card: Any) -> None:
    """Fill the folder with the samples, of which only the provenance loses local paths; complete the card."""
    path = layout.config.folder / SAMPLES
    layout.read(meta_path(path).name)
    source = layout.read("source.json").get("source")
    place = layout.target / SAMPLES
    with place.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        for sample in read_samples(path):
            row = sample.as_dict()
            if (key := key_in(row)) is not None:
                raise DataError(
                    f"{path}: sample {sample.id!r}, {key}: looks like an access key or password: take the "
                    "sample out, and change the key if it is one"
                )
            row["provenance"] = public_value(row["provenance"], *layout.private)
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    card.data.license = card.data.license or ("mit" if source == "chitchat" else None)
    card.data.task_categories = ["text-generation"]
    card.data.configs = [{"config_name": "default", "data_files": SAMPLES}]
    card.text = card.text.strip() or "# GAtt samples\n\nOf `gatt synth`, one JSON line a sample."


def push(config: PushConfig) -> str:
    """Lay out what is shared, and send it to the hub or keep it in a local folder; return one line on it.

    Raises:
        ConfigError: no token for the hub.
        DataError: the folder to push does not exist, is broken, or holds an access key; or see
            `evaluation_of`.
        HubError: the hub cannot be reached or refuses, or the repository is public already.
        ModelError: no adapter there.
        StoreError: the local folder exists already, or cannot be written.
    """
    if not config.folder.is_dir():
        raise DataError(f"{config.folder}: no such folder: expected one that a gatt command made")
    # Checked before the layout, which may take long; a token that is stored in a file is not read.
    token = os.environ.get("HF_TOKEN", "").strip()
    if config.repo_id is not None and not token:
        raise ConfigError(
            "environment variable HF_TOKEN is not set or empty: expected a token of the hub that may write, "
            "or a local folder with output_dir"
        )
    is_adapter = config.what == "adapter"
    repo_type = "model" if is_adapter else "dataset"
    with tempfile.TemporaryDirectory(prefix="gatt-push-") as scratch:
        target = config.output_dir or Path(scratch) / "repository"
        with whole_folder(target) as folder:
            layout = PushFolder(config, folder)
            card: Any = read_card(layout.read(CARD))
            card.data.license = config.license or card.data.get("license")
            (_lay_out_adapter if is_adapter else _lay_out_dataset)(layout, card)
            layout.write(CARD, f"---\n{card.data.to_yaml()}\n---\n\n{card.text.strip()}\n")
        sizes = [path.stat().st_size for path in target.iterdir()]
        place = _upload(config, target, repo_type, token) if config.repo_id else target
    return (
        f"{place}: {config.what} as a {repo_type} repository, {len(sizes)} files, "
        f"{sum(sizes) / 1e6:,.1f} MB"
    )


def _upload(config: PushConfig, folder: Path, repo_type: str, token: str) -> str:
    """Send a folder to a repository in one commit, and return its address."""
    from httpx2 import HTTPError
    from huggingface_hub import HfApi

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=token)
    where: dict[str, Any] = {"repo_id": config.repo_id, "repo_type": repo_type}
    stale = ["*.safetensors", "data/*.parquet"]
    message = f"Upload {config.what} with gatt push"
    try:
        url = api.create_repo(**where, private=config.private, exist_ok=True)
        # `create_repo` ignores `private` for a repository that exists.
        if config.private and not api.repo_info(**where).private:
            raise HubError(
                f"{config.repo_id}: exists already and is public: say private=false if the world may see it"
            )
        # Files of an earlier, larger push would be read as part of this one.
        api.upload_folder(
            **where, folder_path=folder, commit_message=message, delete_patterns=stale
        )
    except (HTTPError, OSError, ValueError) as error:
        raise HubError(
            f"{config.repo_id}: the hub cannot be reached or refuses: {public(str(error), token)}"
        ) from None
    return str(url)
