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
from collections.abc import Callable, Iterator
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
                messages.append(Message("user", f"What do you think of number {number} at {turn}?"))
                messages.append(
                    Message("assistant", f"It is {number * turn}, one more than before.")
                )
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


def encoded_once() -> Callable[[Any, Any], Any]:
    """Return what makes the rows of the first sample, and gives them to all others."""
    from gatt.train.data.rows import RowMaker

    make = RowMaker.__call__
    made: list[Any] = []

    def rows(maker: Any, sample: Any) -> Any:
        if not made:
            made.append(make(maker, sample))
        return made[0]

    return rows


def measure(num: int, num_proc: int, turns: int, *, once: bool) -> dict[str, float]:
    """Return what one number of samples takes."""
    from gatt.models.load import load_tokenizer
    from gatt.train.config import TrainConfig
    from gatt.train.data.kept_rows import rows_of_run
    from gatt.train.data.rows import RowMaker
    from gatt.train.run_folder import identity

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "samples.jsonl")
        write(path, num, turns)
        config = TrainConfig(
            samples=(path,),
            output_dir=Path(folder, "out"),
            pack_rows=True,
            dataset_num_proc=num_proc,
        )
        tokenizer = load_tokenizer(config.model)
        mark = identity(config, world_size=1, bf16=False, template="")
        before = anonymous()
        peaks, stop = [before], threading.Event()
        thread = threading.Thread(target=watched, args=(peaks, stop))
        thread.start()
        began = time.monotonic()
        with patch.object(RowMaker, "__call__", encoded_once()) if once else nullcontext():
            rows = rows_of_run(config, tokenizer, config.output_dir, mark, why_not_packable=None)
        seconds = time.monotonic() - began
        for row in range(0, len(rows.rows), 100):
            rows.rows[row]
        stop.set()
        thread.join()
        again = time.monotonic()
        with patch(
            "gatt.train.data.kept_rows.write_combs", side_effect=AssertionError("tokenised anew")
        ):
            kept = rows_of_run(config, tokenizer, config.output_dir, mark, why_not_packable=None)
        again = time.monotonic() - again
        assert kept.report == rows.report
        assert (
            kept.rows._fingerprint == rows.rows._fingerprint or kept.rows[:100] == rows.rows[:100]
        )
        size = (config.output_dir / "rows" / "combs.arrow").stat().st_size
    return {"before": before, "peak": peaks[0], "seconds": seconds, "file": size, "again": again}


def lines(numbers: list[int], args: argparse.Namespace) -> Iterator[str]:
    """Yield a line a number of samples."""
    for num in numbers:
        run = [
            sys.executable,
            __file__,
            "--one",
            "--num_proc",
            str(args.num_proc),
            "--turns",
            str(args.turns),
        ]
        run += ["--once"] if args.once else []
        run += [str(num)]
        found = json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout)
        more = found["peak"] - found["before"]
        mib = {name: f"{found[name] / 2**20:.0f} MiB" for name in ("before", "file")}
        yield (
            f"{num:>9} samples: {num / found['seconds']:.0f} a second, {more / 2**20:.0f} MiB more than the "
            f"{mib['before']} before, {more / num:.0f} bytes a sample; file {mib['file']}, found again in "
            f"{found['again']:.1f} s"
        )


def main() -> None:
    """Measure the numbers on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("num", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--num_proc", type=int, default=1, help="processes that tokenise")
    parser.add_argument("--turns", type=int, default=4, help="turns of each sample")
    parser.add_argument("--once", action="store_true", help="tokenise the first sample alone")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.num[0], args.num_proc, args.turns, once=args.once)))
        return
    for line in lines(args.num, args):
        print(line, flush=True)


if __name__ == "__main__":
    main()
