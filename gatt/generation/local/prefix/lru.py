"""Prefixes that are kept from batch to batch, and what had to be dropped of them."""

from __future__ import annotations

import logging
from array import array
from collections import OrderedDict
from collections.abc import Sequence

from gatt.generation.local.prefix.cache import Prefix
from gatt.models.chat_template import shared_length

log = logging.getLogger(__name__)

Key = tuple[str | None, str]
"""Adapter and group; a group without a name is never kept."""
MOST_REMEMBERED = 4_000_000
"""Ids of dropped prefixes, of 4 bytes each, by which a prefix that comes back is known."""


class KeptPrefixes:
    """Prefixes of groups that may come back; those not used for longest are dropped first.

    Args:
        max_tokens: most tokens of all that are kept.
    """

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self.num_remembered = 0
        """Ids of dropped prefixes that are held."""
        self._kept: OrderedDict[Key, Prefix] = OrderedDict()
        self._dropped: OrderedDict[Key, array[int]] = OrderedDict()
        self._has_warned = False

    def __len__(self) -> int:
        return len(self._kept)

    def ids(self, key: Key) -> tuple[int, ...]:
        """Return the tokens that are kept of a group, maybe none."""
        return self._kept[key].ids if key in self._kept else ()

    def take(self, key: Key, ids: Sequence[int], reach: int) -> tuple[Prefix, int]:
        """Return what is kept of a prefix, no longer held here, and how much is encoded again.

        The count is of tokens that had been kept and were dropped. It warns when it
        is not zero for the first time: a group that never comes back costs nothing.

        Args:
            key: of the group.
            ids: of the whole prefix; what is kept and differs is cut off.
            reach: how much of it is wanted now.
        """
        prefix = self._kept.pop(key, None)
        if prefix is None:
            prefix = Prefix()
        prefix.cut(shared_length(ids, prefix.ids))
        num_known = shared_length(ids, self._dropped.get(key, ()))
        if num_known <= reach:
            self.num_remembered -= len(self._dropped.pop(key, ()))
        num_again = max(0, min(num_known, reach) - len(prefix))
        if num_again and not self._has_warned:
            self._has_warned = True
            log.warning(
                "dialogues are encoded again, since no more than %d tokens are kept between calls: "
                "raise max_kept_tokens, or work on fewer dialogues at once",
                self.max_tokens,
            )
        return prefix, num_again

    def put(self, key: Key, prefix: Prefix) -> None:
        """Keep a prefix, at the cost of others; one that is too long by itself is dropped."""
        if not key[1]:
            return
        self._kept[key] = prefix
        while sum(map(len, self._kept.values())) > self.max_tokens:
            oldest, dropped = self._kept.popitem(last=False)
            self._remember(oldest, dropped.ids)

    def forget(self) -> None:
        """Drop everything."""
        self._kept.clear()
        self._dropped.clear()
        self.num_remembered = 0

    def _remember(self, key: Key, ids: Sequence[int]) -> None:
        """Note what was dropped; groups that do not come back make room for it."""
        self.num_remembered += len(ids) - len(self._dropped.pop(key, ()))
        self._dropped[key] = array("I", ids)
        while self.num_remembered > MOST_REMEMBERED:
            self.num_remembered -= len(self._dropped.popitem(last=False)[1])
