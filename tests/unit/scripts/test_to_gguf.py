"""The Modelfile says what the chat template says, and what it cannot say is refused."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from to_gguf import main, ollama_template
from tokenizers.processors import TemplateProcessing

from tests.support.models.golden_templates import GEMMA3, LLAMA3, SMOLLM2, Family
from tests.support.models.tiny import save_tiny_model
from tests.support.texts.words import CHATML

MESSAGES = [
    {"role": "system", "content": "Act as Napoleon."},
    {"role": "user", "content": "Who are you?"},
    {"role": "assistant", "content": "An emperor."},
    {"role": "user", "content": "And where?"},
]
FORM = re.compile(
    r"{{ if .System }}(.*?){{ .System }}(.*?){{ else }}(.*?){{ end }}{{ range .Messages }}"
    r'{{ if eq .Role "user" }}{{ .Content }}(.*?)'
    r'{{ else if eq .Role "assistant" }}{{ .Content }}(.*?){{ end }}{{ end }}',
    re.DOTALL,
)


def rendered(template: str, messages: list[dict[str, str]]) -> str:
    """Return what Ollama makes of a template of this form."""
    match = FORM.fullmatch(template)
    before, after, start, after_user, after_reply = match.groups()
    text = start
    if messages[0]["role"] == "system":
        text = f"{before}{messages[0]['content']}{after}"
        messages = messages[1:]
    ends = {"user": after_user, "assistant": after_reply}
    return text + "".join(f"{m['content']}{ends[m['role']]}" for m in messages)


@pytest.mark.parametrize(
    ("family", "adds_bos"), [(SMOLLM2, False), (LLAMA3, True), (LLAMA3, False), (GEMMA3, True)]
)
def test_ollama_writes_what_the_chat_template_writes(family: Family, adds_bos: bool) -> None:
    tokenizer = family.tokenizer()
    bos = tokenizer.bos_token
    if adds_bos:
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, tokenizer.bos_token_id)]
        )
    found = ollama_template(tokenizer)
    for messages in (MESSAGES, MESSAGES[1:], MESSAGES[:2]):
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        # llama.cpp writes the first token where the tokenizer does.
        assert rendered(found, messages) == (text.removeprefix(bos) if adds_bos else text)


def test_a_chat_template_that_writes_turns_differently_is_refused() -> None:
    tokenizer = SMOLLM2.tokenizer()
    tokenizer.chat_template = CHATML.replace("message['role'] +", "loop.index|string +")
    with pytest.raises(SystemExit, match="by hand"):
        ollama_template(tokenizer)


def test_the_script_calls_the_converter_and_writes_the_modelfile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_tiny_model(tmp_path / "served")
    stand_in = "import pathlib, sys; pathlib.Path(sys.argv[3]).write_text(' '.join(sys.argv[1:]))"
    (tmp_path / "convert_hf_to_gguf.py").write_text(stand_in, encoding="utf-8")
    gguf = tmp_path / "bot.gguf"
    words = [str(model), str(gguf), f"--llama_cpp={tmp_path}", "--instruction=Be brief."]
    monkeypatch.setattr(sys, "argv", ["to_gguf.py", *words])
    main()
    assert gguf.read_text(encoding="utf-8") == f"{model} --outfile {gguf} --outtype f16"
    lines = (tmp_path / "bot.Modelfile").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "FROM ./bot.gguf"
    assert lines[-2:] == ["PARAMETER num_ctx 512", 'SYSTEM """Be brief."""']
