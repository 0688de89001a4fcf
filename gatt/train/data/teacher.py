"""What the teacher of `distil` reads: the sampling view, in front of the replies that are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatt.comb.comb import IGNORE, Branch, Comb
from gatt.data.dialogue import Dialogue
from gatt.data.sample import GattSample
from gatt.data.switches import texts_in_force
from gatt.data.views import latest_exchanges, prompt_of_turn, view_by_turn, with_brief
from gatt.errors import DataError
from gatt.models.chat_template import Tokenizer
from gatt.models.encoded_view import Prompt, encode_prompt, encode_reply
from gatt.train.config import DistilSettings


@dataclass(frozen=True)
class Teacher:
    """How a teacher reads a sample."""

    sample: GattSample
    settings: DistilSettings

    def view(self, turns: Sequence[int]) -> Dialogue:
        """Return the sampling view of some turns (from 1, ascending), up to what answers the last of them.

        With `context_turns` only the latest exchanges are left, as `gatt synth` cuts them.
        """
        sample, most = self.sample, self.settings.context_turns
        first = sample.instruction.text if sample.instruction else None
        texts = texts_in_force(first, sample.switches or (), sample.dialogue.num_turns)
        view = view_by_turn(
            sample.dialogue.only_turns(turns),
            [with_brief(texts[turn - 1], self.settings.brief) for turn in turns],
        )
        if most is None:
            return view
        expect = sample.dialogue.expectations[turns[-1] - 1]
        return Dialogue(view.id, latest_exchanges(prompt_of_turn(view, len(turns)), most, expect))

    def prompt(
        self, tokenizer: Tokenizer, turns: Sequence[int], reply: str, ids: tuple[int, ...]
    ) -> Prompt:
        """Return the prompt of the last of some turns.

        `turns` are those that the student reads, `reply` is the target of the last one, and `ids` its tokens
        behind the student's prompt.

        Raises:
            DataError: the tokens of the reply are others behind this prompt, or it cannot be encoded.
            TemplateError: the template refuses the messages.
        """
        view = self.view(turns)
        turn = view.num_turns
        prompt = encode_prompt(tokenizer, view, turn)
        if encode_reply(tokenizer, view, turn, prompt.ids, reply) != ids:
            raise DataError(
                f"dialogue {view.id!r}, turn {turns[-1]}: the target has other tokens behind the sampling "
                "view than behind the training view: expected a chat template that writes it alike"
            )
        return prompt


def teacher_combs(
    forks: Sequence[tuple[Prompt, tuple[int, ...]]], objective: str
) -> tuple[Comb, ...]:
    """Return combs of prompts with their replies, in this order: one, as long as each begins the next."""
    runs: list[list[tuple[Prompt, tuple[int, ...]]]] = []
    for prompt, ids in forks:
        before = runs[-1][-1][0].ids if runs else ()
        if not before or prompt.ids[: len(before)] != before:
            runs.append([])
        runs[-1].append((prompt, ids))
    return tuple(
        Comb(
            run[-1][0].ids,
            (IGNORE,) * len(run[-1][0].ids),
            tuple(Branch(len(prompt.ids), ids, ids, objective) for prompt, ids in run),
            objective,
        )
        for run in runs
    )
