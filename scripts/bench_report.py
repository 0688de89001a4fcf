"""Size and speed of the report: ten thousand dialogues of twenty turns in one file.

    python scripts/bench_report.py --json results/report/results.json

Two runs are made up: `apart`, in which every dialogue is of one arm, so that no text repeats, and
`arms`, with as many replies, in which three arms answer the same users. Texts are drawn word by word from
the bigrams of the bundled human chats: they compress worse than real ones, and the JSON says by how much.
`gatt report` runs in a process of its own; the page is then opened from disk in Chromium.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmark.apart import write_report
from playwright.sync_api import Error, Page, sync_playwright
from rich.console import Console
from rich.table import Table

from eval.metrics.statistics.wilson import wilson_interval
from eval.report.data.selection import SCHEMA
from gatt.sources.chitchat import dataset_path

ARMS = ("base", "gatt", "base+reminder")
CHANCE = {"base": 0.1, "gatt": 0.8, "base+reminder": 0.85}
FAMILIES = ("language", "figure", "hobby", "persona", "business", "format")
RUNS = ("apart", "arms")
SPLITS = ("train", "heldout_value", "heldout_family")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MOST_MB, MOST_FIRST_SCREEN_MS, MOST_TRANSCRIPT_MS = 40.0, 1000.0, 300.0


class Chatter:
    """Text drawn word by word from the bigrams of human chats."""

    def __init__(self, seed: int) -> None:
        chats = json.loads(dataset_path().read_text(encoding="utf-8")).values()
        self.real = [
            m["text"] for chat in chats for run in chat["messages"] for m in run if m["text"]
        ]
        self._random = random.Random(seed)
        self._next: dict[str, list[str]] = defaultdict(list)
        self._starts = []
        for text in self.real:
            words = text.split()
            if len(words) > 1:
                self._starts.append(words[0])
                for word, after in pairwise(words):
                    self._next[word].append(after)

    def say(self, median_length: float) -> str:
        """Return a text of a log-normal length in characters, at least one word."""
        length = min(1500.0, self._random.lognormvariate(0, 0.5) * median_length)
        words = [self._random.choice(self._starts)]
        size = len(words[0])
        while size < length:
            after = self._next.get(words[-1]) or self._starts
            words.append(self._random.choice(after))
            size += 1 + len(words[-1])
        return " ".join(words)


def bits_a_character(texts: Sequence[str]) -> float:
    """Return what deflate needs for a character of the texts, joined up to four million."""
    data = "\n".join(texts)[:4_000_000]
    return 8 * len(zlib.compress(data.encode(), 9)) / len(data)


def instruction(number: int, chatter: Chatter) -> dict[str, Any]:
    """Return one of the instructions, as a sample holds it."""
    family = FAMILIES[number % len(FAMILIES)]
    rule = {"kind": "terms", "params": json.dumps({"any_of": [f"word{number}"]})}
    return {
        "id": f"{family}.value-{number}", "text": f"Always {chatter.say(60)}.", "wording": "verbose",
        "entries": [f"{family}.value-{number}"], "families": [family],
        "split": SPLITS[number % 3], "verifiers": [rule],
        "probes": [{"question": "Who are you?", "verifiers": [rule]}], "hint": "", "utterances": [],
        "prefills": [],
    }  # fmt: skip


def made_samples(
    num_dialogues: int,
    num_turns: int,
    arms_of: Sequence[tuple[str, ...]],
    chatter: Chatter,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Yield the replies of all dialogues; dialogue n has the arms of `arms_of[n % len]`."""
    draw = random.Random(f"{seed} verdicts")
    instructions = [instruction(n, chatter) for n in range(60)]
    for number in range(num_dialogues):
        given = instructions[number % len(instructions)]
        talk = [(chatter.say(60), chatter.say(60)) for _ in range(num_turns)]
        for arm in arms_of[number % len(arms_of)]:
            for turn, (user, own) in enumerate(talk, start=1):
                reply = chatter.say(150)
                status = "pass" if draw.random() < CHANCE[arm] else "fail"
                evidence = f"{given['families'][0]}, confidence {draw.random():.3f}"
                start = draw.randrange(len(reply))
                verdict = {"status": status, "evidence": evidence, "verifier": "terms", "version": 2,
                           "span": [start, min(len(reply), start + 12)]}  # fmt: skip
                yield {
                    "arm": arm, "history": "own", "dialogue": f"chat-{number:05}", "turn": turn,
                    "kind": "turn", "instruction": given, "family": given["families"][0],
                    "split": given["split"], "user": user, "reply": reply, "reference": own,
                    "finish": "stop" if draw.random() < 0.9 else "length", "status": status,
                    "verdicts": [verdict],
                }  # fmt: skip


