"""Ask a model every question of the bank alone, without an instruction, and count which it answers.

    python scripts/research/bank/ask_model.py --model qwen2.5-coder-1.5b-instruct --out asked.jsonl

A told fact is told, one exchange of small talk follows, then it is asked for. Sampling is greedy. What the
output holds is not sampled again: a stopped call continues, and after a change of the bank only new messages
cost time. A question that good models do not answer leaves the bank, or its accepted answers are too narrow.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from eval.metrics.intervals import wilson_interval
from gatt.data.answers import answers
from gatt.data.bank.read import Bank, load_bank
from gatt.data.dialogue import Message
from gatt.data.expectation import Expectation
from gatt.generation.base import Engine, GenerationRequest, SamplingParams
from gatt.generation.config import EngineConfig, local_engine
from gatt.runs.provenance import fingerprint
from gatt.runs.store import RecordStore

TOLD = "told"
NUM_REQUESTS = 48  # of one call of the engine: a stopped script loses no more


class Prompt(NamedTuple):
    """What a row of the bank asks."""

    id: str
    kind: str
    messages: tuple[Message, ...]
    expectation: Expectation

    @property
    def key(self) -> str:
        """The messages as one text, by which a stored reply is found again."""
        return json.dumps([message.content for message in self.messages], ensure_ascii=False)


def prompts(bank: Bank) -> list[Prompt]:
    """Return the messages of every question and told fact, and what the reply must hold."""
    asked = [Prompt(q.id, q.kind, (Message("user", q.ask),), q.expectation) for q in bank.questions]
    choices = bank.small_talk[:100]
    for told in bank.told:
        # By the id: a row that comes or goes changes the messages of no other.
        between = choices[int(hashlib.sha256(told.id.encode()).hexdigest(), 16) % len(choices)]
        texts = (told.tell, told.tell_reply, between.say, between.reply, told.ask)
        messages = tuple(map(Message, ("user", "assistant") * 2 + ("user",), texts))
        asked.append(Prompt(told.id, TOLD, messages, told.expectation))
    return asked


def ask(rows: Sequence[Prompt], store: RecordStore, engine: Engine, params: SamplingParams) -> None:
    """Append the replies to the given prompts to a store, portion by portion."""
    for start in range(0, len(rows), NUM_REQUESTS):
        portion = rows[start : start + NUM_REQUESTS]
        requests = [GenerationRequest(p.id, p.messages) for p in portion]
        for prompt, reply in zip(portion, engine.generate(requests, params), strict=True):
            store.append({"id": prompt.id, "messages": prompt.key, "reply": reply.text})
        print(f"{start + len(portion)} of {len(rows)} sampled", flush=True)


def counted(asked: Sequence[Prompt], replies: Mapping[str, str]) -> list[str]:
    """Return a line for each wrong reply, then how many are right: by kind, of questions, of told facts."""
    lines: list[str] = []
    verdicts: dict[str, list[bool]] = {}
    for prompt in asked:
        user, reply = prompt.messages[-1].content, replies[prompt.key]
        earlier = [message.content for message in prompt.messages if message.role == "assistant"]
        verdict = answers(prompt.expectation, reply, user, earlier)
        verdicts.setdefault(prompt.kind, []).append(verdict.status == "pass")
        if verdict.status != "pass":
            lines.append(f"- {prompt.id}: {user!r} -> {reply!r}: {verdict.evidence}")
    told = verdicts.pop(TOLD, [])
    questions = [is_right for kind in verdicts.values() for is_right in kind]
    for name, those in {**verdicts, "questions": questions, TOLD: told}.items():
        low, high = wilson_interval(sum(those), len(those))
        lines.append(f"{name}: {sum(those)} of {len(those)} [{100 * low:.0f}, {100 * high:.0f}] %")
    return lines


def main() -> None:
    """Sample what is missing, then print wrong replies and shares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--out", type=Path, default=Path("asked.jsonl"))
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--dtype", default="auto", help="int8 or bfloat16 is faster on a CPU")
    args = parser.parse_args()
    settings = {"model": args.model, "dtype": args.dtype, "max_new_tokens": args.max_new_tokens}
    asked = prompts(load_bank())
    mark = fingerprint(settings)
    with RecordStore(args.out, fingerprint=mark, kind="asked", describe=settings) as store:
        known = store.keys("messages")
        if missing := [prompt for prompt in asked if prompt.key not in known]:
            params = SamplingParams(max_new_tokens=args.max_new_tokens, temperature=0)
            config = EngineConfig(model=args.model, dtype=args.dtype)
            ask(missing, store, local_engine(config), params)
        print("\n".join(counted(asked, {row["messages"]: row["reply"] for row in store})))


if __name__ == "__main__":
    main()
