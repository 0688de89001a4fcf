"""How much memory the rows of a training run take, by the number of samples.

    python scripts/checks/rows_memory.py [NUM…] [--turns TURNS] [--once]

Samples are generated, read, tokenised with the embedded model's tokenizer, written and packed as
`gatt train` does it, each number in a process of its own. Printed are the samples a second, and the most
memory of the process that is no file's: what it is without samples, and the rest by sample. Then the same
rows are asked for again, as a resumed run does, which must not tokenise anew.
With `--once` the tokens of the first sample stand for those of all: a million then takes minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch


def write(path: Path, num: int, turns: int) -> None:
    """Write so many samples that differ."""
    from gatt.data.dialogue import Dialogue, Message
    from gatt.data.sample import GattSample, TurnTarget

    with path.open("w", encoding="utf-8") as stream:
        for number in range(num):
            messages: list[Message] = []
            for turn in range(turns):
                said = f"It is {number * turn}, one more than before."
                messages.append(Message("user", f"What do you think of number {number} at {turn}?"))
                messages.append(Message("assistant", said))
            targets = tuple(
                TurnTarget(t, f"Reply {t} to number {number}.") for t in range(1, turns + 1)
            )
            sample = GattSample(
                f"s{number}", Dialogue(f"d{number}", tuple(messages[:-1])), None, targets
            )
            stream.write(json.dumps(sample.as_dict()) + "\n")


def anonymous() -> int:
    """Return the bytes of this process that are no file's."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))


def watched(peaks: list[int], stop: threading.Event) -> None:
    """Keep the most memory seen until it is told to stop."""
    while not stop.wait(0.02):
        peaks[0] = max(peaks[0], anonymous())


def encoded_once() -> Callable[..., Any]:
    """Return what encodes the first sample, and gives its tokens to all others."""
    from gatt.train.data.encode import encode_sample

    made: list[Any] = []

    def encode(*args: Any) -> Any:
        if not made:
            made.append(encode_sample(*args))
        return made[0]

    return encode


def measure(num: int, turns: int, *, once: bool) -> str:
    """Return a line on what one number of samples takes."""
    from gatt.models.load import load_tokenizer
    from gatt.train.config import TrainConfig
    from gatt.train.data.rows import rows_of_run
    from gatt.train.run_folder import identity

    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "samples.jsonl"), Path(folder, "out")
        write(path, num, turns)
        config = TrainConfig(samples=(path,), output_dir=out, pack_rows=True)
        tokenizer = load_tokenizer(config.model)
        mark = identity(config, world_size=1, bf16=False, template="")
        before = anonymous()
        peaks, stop = [before], threading.Event()
        thread = threading.Thread(target=watched, args=(peaks, stop))
        thread.start()
        began = time.monotonic()
        with (
            patch("gatt.train.data.encode.encode_sample", encoded_once()) if once else nullcontext()
        ):
            rows = rows_of_run(config, tokenizer, out, mark, why_not_packable=None).rows
        seconds = time.monotonic() - began
        for row in range(0, len(rows), 100):
            rows[row]
        stop.set()
        thread.join()
        tokenised_anew = AssertionError("tokenised anew")
        with patch("gatt.train.data.rows.write_combs", side_effect=tokenised_anew):
            rows_of_run(config, tokenizer, out, mark, why_not_packable=None)
        size = (out / "rows" / "combs.arrow").stat().st_size
    more = peaks[0] - before
    return (
        f"{num:>9} samples: {num / seconds:.0f} a second, {more / 2**20:.0f} MiB more than the "
        f"{before / 2**20:.0f} MiB before, {more / num:.0f} bytes a sample; file {size / 2**20:.0f} MiB"
    )


def main() -> None:
    """Measure the numbers on the command line, each in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("num", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--turns", type=int, default=4, help="turns of each sample")
    parser.add_argument("--once", action="store_true", help="tokenise the first sample alone")
    args = parser.parse_args()
    if len(args.num) == 1:
        print(measure(args.num[0], args.turns, once=args.once), flush=True)
        return
    for num in args.num:
        words = [str(num), f"--turns={args.turns}", *(["--once"] if args.once else [])]
        subprocess.run([sys.executable, __file__, *words], check=True)


if __name__ == "__main__":
    main()
