"""Tokens a second of one teacher, served and in this process, over the same prompts.

    python scripts/checks/teachers.py --url http://127.0.0.1:8000/v1 --served-as teacher \
        --json runs/teachers.json

The prompts are those of `gatt synth`: questions of the bank, each behind an instruction and the request to be
brief. Both draw every prompt once. The server gets as many requests at once as `--concurrency` says. Start it
before, for example llama.cpp's with `--n_threads 2`, and keep the machine quiet.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from gatt.data.catalog.read import load_catalog
from gatt.data.dialogue import Message
from gatt.data.views import JOINT
from gatt.generation.base import Engine, GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.servers.config import ServerConfig
from gatt.models.load import load_tokenizer
from gatt.runs.provenance import provenance
from gatt.sources.questions import question_bank

BRIEF = "Answer in one or two short sentences."


def main() -> None:
    """Measure both, print and write the figures."""
    args = _arguments()
    requests = _requests(args.num)
    tokenizer = load_tokenizer(args.model)
    local = EngineConfig(model=args.model, dtype=args.dtype, max_rows=128)
    served = EngineConfig(
        model=args.served_as,
        server=ServerConfig(urls=(args.url,), max_concurrency=args.concurrency),
    )
    found: dict[str, Any] = {"model": args.model, "num_prompts": len(requests)}
    for name, config in (("served", served), (f"local, {args.dtype}", local)):
        found[name] = _measured(make_engine(config), requests, tokenizer, args.max_new_tokens)
        print(name, json.dumps(found[name]), flush=True)
    found["run"] = provenance()
    Path(args.json).write_text(json.dumps(found, indent=1, default=str) + "\n", encoding="utf-8")


def _measured(
    engine: Engine, requests: list[GenerationRequest], tokenizer: Any, max_new_tokens: int
) -> dict[str, float]:
    """Return seconds, and tokens of prompts and replies, counted by one tokenizer for both."""
    params = SamplingParams(max_new_tokens=max_new_tokens, temperature=0.7, top_p=0.9, seed=0)
    engine.generate(requests[:2], params)
    start = time.perf_counter()
    replies = engine.generate(requests, params)
    seconds = time.perf_counter() - start
    drawn = sum(len(tokenizer(reply.text)["input_ids"]) for reply in replies)
    read = sum(len(tokenizer(r.messages[0].content)["input_ids"]) for r in requests)
    return {
        "seconds": round(seconds, 1),
        "prompt_tokens": read,
        "reply_tokens": drawn,
        "reply_tokens_per_second": round(drawn / seconds, 1),
        "replies_per_minute": round(60 * len(replies) / seconds, 1),
    }


def _requests(num: int) -> list[GenerationRequest]:
    """Return prompts of four instructions, in groups that share their beginning, as `gatt synth` makes them."""
    entries = load_catalog().entries
    told = {entry.family: entry.verbose[0] for entry in reversed(entries)}
    families = ("hobby", "figure", "language", "persona")
    messages = [text for topic in question_bank().topics.values() for text in topic]
    return [
        GenerationRequest(
            str(index),
            (Message("user", f"{told[family]} {BRIEF}{JOINT}{messages[index]}"),),
            family,
        )
        for index in range(num)
        for family in [families[index * len(families) // num]]
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", required=True, help="of the server, usually ending in /v1")
    parser.add_argument("--served-as", required=True, help="the model's name on the server")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct", help="the local model")
    parser.add_argument("--dtype", default="int8", help="of the local model")
    parser.add_argument("--num", type=int, default=64, help="prompts")
    parser.add_argument("--concurrency", type=int, default=8, help="requests at once")
    parser.add_argument("--max-new-tokens", type=int, default=56)
    parser.add_argument("--json", required=True, help="file of the figures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
