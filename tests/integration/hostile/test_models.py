"""Model folders and adapters that would run code, lie about themselves, or have a template that fails."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile.commands import Row, accepted, refused
from tests.support.hostile.files import CODE, Maker, changed, text
from tests.support.hostile.world import EVAL, PERPLEXITY, SYNTH, TRAIN, at
from tests.support.models.tiny import CHATML

CHAT = "chat --max-new-tokens=2 --model={base/config.json=new}"
PUSH = "push --what=adapter --output_dir=out"
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


def of_own_type(path: Path) -> None:
    """Make an evaluation's settings name a copy of its model that needs code of its own."""
    settings = path.read_text()
    model = re.search(r"model: (\S+)", settings)
    assert model is not None
    copy = shutil.copytree(model[1], path.with_name("own"))
    OWN_TYPE(copy / "config.json")
    path.write_text(settings.replace(model[1], str(copy)))


WAYS = {
    "chat": CHAT,
    "chat from an adapter": "chat --adapter={adapter} --model={base/config.json=new}",
    "train": at(TRAIN, base="{base/config.json=new}"),
    "synth": at(SYNTH, base="{base/config.json=new}"),
    "eval": at(EVAL, base="{base/config.json=new}"),
    "perplexity": PERPLEXITY.replace("{base}", "{base/config.json=new}"),
    "export": "export --adapter={adapter} --output_dir=out --model={base/config.json=new}",
    "show": "show {samples} --model={base/config.json=new}",
}
"""Ways in for a model; `attend` and `push` have theirs below."""


ROWS = [
    *(refused(f"auto_map: {way}", command, "auto_map", new=OWN_TYPE) for way, command in WAYS.items()),
    refused(
        "auto_map: tokenizer", "chat --model={base/tokenizer_config.json=new}", "auto_map",
        new=code(tokenizer_class="OwnTokenizer"),
    ),
    refused(
        "auto_map: adapter's base", "chat --adapter={adapter/adapter_config.json=new}", "nowhere",
        new=changed(base_model_name_or_path="nowhere/own", auto_mapping={"base_model_class": "own"}),
    ),
    accepted("auto_map of a known type", CHAT, "hello\n", new=code()),
    refused("auto_map: attend", "attend --results={evaluated/eval.yaml=new}", "auto_map", new=of_own_type),
    accepted("a kernel of the hub", CHAT, "hello\n", new=changed(attn_implementation="own/kernel")),
    refused("a kernel, set inside", CHAT, "base", new=changed(_attn_implementation="own/kernel")),
    accepted("push loads nothing", f"{PUSH} --folder={{adapter/adapter_config.json=new}}",
             new=changed(auto_mapping={"base_model_class": "own.Model", "parent_library": "own"})),
    refused("unknown type", CHAT, "nonsense", new=changed(model_type="nonsense")),
    refused("type of a picture model", CHAT, "base", new=changed(model_type="vit")),
    refused("negative sizes", CHAT, "base", new=changed(hidden_size=-32)),
    refused("heads that do not divide", CHAT, "base", new=changed(num_attention_heads=5)),
    refused("sizes as text", CHAT, "base", new=changed(hidden_size="large")),
    refused("another width than the weights", CHAT, "base", new=changed(hidden_size=64)),
    refused("a vocabulary that is too small", CHAT, "base", new=changed(vocab_size=10)),
    refused("a vocabulary of billions", CHAT, "base", new=changed(vocab_size=4 * 10**12)),
    refused("unknown dtype", CHAT, "base", new=changed(dtype="float7", torch_dtype="float7")),
    refused("settings of a list", CHAT, "base", new=changed(rope_parameters=[1])),
    refused("template: empty", TEMPLATE, "template", new=text("")),
    refused("template: syntax", TEMPLATE, "line 2", new=text("\n{% for %}")),
    refused("template: unknown tag", TEMPLATE, "line 1", new=text("{% execute 'rm' %}")),
    refused("template: divides by zero", TEMPLATE, "line 2", new=text("\n{{ 1 / 0 }}")),
    refused("template: raises", TEMPLATE, "no chat today", new=text("{{ raise_exception('no chat today') }}")),
    refused("template: recurses", TEMPLATE, "template",
            new=text("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")),
    refused("template: reaches for Python", TEMPLATE, "template",
            new=text("{{ ''.__class__.__mro__[1].__subclasses__() }}")),
    refused("template: opens a file", TEMPLATE, "template", new=text("{{ open('CODE_RAN', 'w') }}")),
    refused("template: imports", TEMPLATE, "template", new=text("{% include '/etc/passwd' %}")),
    refused("template: a range without end", TEMPLATE, "template",
            new=text("{% for i in range(10**12) %}x{% endfor %}" + CHATML)),
    refused("template: a text without end", TEMPLATE, "template", new=text("{{ 'x' * 10 ** 11 }}" + CHATML)),
    refused("template: says nothing of the messages", TEMPLATE, "template", new=text("hello")),
    refused("template: binary", TEMPLATE, "base", new=lambda path: path.write_bytes(b"\xff\xfe\x00") and None),
    refused("adapter: unknown kind", ADAPTER, "MAGIC", new=changed(peft_type="MAGIC")),
    refused("adapter: other method", ADAPTER, "adapter", new=changed(peft_type="PROMPT_TUNING")),
    refused("adapter: rank as text", ADAPTER, "adapter", new=changed(r="two")),
    refused("adapter: negative rank", ADAPTER, "adapter", new=changed(r=-2)),
    refused("adapter: another rank than its weights", ADAPTER, "adapter", new=changed(r=4)),
    refused("adapter: modules that are not there", ADAPTER, "adapter", new=changed(target_modules=["nowhere"])),
    refused("adapter: broken pattern", ADAPTER, "adapter", new=changed(target_modules="(((")),
    refused("adapter: a package that is missing", ADAPTER, "adapter",
            new=changed(init_lora_weights="loftq", loftq_config={"loftq_bits": 4})),
    refused("adapter: layers copied without end", ADAPTER, "adapter",
            new=changed(layer_replication=[[0, 10**9]])),
    refused("adapter: a module to import", ADAPTER, "adapter",
            new=changed(megatron_config={"a": 1}, megatron_core="own")),
    refused("adapter: no base", ADAPTER, "adapter", new=changed(base_model_name_or_path=None)),
    refused("adapter: base is a number", ADAPTER, "7", new=changed(base_model_name_or_path=7)),
    refused("adapter: base out of its folder", ADAPTER, "../../etc",
            new=changed(base_model_name_or_path="../../etc")),
    refused("a model folder for an adapter", "chat --adapter={base}", "base"),
    refused("an adapter for a model", "chat --model={adapter}", "adapter"),
    refused("a run for a model", "chat --model={evaluated}", "evaluated"),
    refused("data for a model", at(TRAIN, base="{samples}"), "samples.jsonl"),
    refused("adapter of another base", "chat --adapter={adapter} --model={base/config.json=new}", "base",
            new=changed(hidden_size=16)),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_model_is_refused_in_one_line_and_runs_no_code(
    row: Row, run: Callable[[Row], None]
) -> None:
    run(row)
