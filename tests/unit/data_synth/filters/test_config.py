"""Settings of the filters: ranges, and that each can be switched off."""

from __future__ import annotations

import pytest

from data_synth.filters.config import QualityConfig
from gatt.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeated_share": 0}, "repeated_share is 0"),
        ({"near_duplicate": 1.1}, "near_duplicate is 1.1"),
        ({"short_words": -1}, "short_words is -1"),
        ({"short_repeats": 0}, "short_repeats is 0"),
    ],
)
def test_values_out_of_range_are_refused(settings, message) -> None:
    with pytest.raises(ConfigError, match=message):
        QualityConfig(**settings)
