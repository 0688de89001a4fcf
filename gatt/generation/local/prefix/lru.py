"""Keeps prefixes from batch to batch, and drops the least recently used ones."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence

from gatt.generation.local.prefix.cache import Prefix
from gatt.models.chat_template import shared_length

log = logging.getLogger(__name__)

Key = tuple[str | None, str]
"""Adapter and name of the group; groups without a name are not kept."""


class KeptPrefixes:
    """Prefixes of groups that later calls may continue; the least recently used are dropped first.

    Args:
        max_tokens: most tokens of all prefixes together.
    """

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._kept: OrderedDict[Key, Prefix] = OrderedDict()
        self._dropped: dict[Key, int] = {}
        """Length of each prefix that was dropped, by which a repeated encoding is noticed."""
        self._has_warned = False

    def __len__(self) -> int:
        return len(self._kept)

    def ids(self, key: Key) -> tuple[int, ...]:
        """Return the tokens of a group that are kept, perhaps none."""
        return self._kept[key].ids if key in self._kept else ()

    def take(self, key: Key, ids: Sequence[int], reach: int) -> tuple[Prefix, int]:
        """Remove and return the kept part of a prefix, and how many dropped tokens must be encoded again.

        The first time that this number is not zero, a warning is logged.

        Args:
            key: of the group.
            ids: of the whole prefix; kept tokens from the first other id on are cut off.
            reach: number of tokens that are needed now.
        """
        prefix = self._kept.pop(key, None) or Prefix()
        prefix.ids = prefix.ids[: shared_length(ids, prefix.ids)]
        num_known = self._dropped.get(key, 0)
        if num_known <= reach:
            self._dropped.pop(key, None)
        num_again = max(0, min(num_known, reach) - len(prefix))
        if num_again and not self._has_warned:
            self._has_warned = True
            log.warning(
                "dialogues are encoded again, since at most %d tokens are kept between calls: raise "
                "max_kept_tokens, or work on fewer dialogues at once",
                self.max_tokens,
            )
        return prefix, num_again

    def put(self, key: Key, prefix: Prefix) -> None:
        """Keep a prefix, and drop others to make room; a prefix that is too long is dropped itself."""
        if not key[1]:
            return
        self._kept[key] = prefix
        while sum(map(len, self._kept.values())) > self.max_tokens:
            oldest, dropped = self._kept.popitem(last=False)
            self._dropped[oldest] = len(dropped)

    def forget(self) -> None:
        """Drop everything."""
        self._kept.clear()
        self._dropped.clear()
