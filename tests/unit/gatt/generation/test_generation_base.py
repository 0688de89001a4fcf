"""What all engines share."""

from __future__ import annotations

from gatt.generation.base import forget


class _Keeping:
    def __init__(self) -> None:
        self.kept = ["a prefix"]

    def forget(self) -> None:
        self.kept.clear()


def test_forget_empties_an_engine_that_keeps_and_passes_one_that_does_not() -> None:
    engine = _Keeping()
    forget(engine)  # type: ignore[arg-type]
    assert engine.kept == []
    forget(object())  # type: ignore[arg-type]
