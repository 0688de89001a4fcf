"""Give samples a history that keeps the instruction in one half only, for `history: reference`.

    python scripts/research/evidence/switched_history.py SAMPLES OUTPUT first    # or: last

In the first (or last) half of the turns the replies of the history become the targets, where there are any.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from gatt.data.dialogue import Dialogue, Message
from gatt.data.sample import GattSample, read_samples


def switched(sample: GattSample, half: str) -> GattSample:
    """Return a sample whose history keeps the instruction in one half of its turns."""
    num = len(sample.targets)
    kept = range(1, num // 2 + 1) if half == "first" else range(num // 2 + 1, num + 1)
    replies = {t.turn: t.reply for t in sample.targets if t.turn in kept and t.reply}
    messages, turn = [], 0
    for message in sample.dialogue.messages:
        turn += message.role == "user"
        is_kept = message.role == "assistant" and turn in replies
        messages.append(Message("assistant", replies[turn]) if is_kept else message)
    return replace(sample, dialogue=Dialogue(sample.dialogue.id, tuple(messages)))


def main() -> None:
    """Write the samples of a file, every second one with another history."""
    source, output, half = sys.argv[1:]
    with Path(output).open("w", encoding="utf-8") as file:
        for sample in read_samples(Path(source)):
            file.write(json.dumps(switched(sample, half).as_dict(), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
