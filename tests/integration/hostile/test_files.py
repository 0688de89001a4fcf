"""Every file that a command reads, replaced by what people and attackers put there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.hostile.commands import Row, accepted, refused
from tests.support.hostile.world import EVAL, PERPLEXITY, SYNTH, TRAIN, at

LINES = "noise surrogate escapes null list object digits pickle"
"""JSON lines whose first is broken or of the wrong form: the error names the line."""
WHOLE = "empty folder loop missing"
YAML = f"{WHOLE} nul noise surrogate escapes long null list digits tags twice pickle"
MODEL = "empty nul half noise deep null list digits"
ADAPTER = "empty half missing folder noise deep list digits surrogate escapes"
RUN_FILE = "noise null list object digits surrogate"


def each(way: str, command: str, kinds: str, *facts: str) -> Iterator[Row]:
    """Yield a row for each kind, whose name stands for `@`."""
    for kind in kinds.split():
        told = [fact.replace("@", kind) for fact in facts]
        yield refused(f"{way}: {kind}", command.replace("@", kind), *told)


def taken(way: str, command: str, kinds: str) -> Iterator[Row]:
    for kind in kinds.split():
        yield accepted(f"{way}: {kind}", command.replace("@", kind), "hello\n")


def lines(way: str, command: str) -> Iterator[Row]:
    yield from each(way, command, LINES, "@.jsonl", "line 1")
    yield from each(way, command, WHOLE, "@.jsonl")


def dialogues(way: str, command: str) -> Iterator[Row]:
    yield from each(way, command, "null object deep", "@.jsonl", "line 1")
    yield from each(way, command, "noise list empty folder loop", "@.jsonl")


def exported(file: str) -> str:
    return f"export --adapter={{adapter/{file}=@}} --output_dir=out"


ROWS = [
    *lines("train", at(TRAIN, samples="{@.jsonl}")),
    *lines("show", "show {@.jsonl} --model={base}"),
    *dialogues("synth", at(SYNTH, dialogues="{@.jsonl}")),
    *dialogues("perplexity", at(f"{PERPLEXITY} --part=null", dialogues="{@.jsonl}")),
    *each("sysbench", "suite import sysbench {@.json} --output cases.jsonl", "nul object deep", "@.json"),
    *each("train --config", "train --config={@.yaml}", YAML, "@.yaml"),
    *each("eval --suite", at(EVAL) + " --suite={@.yaml}", "tags nul", "@.yaml"),
    *each("run", "run {@.yaml}", "empty tags escapes folder missing list", "@.yaml"),
    *each("suite show", "suite show {@.yaml}", "tags loop", "@.yaml"),
    *each("catalog", at(SYNTH, catalog="{catalog/hobby.yaml=@}"), YAML.replace("missing", ""), "hobby"),
    *each("chat config.json", "chat --model={base/config.json=@}", f"{MODEL} missing folder", "base"),
    *each("chat tokenizer", "chat --model={base/tokenizer.json=@}", MODEL, "base"),
    *each("chat weights", "chat --model={base/model.safetensors=@}", "empty nul half noise", "base"),
    *each("chat adapter", "chat --adapter={adapter/adapter_config.json=@}", ADAPTER, "adapter"),
    *each("chat variables", "chat --adapter={adapter/chat_template_kwargs.json=@}",
          "deep noise null digits", "chat_template_kwargs.json"),
    *each("export", exported("adapter_config.json"), ADAPTER, "adapter"),
    *each("export weights", exported("adapter_model.safetensors"), "nul half missing folder", "adapter"),
    *each("eval marks", at(EVAL, adapter="{adapter/trained_on.json=@}"), "empty half null digits",
          "trained_on.json"),
    *each("eval again", at(EVAL, out="{evaluated/rollouts.jsonl=@}"), "noise object",
          "rollouts.jsonl", "line 1"),
    *each("eval meta", at(EVAL, out="{evaluated/rollouts.jsonl.meta.json=@}"), "half list", "meta.json"),
    *each("eval calls", at(EVAL, out="{evaluated/calls.json=@}"), "half null folder", "calls.json"),
    *each("eval results", at(EVAL, out="{evaluated/results.json=@}"), "folder", "results.json"),
    *each("report", "report {evaluated/results.json=@}", RUN_FILE, "results.json"),
    *each("report samples", "report {evaluated/samples.jsonl=@}", RUN_FILE, "samples.jsonl"),
    *each("synth again", at(SYNTH, out="{synthesised/samples.jsonl=@}"), "object noise", "samples.jsonl"),
    *each("synth meta", at(SYNTH, out="{synthesised/samples.jsonl.meta.json=@}"), "half null", "meta.json"),
    *each("push", "push --what=dataset --folder={synthesised/samples.jsonl=@} --output_dir=out",
          "empty missing noise object", "samples.jsonl"),
    # What nothing is lost without.
    *taken("eval goes on", at(EVAL, out="{evaluated/results.json=@}"), "empty noise deep missing"),
    *taken("eval judges anew", at(EVAL, out="{evaluated/samples.jsonl=@}"), "empty half missing"),
    *taken("torn last line", at(EVAL, out="{evaluated/rollouts.jsonl=@}"), "half"),
    *taken("synth goes on", at(SYNTH, out="{synthesised/samples.jsonl=@}"), "half"),
    *taken("train goes on", at(TRAIN, out="{trained/checkpoint-1/trainer_state.json=@}"), "half null missing"),
    *taken("train optimiser", at(TRAIN, out="{trained/checkpoint-1/optimizer.pt=@}"), "half pickle"),
    *taken("train generators", at(TRAIN, out="{trained/checkpoint-1/rng_state.pth=@}"), "half"),
    *taken("train weights", at(TRAIN, out="{trained/checkpoint-1/adapter_model.safetensors=@}"), "half"),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_broken_file_is_refused_in_one_line_or_done_without(row, run) -> None:
    run(row)
