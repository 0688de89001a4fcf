"""A base model's name on the hub and its licence, for the cards of adapters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from gatt.models.packaged import PACKAGED

if TYPE_CHECKING:
    from huggingface_hub import ModelCard

_HUB_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")


def hub_id(model: str) -> str | None:
    """Return a base model's id on the hub, given the adapter's or the user's name of it; None for a folder."""
    if model in PACKAGED:
        return PACKAGED[model].hub_id
    is_id = _HUB_ID.fullmatch(model) and not model.startswith(".") and not Path(model).exists()
    return model if is_id else None


def public_name(model: str) -> str:
    """Return the name of a base model for a card: of a folder, its last part alone."""
    return model if hub_id(model) else Path(model).name


def note_of(model: str) -> str | None:
    """Return the sentence of a card on a packaged base model; None for other models."""
    return PACKAGED[model].note if model in PACKAGED else None


def license_of(model: str) -> str | None:
    """Return the licence of a packaged model, or that of the card in a model's folder; else None."""
    if model in PACKAGED:
        return PACKAGED[model].license
    card = Path(model).expanduser() / "README.md"
    if not card.is_file():
        return None
    licence = read_card(card.read_text(encoding="utf-8", errors="replace")).data.get("license")
    return licence if isinstance(licence, str) else None


def read_card(text: str) -> ModelCard:
    """Return a model card; metadata that cannot be read are left out."""
    from huggingface_hub import ModelCard

    body = text.partition("\n---\n")[2] if text.startswith("---\n") else text
    try:
        return ModelCard(text if body is not text else _no_head(text), ignore_metadata_errors=True)
    except (ValueError, TypeError, RecursionError, yaml.YAMLError):
        return ModelCard(_no_head(body))


def _no_head(body: str) -> str:
    return f"---\n{{}}\n---\n{body}"
