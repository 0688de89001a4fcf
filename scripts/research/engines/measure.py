"""One part of the check of a real server; see `parts.sh`. Writes RUN/PART.json."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx2

from eval.records.samples import Sample, read_samples, samples_of_run
from eval.scoring.judge.run import JUDGEMENTS_FILE
from gatt.data.dialogue import Message
from gatt.data.sample import read_samples as read_targets
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, make_engine
from gatt.generation.servers.config import ServerConfig
from gatt.runs.atomic_file import atomic_write_json
from gatt.runs.provenance import provenance
from gatt.sources.questions import question_bank

INSTRUCTION: Final = "Always answer in French."
NUM_TURNS: Final = 20
MOST_LOAD: Final = 0.3
"""Most other work a core over the last minute, with which speed is measured."""
PATIENCE: Final = 300.0
"""Seconds to wait until a machine is quiet; the start of the server counts as work for a minute."""
NUM_PROMPTS: Final = 96
NUM_DIALOGUES: Final = 32
NUM_AT_ONCE: Final = 32
NUM_TOGETHER: Final = 16
NUM_ROUNDS: Final = 3
REPLY_TOKENS: Final = 40


def main() -> None:
    """Measure one part and write its figures."""
    args = _arguments()
    figures = PARTS[args.part](args)
    if figures is None:
        return
    print(json.dumps(figures, indent=1, ensure_ascii=False))
    origin = provenance(["scripts/research/engines", args.part])
    atomic_write_json(args.run / f"{args.part}.json", {"found": figures, "run": origin})


def replies(args: argparse.Namespace) -> dict[str, Any]:
    """Return, for each arm and for the judge, how many greedy replies have the same words here and served."""
    local, served = (
        {sample.key: sample for sample in read_samples(samples_of_run(args.run / name))}
        for name in ("local", "served")
    )
    figures: dict[str, Any] = {"arms": {}, "different": []}
    for arm in dict.fromkeys(key[0] for key in local):
        keys = [key for key in local if key[0] == arm]
        same = [key for key in keys if local[key].reply == served[key].reply]
        statuses = sum(local[key].status == served[key].status for key in keys)
        figures["arms"][arm] = {"num": len(keys), "same_words": len(same), "same_verdict": statuses}
        figures["different"] += [_pair(local[k], served[k]) for k in keys if k not in same]
    figures["base_and_adapter_differ"] = sum(
        served["gatt", *key[1:]].reply != sample.reply
        for key, sample in served.items()
        if key[0] == "base"
    )
    judged = [
        {row["key"]: row["said"] for row in map(json.loads, lines.splitlines()[1:])}
        for name in ("local", "served")
        for lines in [(args.run / name / JUDGEMENTS_FILE).read_text(encoding="utf-8")]
    ]
    common = judged[0].keys() & judged[1].keys()
    figures["judge"] = {
        "model": args.model,
        "num": len(common),
        "same_words": sum(judged[0][key] == judged[1][key] for key in common),
    }
    results = json.loads((args.run / "served" / "results.json").read_text(encoding="utf-8"))
    figures["checks"] = results["checks"]
    return figures


def _pair(here: Sample, there: Sample) -> dict[str, Any]:
    where = {"arm": here.arm, "history": here.history, "dialogue": here.dialogue, "turn": here.turn}
    return where | {"here": here.reply, "served": there.reply}


def together(args: argparse.Namespace) -> dict[str, Any]:
    """Return how many greedy replies of both models stay the same when both are asked at once."""
    params = SamplingParams(max_new_tokens=REPLY_TOKENS, temperature=0.0)
    requests = _requests(NUM_TOGETHER)
    models = {"base": None, "gatt": "gatt"}
    alone = {name: _served(args).generate(requests, params, m) for name, m in models.items()}
    with ThreadPoolExecutor() as pool:
        asked = {
            name: pool.submit(_served(args).generate, requests, params, model)
            for name, model in models.items()
        }
        both = {name: future.result() for name, future in asked.items()}
    same = {
        name: sum(a.text == b.text for a, b in zip(alone[name], both[name], strict=True))
        for name in models
    }
    return {"num": len(requests), **same}


def synth(args: argparse.Namespace) -> dict[str, Any]:
    """Return how the targets were drawn."""
    targets = [t for s in read_targets(args.run / "synth" / "samples.jsonl") for t in s.targets]
    kinds = Counter(t.kind for t in targets if t.reply)
    return {"turns": len(targets), "targets": kinds.total(), "drawn": dict(kinds)}


def chat(args: argparse.Namespace) -> dict[str, Any]:
    """Return what a short conversation with the served adapter printed."""
    return {"printed": (args.run / "chat.txt").read_text(encoding="utf-8").splitlines()}


def cache(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return prompt tokens and those from the prefix cache, turn by turn of a chat of its own."""
    messages = [{"role": "system", "content": INSTRUCTION}]
    turns = []
    with httpx2.Client(trust_env=False, timeout=600) as http:
        for user in _bank_texts()[:NUM_TURNS]:
            messages.append({"role": "user", "content": user})
            body = {
                "model": "gatt",
                "messages": messages,
                "temperature": 0,
                "max_tokens": REPLY_TOKENS,
            }
            answer = http.post(f"{args.url}/chat/completions", json=body).raise_for_status().json()
            details = answer["usage"].get("prompt_tokens_details") or {}
            if details.get("cached_tokens") is None:
                print("not measured: the server does not say what its prefix cache had")
                return None
            turns.append([answer["usage"]["prompt_tokens"], details["cached_tokens"]])
            said = answer["choices"][0]["message"]["content"] or "…"
            messages.append({"role": "assistant", "content": said})
    prompts, cached = (sum(column) for column in zip(*turns, strict=True))
    last = turns[-1]
    return {
        "turns": turns,
        "share_of_all": round(cached / prompts, 3),
        "share_at_last_turn": round(last[1] / last[0], 3),
    }