def write_run(folder: Path, samples: Iterator[dict[str, Any]], keep: int) -> list[str]:
    """Write the files of a run and return some of its replies."""
    replies: list[str] = []
    passed: dict[tuple[str, str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    folder.mkdir()
    with (folder / "samples.jsonl").open("w", encoding="utf-8") as stream:
        for sample in samples:
            stream.write(json.dumps(sample, ensure_ascii=False) + "\n")
            for split in ("all", sample["split"]):
                for family in ("all", sample["family"]):
                    cell = passed[sample["arm"], split, family, sample["turn"]]
                    cell[0] += sample["status"] == "pass"
                    cell[1] += 1
            if len(replies) < keep:
                replies.append(sample["reply"])
    curves = []
    for (arm, split, family, turn), (good, num) in passed.items():
        low, high = wilson_interval(good, num)
        curves.append(
            {"arm": arm, "metric": "adherence", "history": "own", "split": split, "family": family,
             "turn": turn, "rate": good / num, "low": low, "high": high, "num_dialogues": num,
             "num_passed": good, "num_decided": num, "num_undecided": 0, "pessimistic": good / num,
             "optimistic": good / num, "num_instructions": 1}
        )  # fmt: skip
    results = {"schema": SCHEMA, "run": {"name": folder.name, "model": "made up"}, "curves": curves}
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    return replies


RENDER = """
import sys
from gatt.cli import main
status = main(["report", sys.argv[1]])
# The peak of this process alone: that of `getrusage` counts the parent's at the fork.
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
sys.exit(status)
"""


def render(folder: Path) -> dict[str, float]:
    """Run `gatt report` in a process of its own."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", RENDER, str(folder)], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"gatt report ended with {done.returncode}: {done.stderr}")
    return {
        "render_seconds": seconds,
        "render_peak_mib": int(done.stdout.partition("VmHWM:")[2].split()[0]) / 1024,
        "samples_mb": (folder / "samples.jsonl").stat().st_size / 1e6,
        "report_mb": (folder / "report.html").stat().st_size / 1e6,
    }


FIRST_FRAME = """
const look = () => {
  const chart = document.querySelector(".hero .chart.wide svg");
  if (chart && chart.getBoundingClientRect().height > 0) {
    // The second frame begins when the first is painted.
    requestAnimationFrame(() => requestAnimationFrame(() => { window.firstScreen = performance.now(); }));
  } else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
OPEN = """async (id) => {
  const start = performance.now();
  location.hash = id;
  const done = () => {
    const body = document.getElementById(id)?.querySelector(".body");
    return body && !body.hasAttribute("aria-busy") && body.querySelector(".reply");
  };
  while (!done()) {
    if (performance.now() - start > 60000) throw new Error(`${id} does not open`);
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return performance.now() - start;
}"""
FILTER = """async ([name, value]) => {
  const start = performance.now();
  const old = location.hash;
  const field = document.querySelector(`#filters [name=${name}]`);
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  // The address follows when the list stands.
  while (location.hash === old) {
    if (performance.now() - start > 120000) throw new Error(`${name}: ${value} changes nothing`);
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return performance.now() - start;
}"""


def opened(page: Page, path: Path) -> dict[str, float]:
    """Open the page; milliseconds from the start of the navigation."""
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    page.wait_for_load_state("load")
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    return {
        "first_paint_ms": page.evaluate(paint),
        "first_screen_ms": max(page.evaluate("window.firstScreen"), page.evaluate(paint)),
        "load_ms": page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"),
    }


def read(path: Path, num_opens: int, num_transcripts: int, seed: int) -> dict[str, Any]:
    """Return how long a reader waits, in a fresh browser context each time the page is opened."""
    browser_path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=browser_path)
        except Error as error:
            raise SystemExit(f"no browser starts: {str(error).splitlines()[0]}") from None
        times: dict[str, list[float]] = defaultdict(list)
        for number in range(num_opens):
            context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
            page = context.new_page()
            page.add_init_script(FIRST_FRAME)
            for key, value in opened(page, path).items():
                times[key].append(value)
            if number < num_opens - 1:
                context.close()
        ids = page.evaluate("all.map((transcript) => transcript.id)")
        chosen = random.Random(seed).sample(ids, num_transcripts)
        alone = [page.evaluate(OPEN, name) for name in chosen]
        families = page.evaluate("[...new Set(all.map((transcript) => transcript.family))]")
        filters = [page.evaluate(FILTER, ["family", name]) for name in families]
        page.evaluate(FILTER, ["family", ""])
        search = page.evaluate(FILTER, ["text", "mountain"])
        found = {
            "browser": browser.version,
            "num_transcripts": len(ids),
            "num_chunks": page.locator("[id^=chunk-]").count(),
            **{key: summary(values) for key, values in times.items()},
            "transcript_ms": summary(alone),
            "filter_ms": summary(filters),
            "search_all_ms": search,
        }
        browser.close()
    return found


def summary(values: Sequence[float]) -> dict[str, float]:
    """Return median and worst of some times."""
    return {"median": statistics.median(values), "worst": max(values), "num": len(values)}


def measure(name: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Make one run, render it and read it."""
    chatter = Chatter(args.seed)
    arms_of: Sequence[tuple[str, ...]] = [(arm,) for arm in ARMS] if name == "apart" else [ARMS]
    num_dialogues = args.dialogues if name == "apart" else -(-args.dialogues // len(ARMS))
    samples = made_samples(num_dialogues, args.turns, arms_of, chatter, args.seed)
    replies = write_run(folder / name, samples, keep=50_000)
    real = [text for text in chatter.real if len(text) > 20]
    random.Random(args.seed).shuffle(real)
    return {
        "name": name,
        "num_dialogues": num_dialogues,
        "num_replies": num_dialogues * args.turns * len(arms_of[0]),
        "mean_reply_characters": statistics.mean(map(len, replies)),
        "deflate_bits_a_character": bits_a_character(replies),
        "deflate_bits_a_character_of_human_chats": bits_a_character(real),
        **render(folder / name),
        **read(folder / name / "report.html", args.opens, args.transcripts, args.seed),
    }


def main() -> None:
    """Measure both runs, print them and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dialogues", type=int, default=10_000, help="(default: 10000)")
    parser.add_argument("--turns", type=int, default=20, help="of a dialogue (default: 20)")
    parser.add_argument("--opens", type=int, default=5, help="of the page (default: 5)")
    parser.add_argument("--transcripts", type=int, default=100, help="to open (default: 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=RUNS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-report-") as name:
        rows = [measure(kind, Path(name), args) for kind in args.runs]
    table = Table("run", "replies", "MB", "first screen", "transcript", "render", "peak", "holds")
    for row in rows:
        row["holds"] = (
            row["report_mb"] <= MOST_MB
            and row["first_screen_ms"]["worst"] < MOST_FIRST_SCREEN_MS
            and row["transcript_ms"]["worst"] < MOST_TRANSCRIPT_MS
        )
        table.add_row(
            row["name"], f"{row['num_replies']:,}", f"{row['report_mb']:.1f}",
            f"{row['first_screen_ms']['worst']:.0f} ms", f"{row['transcript_ms']['worst']:.0f} ms",
            f"{row['render_seconds']:.0f} s", f"{row['render_peak_mib']:.0f} MiB", str(row["holds"]),
        )  # fmt: skip
    Console().print(table)
    limits = {"report_mb": MOST_MB, "first_screen_ms": MOST_FIRST_SCREEN_MS,
              "transcript_ms": MOST_TRANSCRIPT_MS}  # fmt: skip
    write_report(args, {"rows": rows, "limits": limits, "playwright": version("playwright")})


if __name__ == "__main__":
    main()
