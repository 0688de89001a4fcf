"""Counts targets of a data set that another sample has too, in bounded memory."""

from __future__ import annotations

import hashlib

from gatt.data.sample import GattSample
from gatt.verifiers.text.words import words

NUM_BITS = 1 << 26
"""8 MiB. With a million different targets, 1 in 90,000 counts as a repeat by mistake."""
NUM_PROBES = 4
_PROBE_BYTES = 4


class RepeatCounter:
    """Counts targets that an earlier sample under the same instruction already has.

    Equal targets have the same words in the same order; case and punctuation do not
    count. A Bloom filter stores the earlier ones, so that memory does not grow with the
    number of samples.
    """

    def __init__(self) -> None:
        self.num_targets = 0
        self.num_repeats = 0
        self._bits = bytearray(NUM_BITS // 8)

    @property
    def share(self) -> float:
        """Share of targets that are repeats; 0 without targets."""
        return self.num_repeats / self.num_targets if self.num_targets else 0.0

    def add(self, sample: GattSample) -> None:
        """Count the targets of one sample; a repetition within the sample counts once."""
        texts = []
        for target in sample.targets:
            if target.reply is not None:
                held = sample.instruction_at(target.turn)
                said = " ".join(words(target.reply.casefold()))
                texts.append(f"{held.id if held else ''}\x1f{said}")
        self.num_targets += len(texts)
        places = [_places(text) for text in dict.fromkeys(texts)]
        self.num_repeats += sum(all(self._has(p) for p in some) for some in places)
        for place in (p for some in places for p in some):
            self._bits[place >> 3] |= 1 << (place & 7)

    def _has(self, place: int) -> bool:
        return bool(self._bits[place >> 3] & (1 << (place & 7)))


def _places(text: str) -> list[int]:
    digest = hashlib.blake2b(text.encode(), digest_size=NUM_PROBES * _PROBE_BYTES).digest()
    return [
        int.from_bytes(digest[start : start + _PROBE_BYTES], "big") % NUM_BITS
        for start in range(0, len(digest), _PROBE_BYTES)
    ]
