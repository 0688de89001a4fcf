"""Values of options and keys that nothing can be done with, and words that are no command."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.hostile.commands import Row, accepted, refused
from tests.support.hostile.files import ESCAPES, rows, text
from tests.support.hostile.world import EVAL, PERPLEXITY, SYNTH, TRAIN, at

HUGE = "99999999999999999999"
COMMANDS = {
    "train": at(TRAIN), "synth": at(SYNTH), "eval": at(EVAL), "perplexity": at(PERPLEXITY),
    "pairs": "pairs --samples=[{samples}] --output_dir=out --engine.model={base}",
    "export": "export --adapter={adapter} --output_dir=out",
    "push": "push --what=adapter --folder={adapter} --output_dir=out",
}  # fmt: skip
VALUES = {
    "train": (
        "lora.r -1 x 2000000000", "lora.lora_dropout 1 nan", "learning_rate 0 nan inf x", "max_length 0 1.5",
        f"max_tokens_per_row 0 {HUGE}x", "max_lost_targets 1.1 nan", f"seed -1 {HUGE}",
        "per_device_train_batch_size 0 1000000", "placement nonsense", "optim nonsense", "layout []",
        "bf16 perhaps", "samples [] [7]", "max_steps 0 -2", "track.turns [0]", "lora.target_modules (((",
        "chat_template_kwargs []", "learnin_rate 1", "preference.beta 0", "preference.loss_weights [1,2] [-1]",
        "preference.loss_type [sft] [sigmoid,sigmoid]", "distil.coef 0", "distil.context_turns -1",
    ),
    "synth": (
        f"num_samples 0 {HUGE}", "plain_fraction 2 nan", f"teacher.attempts 0 {HUGE}",
        "teacher.hint_attempts -1", "teacher.prefill_attempts -1", "teacher.context_turns -1",
        "teacher.quality.repeated_share 0", "teacher.quality.near_duplicate 1.1",
        f"teacher.sampling.max_new_tokens 0 {HUGE}", "teacher.sampling.temperature -1 nan",
        "teacher.sampling.top_p 0 2", "batch_samples 0", "source.name nonsense", "source.min_turns 0",
        "source.max_turns 1", "source.num 0", "instructions.num_entries [] [-1] [nan] [0,0]",
        "instructions.terse_probability 2", "instructions.families [nonsense]",
        "ray.address ''", "ray.num_workers 0", "ray.gpus_per_worker -1", "ray.cpus_per_worker 0",
    ),
    "eval": (
        "turns [] [0] [2,1] [x]", "arms [nonsense]", "adapters.base x", f"num_dialogues -1 {HUGE}",
        f"sampling.max_new_tokens {HUGE}", "engine.dtype float7", "engine.device abacus",
        "cases nowhere.jsonl", "suite nonsense", "baseline nonsense",
        "splits [nonsense]", "histories []", "judge.tasks []", "judge.arms [base,base] [nonsense]",
        "judge.turns [2,0]", "judge.batch_size 0", "batch_cases 0", "engine.server.urls [ftp://x]",
        "engine.max_rows 0", "engine.max_cache_tokens 0",
    ),
    "perplexity": ("num_dialogues 0", "skip_dialogues -1", "adapters.base x"),
    "pairs": ("replies 1", "samples []", "histories [own,own]", "num_samples 0", "sampling.temperature 0"),
    "export": ("dtype float7", "results nowhere", "model nowhere/at/all", "merge perhaps"),
    "push": ("what nonsense", "results nowhere", "repo_id a/b/c"),
}  # fmt: skip


def each_value() -> Iterator[Row]:
    for name, settings in VALUES.items():
        for setting in settings:
            key, *values = setting.split(" ")
            for value in values:
                # Libraries and files name the value alone; of a key the last part is always there.
                is_name = value.strip("[]").startswith("no")
                fact = value.strip("[]") if is_name else key.split(".")[-1]
                yield refused(f"{name}: {key} {value}", f"{COMMANDS[name]} --{key}={value}", fact)


CHAT = "chat --model={base} --max-new-tokens=2"
CASE = {
    "id": "kind", "user_turns": ["Hello!"],
    "instruction": {"text": "Be kind.", "family": "tone", "verifiers": [{"kind": "judge", "rubric": "Kind."}]},
}  # fmt: skip
RUN = """
output_dir: out
synth: {output_dir: out/synth, teacher: {engine: {model: nowhere/to/be/found}}}
eval: {output_dir: out, arms: [base], histories: [own], turns: [1], probe_turns: []}
"""
ROWS = [
    *each_value(),
    refused("perplexity of questions", "perplexity --output=out.json --source.name=questions", "source.name"),
    refused("perplexity by a server", at(PERPLEXITY) + " --engine.server.urls=[http://a/v1]", "engine.server"),
    refused("half of a surrogate pair", "chat --model=\ud800", "\\ud800"),
    refused("a path with a line break", "report no\nwhere", "no where"),
    refused("an unknown option", "report {evaluated} --outptu=x", "--output"),
    refused("a folder that is not there", "report nowhere", "nowhere"),
    refused("a training for an evaluation", "report {adapter}", "adapter"),
    refused("a page for a folder", "report {evaluated} --output={folder.d}", "folder.d"),
    refused("a page where nothing can be written", "report {evaluated} --output=/proc/page", "/proc"),
    refused("an unknown curve", "report {evaluated} --chart=x.png --metric=nonsense", "nonsense"),
    refused("output into a file", at(SYNTH, out="{empty.txt}"), "empty.txt"),
    refused("output where nothing can be written", at(SYNTH, out="/proc/out"), "/proc"),
    refused("export over what is there", "export --adapter={adapter} --output_dir={evaluated}", "evaluated"),
    refused("another seed into the same folder", at(SYNTH, out="{synthesised}") + " --seed=8", "seed"),
    refused("other turns into the same folder", at(EVAL, out="{evaluated}") + " --turns=[1]", "turns"),
    refused("no such row", "show {samples} --model={base} --row=99", "99"),
    refused("no such entry", f"{CHAT} --entry=hobby.tenis", "hobby.tennis"),
    refused("a variable without a value", f"{CHAT} --chat_template_kwargs=x", "x"),
    refused("a blank instruction", f"{CHAT} --instruction=", "instruction"),
    refused(
        "a run that measures nothing", "run {run.yaml} --eval.cases={cases.jsonl}", "unmeasured",
        **{"run.yaml": text(RUN), "cases.jsonl": rows(CASE)},
    ),
    accepted("a chat with nothing said", CHAT, "\n\n"),
    accepted("a chat of escapes", CHAT, f"{ESCAPES}\n/nonsense\n/entry\n"),
    accepted("every byte of a line", CHAT, "".join(map(chr, range(1, 256))) + "\n"),
    accepted("the report again", "report {evaluated} --output=page.html --markdown=page.md"),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: row.name.encode("ascii", "backslashreplace").decode()
)
def test_a_value_is_refused_in_one_line_or_taken(row: Row, run: Callable[[Row], None]) -> None:
    run(row)