def speed(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return reply tokens a second without a history, served and here, or None: see `_quiet_load`."""
    load, engines = _quiet_load(), _engines(args)
    if load is None:
        return None
    requests = _requests(NUM_PROMPTS)
    params = SamplingParams(max_new_tokens=REPLY_TOKENS, temperature=0.0)
    figures: dict[str, Any] = {
        "prompts": len(requests),
        "at_once": NUM_AT_ONCE,
        "rounds": NUM_ROUNDS,
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "load_a_core_before": round(load, 2),
        "tokens_a_second": {},
    }
    for adapter in (None, "gatt"):
        for engine in engines.values():
            engine.generate(requests[:4], params, adapter)
        rounds: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(NUM_ROUNDS):
            for name, engine in engines.items():
                start = time.perf_counter()
                said = engine.generate(requests, params, adapter)
                seconds = time.perf_counter() - start
                rounds[name].append(round(sum(r.num_tokens for r in said) / seconds, 1))
        figures["tokens_a_second"][adapter or "base"] = rounds
    return figures


def dialogues(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return reply tokens a second of whole dialogues, served and here in turns, or None: see `_quiet_load`."""
    load, engines = _quiet_load(), _engines(args)
    if load is None:
        return None
    params = SamplingParams(max_new_tokens=REPLY_TOKENS, temperature=0.0)
    return {
        "num": NUM_DIALOGUES,
        "turns": NUM_TURNS,
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "load_a_core_before": round(load, 2),
        "tokens_a_second": {
            adapter or "base": _dialogues(engines, params, adapter) for adapter in (None, "gatt")
        },
    }


def _engines(args: argparse.Namespace) -> dict[str, Any]:
    config = EngineConfig(model=args.model, max_rows=NUM_AT_ONCE)
    return {"served": _served(args), "local": make_engine(config, {"gatt": args.adapter})}


def _quiet_load() -> float | None:
    """Return the load a core once it is low, or None on a machine that has other work."""
    until = time.monotonic() + PATIENCE
    while (load := os.getloadavg()[0] / (os.cpu_count() or 1)) > MOST_LOAD:
        if time.monotonic() > until:
            print(f"not measured, the machine has other work (load {load:.1f} a core)")
            return None
        time.sleep(5)
    return load


def _dialogues(
    engines: Mapping[str, Any], params: SamplingParams, adapter: str | None
) -> dict[str, float]:
    """Return the reply tokens a second of each engine over its own replies, the engines in turns."""
    texts = _bank_texts()
    talks = {
        name: [[Message("system", INSTRUCTION)] for _ in range(NUM_DIALOGUES)] for name in engines
    }
    num_tokens, seconds = dict.fromkeys(engines, 0), dict.fromkeys(engines, 0.0)
    for turn in range(NUM_TURNS):
        for name, engine in engines.items():
            for number, talk in enumerate(talks[name]):
                talk.append(Message("user", texts[(number * NUM_TURNS + turn) % len(texts)]))
            asked = [
                GenerationRequest(f"{number}/{turn}", tuple(talk), str(number))
                for number, talk in enumerate(talks[name])
            ]
            start = time.perf_counter()
            said = engine.generate(asked, params, adapter)
            seconds[name] += time.perf_counter() - start
            for talk, reply in zip(talks[name], said, strict=True):
                talk.append(Message("assistant", reply.text or "…"))
                num_tokens[name] += reply.num_tokens
    return {name: round(num_tokens[name] / seconds[name], 1) for name in engines}


PARTS: Final[Mapping[str, Any]] = {
    part.__name__: part for part in (replies, together, synth, chat, cache, speed, dialogues)
}


def _bank_texts() -> list[str]:
    """Return the user messages of the question bank, topic by topic."""
    return [text for topic in question_bank().topics.values() for text in topic]


def _requests(num: int) -> list[GenerationRequest]:
    system = Message("system", INSTRUCTION)
    return [
        GenerationRequest(str(number), (system, Message("user", text)), "questions")
        for number, text in enumerate(_bank_texts()[:num])
    ]


def _served(args: argparse.Namespace) -> Any:
    server = ServerConfig(urls=(args.url,), max_concurrency=NUM_AT_ONCE)
    return make_engine(EngineConfig(model=args.model, server=server), {"gatt": "gatt"})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--run", type=Path, required=True, help="folder of the check")
    parser.add_argument("--url", required=True, help="of the server, ending in /v1")
    parser.add_argument("--model", required=True, help="name of the base model, here and served")
    parser.add_argument("--adapter", required=True, help="folder of the adapter, served as gatt")
    return parser.parse_args()


if __name__ == "__main__":
    main()
