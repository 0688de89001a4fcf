"""The likelihood of the replies of a dialogue."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import cross_entropy

from gatt.data.dialogue import Dialogue
from gatt.models.chat_template import Tokenizer
from gatt.models.encoded_view import encode_view


def reply_loss(
    model: Any, tokenizer: Tokenizer, dialogue: Dialogue, max_tokens: int | None = None
) -> tuple[float, int]:
    """Return the summed negative log-likelihood of a dialogue's replies, and the number of their tokens.

    Counted are replies before a further user message, with their end-of-turn tokens, that end within
    `max_tokens`.

    Args:
        model: a causal LM of transformers.
        tokenizer: with a chat template.
        dialogue: with its instruction, if any.
        max_tokens: of the model's context; None for no limit.

    Returns:
        The sum in nats and the number of tokens; (0.0, 0) without such a reply.

    Raises:
        DataError: a prompt is not the beginning of the next one.
    """
    encoded = encode_view(tokenizer, dialogue)
    spans = [s for s in encoded.reply_spans if max_tokens is None or s[1] <= max_tokens]
    places = [i for start, end in spans for i in range(start, end)]
    if not places:
        return 0.0, 0
    end = spans[-1][1]
    ids_1T = torch.tensor([encoded.input_ids[:end]], device=model.device)
    before_K = torch.tensor(places, device=model.device) - 1
    with torch.inference_mode():
        logits_KV = model(input_ids=ids_1T, logits_to_keep=before_K, use_cache=False).logits[0]
    loss = cross_entropy(logits_KV.float(), ids_1T[0, before_K + 1], reduction="sum")
    return float(loss), len(places)
