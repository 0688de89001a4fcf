"""Model folders and adapters that would run code, lie about themselves, or have a template that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile.commands import Row, accepted, refused
from tests.support.hostile.files import CODE, Maker, changed, text
from tests.support.hostile.world import EVAL, PERPLEXITY, SYNTH, TRAIN, at
from tests.support.models.tiny import CHATML

CHAT = "chat --max-new-tokens=2 --model={base/config.json=new}"
PUSH = "push --what=adapter --output_dir=out --folder={adapter/adapter_config.json=new}"
TEMPLATE = "chat --max-new-tokens=2 --model={base/chat_template.jinja=new}"
ADAPTER = "chat --max-new-tokens=2 --adapter={adapter/adapter_config.json=new}"
AUTO_MAP = {
    "AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model", "AutoTokenizer": ["own.T", None],
}  # fmt: skip


def code(**keys: Any) -> Maker:
    """Return a maker of settings that name Python code, with that code beside them."""

    def make(path: Path) -> None:
        path.with_name("own.py").write_text(CODE)
        changed(auto_map=AUTO_MAP, **keys)(path)

    return make


OWN_TYPE = code(model_type="own", architectures=["Model"])


WAYS = {
    "chat": CHAT,
    "chat from an adapter": "chat --adapter={adapter} --model={base/config.json=new}",
    "train": at(TRAIN, base="{base/config.json=new}"),
    "synth": at(SYNTH, base="{base/config.json=new}"),
    "eval": at(EVAL, base="{base/config.json=new}"),
    "perplexity": at(PERPLEXITY, base="{base/config.json=new}"),
    "export": "export --adapter={adapter} --output_dir=out --model={base/config.json=new}",
    "show": "show {samples} --model={base/config.json=new}",
}
"""Ways in for a model; `push` has its own below."""

CONFIGS: dict[str, dict[str, Any]] = {
    "a kernel": {"_attn_implementation": "own/kernel"},
    "unknown type": {"model_type": "nonsense"},
    "negative sizes": {"hidden_size": -32},
    "heads that do not divide": {"num_attention_heads": 5},
    "another width than the weights": {"hidden_size": 64},
}
TEMPLATES = {
    "empty": ("", "template"),
    "syntax": ("\n{% for %}", "line 2"),
    "divides by zero": ("\n{{ 1 / 0 }}", "line 2"),
    "raises": ("{{ raise_exception('no chat today') }}", "no chat today"),
    "recurses": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "template"),
    "reaches for Python": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "template"),
    "opens a file": ("{{ open('CODE_RAN', 'w') }}", "template"),
    "a range without end": ("{% for i in range(10**12) %}x{% endfor %}" + CHATML, "template"),
    "says nothing of the messages": ("hello", "template"),
}
ADAPTERS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown kind": ({"peft_type": "MAGIC"}, "MAGIC"),
    "other method": ({"peft_type": "PROMPT_TUNING"}, "adapter"),
    "negative rank": ({"r": -2}, "adapter"),
    "another rank than its weights": ({"r": 4}, "adapter"),
    "modules that are not there": ({"target_modules": ["nowhere"]}, "adapter"),
    "a package that is missing": (
        {"init_lora_weights": "loftq", "loftq_config": {"loftq_bits": 4}}, "adapter",
    ),
    "a module to import": ({"megatron_config": {"a": 1}, "megatron_core": "own"}, "adapter"),
    "base out of its folder": ({"base_model_name_or_path": "../../etc"}, "../../etc"),
    "auto_map of its base": (
        {"base_model_name_or_path": "nowhere/own", "auto_mapping": {"base_model_class": "own"}}, "nowhere",
    ),
}  # fmt: skip

ROWS = [
    *(refused(f"auto_map: {way}", command, "auto_map", new=OWN_TYPE) for way, command in WAYS.items()),
    refused("auto_map: tokenizer", "chat --model={base/tokenizer_config.json=new}", "auto_map",
            new=code(tokenizer_class="OwnTokenizer")),
    accepted("auto_map of a known type", CHAT, "hello\n", new=code()),
    accepted("a kernel of the hub", CHAT, "hello\n", new=changed(attn_implementation="own/kernel")),
    Row("nobody says yes to code", CHAT, ("auto_map",), said="y\n" * 1000, files={"new": OWN_TYPE}),
    accepted("push loads nothing", PUSH,
             new=changed(auto_mapping={"base_model_class": "own.Model", "parent_library": "own"})),
    *(refused(f"config: {name}", CHAT, "base", new=changed(**keys)) for name, keys in CONFIGS.items()),
    *(
        refused(f"template: {name}", TEMPLATE, fact, new=text(template))
        for name, (template, fact) in TEMPLATES.items()
    ),
    *(
        refused(f"adapter: {name}", ADAPTER, fact, new=changed(**keys))
        for name, (keys, fact) in ADAPTERS.items()
    ),
    refused("a model folder for an adapter", "chat --adapter={base}", "base"),
    refused("an adapter for a model", "chat --model={adapter}", "adapter"),
    refused("data for a model", at(TRAIN, base="{samples}"), "samples.jsonl"),
    refused("adapter of another base", "chat --adapter={adapter} --model={base/config.json=new}", "base",
            new=changed(hidden_size=16)),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_model_is_refused_in_one_line_and_runs_no_code(row, run) -> None:
    run(row)
