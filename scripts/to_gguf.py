"""A model of `gatt export` as a GGUF file of llama.cpp, with an Ollama Modelfile beside it.

python scripts/to_gguf.py served bot.gguf --llama_cpp FOLDER --instruction "Always answer in French."

FOLDER holds llama.cpp's `convert_hf_to_gguf.py` (docs/guides/serve_and_share.md says where from).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any


def ollama_template(tokenizer: Any) -> str:
    """Return the chat template in Ollama's form: what stands before, between and behind messages.

    Raises:
        SystemExit: the chat template does not write every turn in the same way.
    """

    def around(*roles: str) -> list[str]:
        messages = [{"role": role, "content": f"<<{n}>>"} for n, role in enumerate(roles)]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        # llama.cpp adds the token that begins a text by itself, where the tokenizer does.
        adds_bos = tokenizer.bos_token_id in tokenizer("x").input_ids
        return re.split(r"<<\d>>", text.removeprefix(tokenizer.bos_token) if adds_bos else text)

    turn = ("user", "assistant")
    first, later = around("user"), around("system", *turn, *turn, "user")
    if len(first) != 2 or len(later) != 7 or later[4:] != [*later[2:4], first[1]]:
        raise SystemExit("the chat template writes turns in different ways: write TEMPLATE by hand")
    before_system, before_user, after_user, after_reply = later[:4]
    parts = (
        "{{ if .System }}", before_system, "{{ .System }}", before_user, "{{ else }}", first[0],
        '{{ end }}{{ range .Messages }}{{ if eq .Role "user" }}{{ .Content }}', after_user,
        '{{ else if eq .Role "assistant" }}{{ .Content }}', after_reply, "{{ end }}{{ end }}",
    )  # fmt: skip
    return "".join(parts)


def modelfile(model: Path, gguf: str, instruction: str | None) -> str:
    """Return the Modelfile of a GGUF: chat template, stop tokens, context length, instruction."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(model)
    ends = GenerationConfig.from_pretrained(model).eos_token_id
    stops = tokenizer.convert_ids_to_tokens([ends] if isinstance(ends, int) else ends)
    context = min(AutoConfig.from_pretrained(model).max_position_embeddings, 8192)
    lines = [f"FROM ./{gguf}", f'TEMPLATE """{ollama_template(tokenizer)}"""']
    lines += [f'PARAMETER stop "{stop}"' for stop in stops]
    # Ollama's own default is shorter; it drops the oldest turns, and never the system message.
    lines.append(f"PARAMETER num_ctx {context}")
    lines += [f'SYSTEM """{instruction}"""'] if instruction else []
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the GGUF and the Modelfile."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="folder of `gatt export`")
    parser.add_argument("gguf", type=Path, help="file to write")
    parser.add_argument(
        "--llama_cpp", type=Path, required=True, help="folder of llama.cpp's source"
    )
    parser.add_argument("--outtype", default="f16", help="f32, f16, bf16 or q8_0 (%(default)s)")
    parser.add_argument("--instruction", help="system message of the Modelfile")
    args = parser.parse_args()
    converter = [sys.executable, args.llama_cpp / "convert_hf_to_gguf.py", args.model]
    subprocess.run([*converter, "--outfile", args.gguf, "--outtype", args.outtype], check=True)
    beside = args.gguf.with_suffix(".Modelfile")
    beside.write_text(modelfile(args.model, args.gguf.name, args.instruction), encoding="utf-8")
    print(f"{args.gguf}\n{beside}")


if __name__ == "__main__":
    main()
