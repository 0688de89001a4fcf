"""An engine that answers from a function: tests, dry runs, overhead benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gatt.generation.base import Generation, GenerationRequest, SamplingParams


class ScriptedEngine:
    """Answers every request with `reply(request)`, and counts the requests."""

    def __init__(self, reply: Callable[[GenerationRequest], str]) -> None:
        self.reply = reply
        self.num_requests = 0

    def generate(
        self,
        requests: Sequence[GenerationRequest],
        params: SamplingParams,
        adapter: str | None = None,  # noqa: ARG002 - part of the protocol
    ) -> list[Generation]:
        """Return the scripted replies, cut by words where they exceed `max_new_tokens`."""
        self.num_requests += len(requests)
        answers = []
        for request in requests:
            words = self.reply(request).split(" ")
            is_cut = len(words) > params.max_new_tokens
            text = " ".join(words[: params.max_new_tokens])
            answers.append(
                Generation(
                    text, "length" if is_cut else "stop", min(len(words), params.max_new_tokens)
                )
            )
        return answers
