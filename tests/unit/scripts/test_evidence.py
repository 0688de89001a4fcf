"""`scripts/evidence.sh` with a stand-in for the command: what a stage asks for and what it publishes."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from data_synth.splice.config import SpliceConfig
from eval.config import EvalConfig
from eval.studies.attention.config import AttendConfig
from eval.studies.perplexity import PerplexityConfig
from gatt.config.load import load_config
from gatt.data.sample import GattSample, TargetKind, TurnTarget
from gatt.train.config import TrainConfig
from gatt.train.data.samples import read_all_samples
from tests.support.models.tiny import sample, write_samples
from tests.support.texts.doc_pages import ROOT

T = TypeVar("T")

STAND_IN = """#!/usr/bin/env bash
[[ $1 != - ]] || exit 0
[[ $1 != *.py ]] || exec "$REAL_PYTHON" "$@"
echo "${@:3}" >>"$RECORD"
for word in "$@"; do
  [[ $word != --output=* ]] || { mkdir -p "$(dirname "${word#*=}")" && touch "${word#*=}"; }
  [[ $word == --output_dir=* ]] || continue
  mkdir -p "${word#*=}"
  [[ $3 != eval ]] || touch "${word#*=}"/{results.json,report.html,samples.jsonl}
  [[ $3 != attend ]] || touch "${word#*=}"/attention.{json,html}
  [[ $3 != train ]] || { mkdir -p "${word#*=}"/adapter && touch "${word#*=}"/adapter/README.md; }
done
[[ $3 != attend ]] || touch runs/evidence/ordinary/attention{.json,.html,.png,-turns.png}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a copy of the script with a finished evaluation where it looks for it."""
    (tmp_path / "scripts").mkdir()
    for name in ("evidence.sh", "evidence_parts.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    ordinary = tmp_path / "runs" / "evidence" / "ordinary"
    ordinary.mkdir(parents=True)
    for name in ("results.json", "report.html", "rollouts.jsonl", "attention.json"):
        (ordinary / name).touch()
    stand_in = tmp_path / "python"
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    return tmp_path


def follow(root: Path, stage: str) -> tuple[str, list[list[str]]]:
    """Return what the script says to a stage, and the commands that it has run so far."""
    record = root / "record"
    pythons = {"PYTHON": str(root / "python"), "REAL_PYTHON": sys.executable}
    env = {**os.environ, **pythons, "RECORD": str(record)}
    done = subprocess.run(
        [str(root / "scripts" / "evidence.sh"), stage],
        env=env, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return done.stdout, [line.split() for line in lines]


SETS = ("figure", "hobby", "language", "behaviour", "persona", "plain", "combined", "questions")
AIDED: dict[str, tuple[TargetKind, ...]] = {
    "behaviour": ("composed", "composed"),
    "hobby": ("sampled", "hinted"),
}
"""Kinds of the targets of those sets whose targets are not all first draws."""


def of_entry(row: GattSample, entry: str) -> GattSample:
    """Return the sample as of another entry of the catalogue."""
    assert row.instruction is not None
    return replace(row, instruction=replace(row.instruction, entries=(entry,)))


def write_sets(made: Path, num: int = 8, of: str = "") -> None:
    """Write so many samples of every set, as every run of `gatt synth` counts them."""
    for name in SETS:
        (made / name).mkdir(parents=True)
        rows = [replace(sample(n, 2), id=f"s{n:06d}") for n in range(num)]
        rows = [replace(row, dialogue=replace(row.dialogue, id=of + name)) for row in rows]
        if name == "combined":
            silent = tuple(TurnTarget(turn, None, "rejected") for turn in (1, 2))
            rows[0] = replace(rows[0], targets=silent)
        if name in ("plain", "questions"):
            rows = [replace(row, instruction=None) for row in rows]
        else:
            rows = [of_entry(row, f"language.{name}_{n % 5}") for n, row in enumerate(rows)]
        if name in AIDED:
            rows = [
                replace(
                    row,
                    targets=tuple(
                        replace(t, kind=kind)
                        for t, kind in zip(row.targets, AIDED[name], strict=True)
                    ),
                )
                for row in rows
            ]
        write_samples(made / name / "samples.jsonl", rows)


def trained(commands: Iterable[list[str]]) -> dict[Path, TrainConfig]:
    """Return the configurations of all trainings, by output folder."""
    found = {}
    for words in (words for words in commands if words[0] == "train"):
        keys = [word for word in words[3:] if word.startswith("--")]
        config = load_config(TrainConfig, ROOT / words[2], keys)
        found[config.output_dir] = config
    return found


def configured(commands: Iterable[list[str]], command: str, schema: type[T]) -> list[T]:
    """Return the configurations of all calls of a command; lists were taken apart at their blanks."""
    found = []
    for words in (words for words in commands if words[0] == command):
        assert words[1] == "--config"
        keys = " ".join(words[3:]).replace("--", "\n--").strip().split("\n")
        found.append(load_config(schema, ROOT / words[2], [key.strip() for key in keys]))
    return found


def evaluated(commands: Iterable[list[str]]) -> list[EvalConfig]:
    """Return the configurations of all evaluations."""
    return configured(commands, "eval", EvalConfig)


def perplexities(commands: Iterable[list[str]]) -> list[PerplexityConfig]:
    """Return the configurations of all perplexities."""
    return configured(commands, "perplexity", PerplexityConfig)


def metrics(commands: Iterable[list[str]]) -> dict[str, str]:
    """Return the metric of each picture, by the folder that it is published in."""
    reports = (words for words in commands if words[0] == "report")
    return {Path(words[5]).parent.name: words[3] for words in reports}


def test_what_is_left_for_a_gpu_is_evaluated_and_published(root: Path) -> None:
    write_sets(root / "runs" / "evidence" / "data")
    _, commands = follow(root, "gpu")
    arms = {config.output_dir.name: config.arms for config in evaluated(commands)}
    assert arms == {
        "gpu": ("main_0", "main_1", "main_2", "rank_4", "rank_64"),
        "gpu_terse": ("terse_0", "terse_0.5"),
        "gpu_samples": ("drawn_320", "drawn_1600", "drawn_6400"),
    }
    made = {path.name: config for path, config in trained(commands).items()}
    assert {made[f"main_{seed}"].seed for seed in range(3)} == {0, 1, 2}
    for name in arms["gpu"]:
        assert (made[name].max_steps, made[name].max_turns) == (-1, None)
    # In as many steps, and all of the most samples are seen.
    assert {made[name].max_steps for name in arms["gpu_samples"]} == {6400}
    assert metrics(commands) == dict.fromkeys(arms, "adherence")


def test_ablations_take_their_parts_with_the_ids_of_the_whole(root: Path) -> None:
    made = root / "runs" / "evidence" / "data"
    write_sets(made, 32)
    _, commands = follow(root, "ablations")
    configs = {config.output_dir.name: config for config in trained(commands).values()}
    whole = {s.id: s for s in read_all_samples([made / n / "samples.jsonl" for n in SETS])}
    assert len(whole) == 256
    # Half of those with an instruction, but for one without a target.
    assert configs["told"].max_steps == 95
    parts = {}
    for name in ("told", "plain_15", "samples_50", "samples_200"):
        (path,) = configs.pop(name).samples
        parts[name] = {s.id: s for s in read_all_samples([root / path])}
        assert parts[name].items() <= whole.items()
    assert parts["told"] == {i: s for i, s in whole.items() if s.instruction}
    assert parts["told"].items() <= parts["plain_15"].items()
    assert (len(parts["told"]), len(parts["plain_15"])) == (192, 226)  # 34 of 64 plain ones
    for num in (50, 200):
        of_set = Counter(s.dialogue.id for s in parts[f"samples_{num}"].values())
        assert of_set.total() == num
        assert of_set.keys() == set(SETS)
        assert max(of_set.values()) - min(of_set.values()) <= 1
    unaided, as_many = (
        {s.id: s for f in configs.pop(name).samples for s in read_all_samples([root / f])}
        for name in ("unaided", "as_many")
    )
    told = {i for i, s in whole.items() if s.instruction}
    of_kind = {i: [t for t in whole[i].targets if t.kind == "sampled"] for i in told}
    assert unaided.keys() == as_many.keys()
    assert {i for i in unaided if i in told} == {i for i, found in of_kind.items() if found} < told
    for name, sample_ in unaided.items():
        taught = [t for t in sample_.targets if t.reply]
        assert taught == (of_kind[name] if name in told else [*whole[name].targets])
        assert as_many[name].num_targets == len(taught)
    kinds = [
        Counter(t.kind for s in part.values() for t in s.targets) for part in (unaided, as_many)
    ]
    assert kinds[0].keys() == {"sampled", None}
    assert 0 < kinds[1]["hinted"] < 32 == kinds[1][None], "one of two, drawn"
    # In the share of the whole, a quarter.
    assert len([i for i in unaided if i not in told]) == round(len(told & unaided.keys()) / 3)
    # All others take what the main adapter took; half of the 256, one of them without a target.
    assert {tuple(c.samples) for c in configs.values()} == {configs["recipe"].samples}
    assert {config.max_steps for config in configs.values()} == {127}
    # Each differs from the recipe in what it is named for, and some from `reference`.
    keys = (
        "history",
        "supervise",
        "placement",
        "max_length",
        "plain_loss",
        "learning_rate",
        "seed",
    )

    def changes(name: str, other: str = "recipe") -> dict[str, object]:
        one, two = configs[name], configs[other]
        return {k: getattr(one, k) for k in keys if getattr(one, k) != getattr(two, k)}

    assert {name: changes(name) for name in configs} == {
        "recipe": {},
        "reference": {"history": "reference"},
        "sampled": {"history": "sampled"},
        "all_turns": {"history": "reference", "supervise": "all_turns"},
        "context_only": {"history": "reference", "supervise": "context_only"},
        "every_turn": {"placement": "every_turn", "max_length": 4096},
        "plain_targets": {"plain_loss": "targets"},
        "rate_5e-4": {"learning_rate": 5e-4},
        "seed_1": {"seed": 1},
    }
    assert metrics(commands) == {
        "ablations_plain": "false_trigger",
        **dict.fromkeys(
            (
                "ablations",
                "ablations_history",
                "ablations_targets",
                "ablations_own",
                "ablations_first_user",
            ),
            "adherence",
        ),
    }
    assert (root / "results" / "ablations_history" / "results.json").is_file()
    first, of_history, of_targets, own, first_user, plain = evaluated(commands)
    assert (first.compared_with, of_history.compared_with) == ("recipe", "reference")
    assert set(first.arms) == {*configs, *parts}
    assert of_targets.arms == ("recipe", "unaided", "as_many")
    assert (root / "results" / "ablations" / "samples.jsonl.xz").is_file()
    assert (first.histories, own.histories) == (("reference",), ("own",))
    assert (first_user.placement, first_user.arms) == ("first_user", ("recipe", "every_turn"))
    assert (plain.num_dialogues, plain.num_plain) == (0, 40)
    trained_here = {str(c.output_dir / "adapter") for c in trained(commands).values()}
    assert {str(p) for c in (first, of_targets, plain) for p in c.adapters.values()} == trained_here
    (perplexity,) = perplexities(commands)
    assert {str(p) for p in perplexity.adapters.values()} < trained_here
    assert perplexity.part == "validation"


def test_how_many_samples_is_asked_in_as_many_steps(root: Path) -> None:
    for folder, num in (("data", 43), ("more", 57)):
        write_sets(root / "runs" / "evidence" / folder, num, f"{folder} ")
    _, commands = follow(root, "samples")
    configs = {config.output_dir.name: config for config in trained(commands).values()}
    of_entries = {name: configs.pop(name) for name in ("few_entries", "many_entries")}
    # In both folders a sample of `combined` has no target.
    assert {name: config.max_steps for name, config in configs.items()} == dict.fromkeys(
        ("of_800", "of_200", "of_50"), 8 * 100 - 2
    )
    whole = {s.id: s for s in read_all_samples([root / f for f in configs["of_800"].samples])}
    assert len(whole) == 800
    for num in (50, 200):
        (path,) = configs[f"of_{num}"].samples
        part = {s.id: s for s in read_all_samples([root / path])}
        assert len(part) == num
        assert part.items() <= whole.items()
    asked = [words for words in commands if words[0] == "synth"]
    assert sum(int(w.partition("=")[2]) for ws in asked for w in ws if "--num_samples=" in w) == 460
    seeds = [[w for w in words if w.startswith("--source.seed=")][-1] for words in asked]
    assert len(set(seeds)) == len(SETS)
    # As many samples in as many steps as the ablations, some of a quarter of the instructions.
    few, many = (
        list(read_all_samples([root / path])) for c in of_entries.values() for path in c.samples
    )
    assert {config.max_steps for config in of_entries.values()} == {171}
    assert len(few) == len(many)
    entries = [
        {e for s in part if s.instruction for e in s.instruction.entries} for part in (few, many)
    ]
    quarter = (
        "figure_0", "figure_4", "hobby_3", "language_2", "behaviour_1", "persona_0", "persona_4",
        "combined_3",
    )  # fmt: skip
    assert entries[0] == {f"language.{name}" for name in quarter}
    assert len(entries[1]) == 30
    assert {s.id for s in (*few, *many)} <= whole.keys()
    plain = [{s.id for s in part if not s.instruction} for part in (few, many)]
    assert plain[0] == plain[1]
    assert {path.name for path in (root / "results" / "data_more").iterdir()} == {
        f"{name}.jsonl.gz" for name in SETS
    }
    _, again = follow(root, "samples")
    assert sum(words[0] == "synth" for words in again) == len(asked), "kept ones are not drawn anew"
    first, own, by_entries = evaluated(commands)
    assert by_entries.arms == ("many_entries", "few_entries")
    assert first.arms == own.arms == ("of_800", "of_200", "of_50")
    assert (first.compared_with, first.histories, own.histories) == (
        "of_800",
        ("reference",),
        ("own",),
    )


def test_every_evaluation_is_one_that_can_be_made(root: Path) -> None:
    stages = (
        "validation", "table30", "ordinary", "heldout", "combined", "switch", "cost", "long",
    )  # fmt: skip
    for stage in stages:
        _, commands = follow(root, stage)
    configs = {config.output_dir.name: config for config in evaluated(commands)}
    published = {path.parent.name for path in (root / "results").glob("*/samples.jsonl.xz")}
    assert published == set(configs)
    assert configs["ordinary_own"].histories == ("own",)
    assert configs["ordinary_first_user"].placement == "first_user"
    assert max(configs["heldout_reference"].turns) == 40
    assert configs["combined_3"].instructions.num_entries == (0.0, 0.0, 1.0)
    for kind in ("replace", "add", "cancel"):
        switch = configs[f"switch_{kind}"].switch
        assert switch is not None
        assert {k: getattr(switch, k) for k in ("replace", "add", "cancel")} == {
            k: float(k == kind) for k in ("replace", "add", "cancel")
        }
        assert switch.system == 0
    later = configs["switch_system"].switch
    assert later is not None
    assert (later.replace, later.system) == (1, 1)
    assert (configs["switch_unchanged"].switch, configs["switch_unchanged"].num_turns) == (
        None,
        configs["switch_replace"].num_turns,
    )
    assert configs["switch_validation"].part == "validation"
    # What the recipe was chosen by, all others, and the adapter of changes.
    of_switch, chosen_by, others = perplexities(commands)
    assert (chosen_by.skip_dialogues, others.skip_dialogues) == (0, chosen_by.num_dialogues)
    assert others.num_dialogues >= 287 - others.skip_dialogues, (
        "the part has so many of this length"
    )
    assert chosen_by.adapters == others.adapters
    assert "switch" in of_switch.adapters
    made = trained(commands)
    folders = {p for c in configs.values() for p in c.adapters.values()}
    # Those that these stages leave behind themselves, and that of `main`.
    kept = {Path("results") / path.name for path in (root / "results").glob("*_adapter")}
    assert folders == {Path("results/adapter"), *kept}
    assert {path.name: config.max_turns for path, config in made.items()} == {
        "switch": None, "turns_8": 8, "turns_16": 16,
    }  # fmt: skip
    (further,) = [c for c in made.values() if c.init_adapter]
    assert [p.parent.name for p in further.samples] == [*SETS, "switch_chats"]
    (spliced,) = [words for words in commands if words[:2] == ["synth", "splice"]]
    chats = load_config(SpliceConfig, ROOT / spliced[3], [])
    assert [p.parent.name for p in chats.samples] == [*SETS]
    assert further.samples == (*chats.samples, chats.output_dir / "samples.jsonl")


def test_attention_comes_behind_the_evaluation_that_it_reads(root: Path) -> None:
    stages = follow(root, "list")[0].split()
    assert stages.index("attend") == stages.index("ordinary") + 1


def test_kept_samples_are_restored_whole_or_not_at_all(root: Path) -> None:
    kept, made = root / "results" / "data", root / "runs" / "evidence" / "data"
    for _ in range(2):
        with pytest.raises(subprocess.CalledProcessError) as none:
            follow(root, "restore")
        assert none.value.stderr == (
            "results/data: no samples are kept there: run the stage `data`\n"
        )
    kept.mkdir(parents=True)
    rows = "".join(f"{n}\n" for n in range(20_000)).encode()
    whole = gzip.compress(rows)
    (kept / "figure.jsonl.gz").write_bytes(whole[:-9000])
    (kept / "hobby.jsonl.gz").write_bytes(whole)
    for _ in range(2):
        with pytest.raises(subprocess.CalledProcessError):
            follow(root, "restore")
    (kept / "figure.jsonl.gz").write_bytes(whole)
    for _ in range(2):
        assert follow(root, "restore") == ("== restore ==\n", [])
    for name in ("figure", "hobby"):
        assert (made / name / "samples.jsonl").read_bytes() == rows
    (made / "hobby" / "samples.jsonl").write_bytes(rows[:-6])
    with pytest.raises(subprocess.CalledProcessError) as other:
        follow(root, "restore")
    assert "hobby/samples.jsonl: other samples than results/data/hobby.jsonl.gz" in (
        other.value.stderr
    )
    assert (made / "hobby" / "samples.jsonl").read_bytes() == rows[:-6]


def test_attention_is_looked_at_once_and_published(root: Path) -> None:
    _, (*looks, report) = follow(root, "attend")
    configs = [load_config(AttendConfig, None, look[1:]) for look in looks]
    assert {look[0] for look in looks} == {"attend"}
    assert [config.turns for config in configs] == [(), (20,)]
    for config in configs:
        assert config.samples == Path("runs/evidence/ordinary")
    assert report[:2] == ["report", "runs/evidence/ordinary"]
    names = {path.name for path in (root / "results" / "attend").iterdir()}
    assert names == {
        "attention.json", "attention.html", "attention.png", "attention-turns.png",
        "attention-20.json",
    }  # fmt: skip
    assert (root / "results" / "ordinary" / "report.html").is_file()
    _, again = follow(root, "attend")
    assert [command[0] for command in again] == ["attend", "attend", "report", "report"]


def test_what_is_kept_is_neither_drawn_nor_trained_anew(root: Path) -> None:
    kept = [root / "results" / "data" / f"{name}.jsonl.gz" for name in SETS]
    adapter = root / "results" / "adapter" / "adapter_model.safetensors"
    for path in (*kept, adapter):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(b"{}\n"))
    folder = root / "runs" / "evidence"
    kept[0].write_bytes(gzip.compress(b"{}\n" * 9)[:-6])
    with pytest.raises(subprocess.CalledProcessError):
        follow(root, "data")
    assert not (folder / "data" / SETS[0] / "samples.jsonl").exists()
    kept[0].write_bytes(gzip.compress(b"{}\n"))
    for stage, found in (("data", "the kept samples are taken"), ("main", "the kept adapter")):
        told, commands = follow(root, stage)
        assert found in told
        assert commands == []
    for name in SETS:
        made = folder / "data" / name / "samples.jsonl"
        assert made.read_bytes() == b"{}\n"
