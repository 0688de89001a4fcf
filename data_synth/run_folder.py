"""The folder of a run: file names, the card, the inputs, and foreign files that are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import StrictUndefined, Template

from data_synth.config import SynthConfig
from data_synth.filters import FILTERS_VERSION, REASONS
from data_synth.plan import sample_id
from gatt.config.load import config_dict, to_yaml
from gatt.data.catalog.switch_leakage import LEAKS_VERSION
from gatt.data.sample import GattSample, read_samples
from gatt.errors import StoreError
from gatt.generation.base import SamplingConfig
from gatt.runs.atomic_file import atomic_write_text
from gatt.runs.provenance import provenance, versions
from gatt.runs.store import RecordStore
from gatt.sources.base import SourceReport
from gatt.sources.reasons import SYSTEM_REMOVED
from gatt.verifiers import verifier_versions

SAMPLES_FILE: Final = "samples.jsonl"
CARD_FILE: Final = "README.md"
CONFIG_FILE: Final = "config.yaml"
SOURCE_FILE: Final = "source.json"


@dataclass(frozen=True)
class SynthResult:
    """What a run left behind."""

    samples: Path
    num_samples: int
    num_targets: int
    num_turns: int
    num_new: int
    """Samples made by this call; 0 if all were stored already."""

    def __str__(self) -> str:
        """Return one line, as the commands print it."""
        state = f"{self.num_new} new" if self.num_new else "all of them stood there already"
        return (
            f"{self.samples}: {self.num_samples} samples ({state}), {self.num_targets} targets for "
            f"{self.num_turns} turns; card: {self.samples.with_name(CARD_FILE)}"
        )


def fingerprinted(config: SynthConfig) -> dict[str, Any]:
    """Return what decides the samples: not the output folder, nor the limits of the machine.

    `batch_samples` counts, because samples of one batch are computed together. What
    `EngineConfig.decisive` leaves out can change the last bits of a local model's
    arithmetic, as another machine does, but never the random stream of a reply.

    Raises:
        ModelError: the teacher's adapter cannot be read.
    """
    settings = config_dict(config)
    del settings["output_dir"], settings["ray"], settings["formula_limit"]
    engine, adapter = config.teacher.engine, config.teacher.adapter
    settings["teacher"]["engine"] = config_dict(engine.decisive())
    settings["verifiers"] = verifier_versions()
    settings["filters"] = FILTERS_VERSION
    settings["leaks"] = LEAKS_VERSION
    settings["adapter_weights"] = engine.adapter_digest(adapter) if adapter else ""
    return settings


def refuse_foreign(folder: Path) -> None:
    """Refuse a new run in a folder whose files it would overwrite or leave unused.

    Raises:
        StoreError: no samples there, but a file that a run writes beside them.
    """
    if (folder / SAMPLES_FILE).exists():
        return
    for name in (CARD_FILE, CONFIG_FILE, SOURCE_FILE):
        if (folder / name).exists():
            raise StoreError(
                f"{folder / name}: exists without samples beside it, expected an empty folder, since "
                "a run writes files of this name: choose another output_dir"
            )


def made_with(
    model: str, adapter: Path | str | None, sampling: SamplingConfig, seed: int
) -> dict[str, Any]:
    """Return the provenance of samples: what gave their replies."""
    return {
        "teacher": model,
        "adapter": str(adapter or ""),
        "sampling": config_dict(sampling),
        "seed": seed,
        "versions": {name: version or "" for name, version in versions().items()},
        "commit": (provenance()["commit"] or {}).get("id", ""),
    }


def num_stored(
    store: RecordStore, num_samples: int, id_of: Callable[[int], str] = sample_id
) -> int:
    """Return the number of rows in a store, which must be the first of a plan of `num_samples`.

    Args:
        store: of samples.
        num_samples: of the plan.
        id_of: gives the id of each, from 0.

    Raises:
        StoreError: a row that is not the planned one.
    """
    number = 0
    for number, row in enumerate(store, start=1):
        expected = id_of(number - 1) if number <= num_samples else None
        if row.get("id") != expected:
            raise StoreError(
                f"{store.path}: row {number} is sample {row.get('id')!r}, expected "
                f"{repr(expected) if expected else 'no further one'}: cut the file off before that "
                "row and start again, missing samples are made anew"
            )
    return number


@dataclass
class SampleCounts:
    """Sums over samples."""

    num_samples: int = 0
    num_turns: int = 0
    num_targets: int = 0
    by_family: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    """Family and split -> their samples, turns and targets."""
    no_target: Counter[str] = field(default_factory=Counter)
    """Turns without a target, by reason."""
    refused: Counter[str] = field(default_factory=Counter)
    """Draws, by reason."""
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, sample: GattSample) -> None:
        """Count one sample."""
        self.num_samples += 1
        self.num_turns += len(sample.targets)
        self.num_targets += sample.num_targets
        group = sample.family, sample.instruction.split if sample.instruction else "none"
        counts = self.by_family.setdefault(group, Counter())
        counts.update(samples=1, turns=len(sample.targets), targets=sample.num_targets)
        for target in sample.targets:
            self.refused.update(target.refused)
            if target.reason is not None:
                self.no_target[target.reason] += 1
            else:
                self.kinds[target.kind or "sampled"] += 1

    def families(self) -> Iterator[tuple[object, ...]]:
        """Yield family, split, samples, turns, targets and the share of turns with a target."""
        for group, counts in sorted(self.by_family.items()):
            yield *group, *counts.values(), f"{counts['targets'] / counts['turns']:.0%}"

    def reasons(self) -> Iterator[tuple[object, ...]]:
        """Yield a line for every reason, also for those with a count of zero."""
        for reason, meaning in REASONS.items():
            for name in self.with_words(reason) or [reason]:
                yield name, meaning, self.refused[name], self.no_target[name]

    def with_words(self, reason: str) -> list[str]:
        """Return the forms of a reason that occurred, each with the word of the server behind it."""
        return sorted(name for name in self.refused if name.partition(":")[0] == reason)

    def most_frequent(self) -> str:
        """Return in words why most turns have no target, and how many; empty if all have one."""
        for name, num in self.no_target.most_common(1):
            meaning = REASONS.get(name.partition(":")[0], "")
            return f"{name} ({num} of {self.num_turns} turns: {meaning})"
        return ""


def write_card(config: SynthConfig, samples: Path, report: SourceReport) -> SampleCounts:
    """Write `README.md` beside the samples, Markdown with the hub's metadata head; return their counts.

    Raises:
        DataError: a row that is no sample, with file and line.
    """
    counts = SampleCounts()
    example: GattSample | None = None
    for sample in read_samples(samples):
        counts.add(sample)
        if example is None and sample.instruction and sample.num_targets:
            example = sample
    turns = zip(example.dialogue.user_turns, example.targets, strict=True) if example else ()
    said = [(user, t.reply or f"(no target: {t.reason})") for user, t in turns]
    source = files("data_synth").joinpath("card.md.j2").read_text(encoding="utf-8")
    text = Template(
        source, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    ).render(
        config=config, to_yaml=to_yaml(config), counts=counts, report=report,
        system_removed=SYSTEM_REMOVED, example=example,
        example_turns=[[" ".join(x.split()).replace("|", "\\|") for x in turn] for turn in said[:3]],
    )  # fmt: skip
    atomic_write_text(samples.with_name(CARD_FILE), text)
    return counts
