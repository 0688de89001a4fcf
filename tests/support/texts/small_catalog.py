"""A catalogue of one family: the shipped one takes a while to read."""

from __future__ import annotations

from pathlib import Path

TEXT = """
family: hobby
about: what somebody enjoys
defaults:
  verbose: ["You enjoy {value} and bring it up in every answer."]
  terse: "Hobby: {value}."
entries:
  - id: hobby.tennis
    value: tennis
    verifiers: [{kind: terms, any_of: [tennis, racket]}]
    good: ["I love tennis."]
    bad: ["I love the sea."]
  - id: hobby.chess
    value: chess
    verifiers: [{kind: terms, any_of: [chess]}]
    good: ["I love chess."]
    bad: ["I love the sea."]
"""


def write_catalog(folder: Path) -> Path:
    """Write it into a folder of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "hobby.yaml").write_text(TEXT, encoding="utf-8")
    return folder
