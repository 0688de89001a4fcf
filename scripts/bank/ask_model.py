"""Ask a model every question of the bank alone, without an instruction, and say which it answers.

    python scripts/bank/ask_model.py --model qwen2.5-coder-1.5b-instruct --out asked.jsonl

Questions are asked as they stand. A told fact is told, one exchange of small talk follows, then it is asked
for. Sampling is greedy. Replies that stand in the output already, to the same messages, are not sampled
again: after a change of the bank only new questions cost time. A row that the model does not answer leaves
the bank, or its accepted answers were too narrow.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path

from gatt.data.answers import answers
from gatt.data.bank.read import Bank, load_bank
from gatt.data.dialogue import Message
from gatt.data.expectation import Expectation
from gatt.generation.base import GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, make_engine

BATCH = 48
NUM_BETWEEN = 100
"""The first exchanges of small talk stand between telling and asking."""


def prompts(bank: Bank) -> dict[str, tuple[tuple[Message, ...], Expectation]]:
    """Return the messages of every row, and what the reply must hold."""
    asked = {q.id: ((Message("user", q.ask),), q.expectation) for q in bank.questions}
    for told in bank.told:
        # By the id: a row that leaves the bank changes the messages of no other.
        digest = hashlib.sha256(told.id.encode()).digest()
        between = bank.small_talk[int.from_bytes(digest[:8], "big") % NUM_BETWEEN]
        messages = (
            Message("user", told.tell),
            Message("assistant", told.tell_reply),
            Message("user", between.say),
            Message("assistant", between.reply),
            Message("user", told.ask),
        )
        asked[told.id] = (messages, told.expectation)
    return asked


def main() -> None:
    """Sample what is missing, then print the rates and the rows that failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--out", type=Path, default=Path("asked.jsonl"))
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--dtype", default="auto", help="int8 is faster on a CPU")
    parser.add_argument("--every", type=int, default=1, help="only each n-th row")
    parser.add_argument("--judge-only", action="store_true", help="sample nothing")
    args = parser.parse_args()

    asked = dict(list(prompts(load_bank()).items())[:: args.every])
    keys = {id_: json.dumps([m.content for m in messages]) for id_, (messages, _) in asked.items()}
    lines = args.out.read_text("utf-8").splitlines() if args.out.exists() else []
    replies = {row["messages"]: row["reply"] for row in map(json.loads, lines)}
    missing = [id_ for id_ in asked if keys[id_] not in replies]
    if missing and not args.judge_only:
        engine = make_engine(EngineConfig(model=args.model, dtype=args.dtype))
        params = SamplingParams(max_new_tokens=args.max_new_tokens, temperature=0)
        for start in range(0, len(missing), BATCH):
            ids = missing[start : start + BATCH]
            requests = [
                GenerationRequest(
                    id_, asked[id_][0], group="alone" if len(asked[id_][0]) == 1 else id_
                )
                for id_ in ids
            ]
            with args.out.open("a", encoding="utf-8") as file:
                for id_, reply in zip(ids, engine.generate(requests, params), strict=True):
                    replies[keys[id_]] = reply.text
                    row = {"id": id_, "messages": keys[id_], "reply": reply.text}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(f"{start + len(ids)} of {len(missing)} sampled", flush=True)

    num_asked: Counter[str] = Counter()
    num_right: Counter[str] = Counter()
    for id_, (messages, expectation) in asked.items():
        if keys[id_] not in replies:
            continue
        kind, reply = id_.split(".")[0], replies[keys[id_]]
        num_asked[kind] += 1
        verdict = answers(expectation, reply, messages[-1].content)
        if verdict.status == "pass":
            num_right[kind] += 1
        else:
            found = f"{messages[-1].content!r} -> {reply!r}"
            print(f"- {id_}: {found}: {verdict.status}, {verdict.evidence}")
    for kind, number in num_asked.items():
        print(f"{kind}: {num_right[kind]} of {number}")
    questions = [k for k in num_asked if k != "told"]
    total = sum(num_asked[k] for k in questions)
    print(
        f"questions: {sum(num_right[k] for k in questions)} of {total}; "
        f"not asked: {len(asked) - num_asked.total()}"
    )


if __name__ == "__main__":
    main()
