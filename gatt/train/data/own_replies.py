"""Which tokens of a trunk are the dialogue's own replies, for the controls that learn them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gatt.comb.comb import IGNORE
from gatt.data.dialogue import Dialogue
from gatt.data.sample import GattSample
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer
from gatt.models.encoded_view import Prompt, encode_prompt, reply_span


class OwnReplies:
    """Labels the own replies of a sample in its trunks, each in the first that holds it."""

    def __init__(self, tokenizer: Tokenizer, sample: GattSample) -> None:
        """Name the sample; nothing is rendered yet.

        Args:
            tokenizer: with a chat template.
            sample: as it is trained on.
        """
        self._tokenizer = tokenizer
        self._sample = sample
        self._labelled: set[int] = set()
        self._problems: dict[int, str] = {}

    def labels(
        self, view: Dialogue, turns: Sequence[int], trunk: Prompt, known: Mapping[int, Prompt]
    ) -> tuple[int, ...]:
        """Return the labels of a trunk: those of its replies that no trunk before has had.

        Args:
            view: whose last prompt, of the last of `turns`, is the trunk.
            turns: of the sample's dialogue, as they stand in the view.
            trunk: its ids are labelled.
            known: prompts that are encoded already, by turn.
        """
        labels = [IGNORE] * len(trunk.ids)
        for index, turn in enumerate(turns[:-1], start=1):
            if turn in self._labelled:
                continue
            where = f"dialogue {view.id!r}, turn {turn}"
            reply = self._sample.dialogue.replies[turn - 1]
            try:
                prompt = known.get(turn) or encode_prompt(self._tokenizer, view, index)
                start, end = reply_span(self._tokenizer, prompt, trunk, where, reply)
            except (DataError, TemplateError) as error:
                self._problems[turn] = str(error)
                continue
            labels[start:end] = trunk.ids[start:end]
            self._labelled.add(turn)
        return tuple(labels)

    def left_out(self, last: int, max_length: int | None) -> list[str]:
        """Return why own replies before a turn stand in no trunk with labels, one line each.

        Args:
            last: the last turn with a target: what stands behind it is never learned.
            max_length: of the length policy.
        """
        behind = (
            f"sample {self._sample.id!r}: an own reply behind the last prompt that max_length "
            f"{max_length} leaves room for, at turn {{}}: raise it, or use layout 'expanded'"
        )
        return [
            self._problems.get(turn) or behind.format(turn)
            for turn in range(1, last)
            if turn not in self._labelled
        ]
