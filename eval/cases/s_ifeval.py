"""S-IFEval: IFEval's prompts with their constraints in a system message, behind an ordinary conversation.

Source: `s_ifeval` of RealGuardrails (arXiv:2502.12197), from IFEval (arXiv:2311.07911): one JSON object a
line with `key`, `prompt`, `instruction_id_list`, `kwargs`, and `messages` (system, user). No rule, no wording
and no family of this project is in it. The conversation in between is this project's: questions and small
talk of the bank, with plain replies that know nothing of the constraints.

IFEval itself has the constraints in the user's message: what a model does without any instruction.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from eval.records.case_file import CaseLine
from gatt.data.bank.read import Bank, load_bank
from gatt.errors import ConfigError, DataError
from gatt.runs.store import parsed_records
from gatt.verifiers.ifeval import IFEval

ROLES: Final[Mapping[str, list[str]]] = {"s-ifeval": ["system", "user"], "ifeval": ["user"]}
"""Of the messages of a line, by benchmark."""


def import_cases(
    path: Path,
    num_exchanges: int,
    num: int | None = None,
    seed: int = 0,
    benchmark: str = "s-ifeval",
) -> list[CaseLine]:
    """Return the prompts as cases whose last turn has the constraints.

    Judge that turn alone: `gatt eval --cases=FILE --turns=[NUM_EXCHANGES + 1] --histories=[reference]`.
    Between the system message and each prompt stand `num_exchanges` exchanges, other ones for every prompt;
    those of a smaller number are the last of a larger one's. `num` prompts are drawn at random; None: all.
    `benchmark` is one of `ROLES`.

    Raises:
        ConfigError: more exchanges than the bank has, or a number below 0.
        DataError: no such file, or a line that is not of the format; with the line.
        VerifierError: `if-verifiable` is not installed.
    """
    bank = load_bank().part("eval")
    most = len(bank.questions) + len(bank.small_talk)
    if not 0 <= num_exchanges <= most:
        raise ConfigError(
            f"exchanges is {num_exchanges}: expected 0 to {most}, as many as the bank has"
        )
    if num is not None and num < 1:
        raise ConfigError(f"num is {num}: expected at least 1")
    lines = list(parsed_records(path, lambda _, raw: _prompt(raw, benchmark), is_whole=True))
    if not lines:
        raise DataError(f"{path}: no prompt in it: expected one JSON object a line")
    prompts = [prompt for _, prompt in lines]
    if num is not None and num < len(prompts):
        chosen = sorted(random.Random(f"{seed}/prompts").sample(range(len(prompts)), num))
        prompts = [prompts[index] for index in chosen]
    return [_case(prompt, bank, num_exchanges, seed, benchmark) for prompt in prompts]


def _prompt(raw: Mapping[str, Any], benchmark: str) -> Mapping[str, Any]:
    """Return a line after a look at its form and its constraints."""
    try:
        roles = [message["role"] for message in raw["messages"]]
        texts = [message["content"] for message in raw["messages"]]
        names, kwargs = raw["instruction_id_list"], raw["kwargs"]
        key = str(raw["key"])
    except (KeyError, TypeError) as error:
        raise DataError(f"no prompt of {benchmark}: {error}") from None
    if roles != ROLES[benchmark] or not all(isinstance(text, str) for text in texts):
        raise DataError(
            f"key {key}: roles {roles}: expected {ROLES[benchmark]} for {benchmark}, texts as contents"
        )
    if len(names) != len(kwargs) or not names:
        raise DataError(
            f"key {key}: {len(names)} constraints with {len(kwargs)} kwargs: expected as many"
        )
    for name, given in zip(names, kwargs, strict=True):
        IFEval(name, given, texts[-1])
    return {
        "key": key,
        "instruction": texts[0],
        "user": texts[-1],
        "rules": list(zip(names, kwargs, strict=True)),
    }


def _case(
    prompt: Mapping[str, Any], bank: Bank, num_exchanges: int, seed: int, benchmark: str
) -> CaseLine:
    spoken = list(_exchanges(bank, f"{seed}/{prompt['key']}"))
    between = [message for pair in spoken[:num_exchanges][::-1] for message in pair]
    return {
        "id": f"{benchmark}-{prompt['key']}",
        "messages": [*between, {"role": "user", "content": prompt["user"]}],
        "instruction": {
            "text": prompt["instruction"],
            "family": benchmark.replace("-", "_"),
            # The user's message has it already.
            **({} if "system" in ROLES[benchmark] else {"placement": "none"}),
            "value": prompt["key"],
            "verifiers": [
                {
                    "kind": IFEval.kind,
                    "instruction_id": name,
                    "kwargs": given,
                    "prompt": prompt["user"],
                }
                for name, given in prompt["rules"]
            ],
        },
    }


def _exchanges(bank: Bank, seed: str) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Yield messages and plain replies, questions and small talk in turn, in an order of the seed."""
    rng = random.Random(seed)
    questions = rng.sample([(q.ask, q.reply) for q in bank.questions], len(bank.questions))
    talk = rng.sample([(t.say, t.reply) for t in bank.small_talk], len(bank.small_talk))
    while questions or talk:
        for rows in (questions, talk):
            if rows:
                said, reply = rows.pop()
                yield {"role": "user", "content": said}, {"role": "assistant", "content": reply}
