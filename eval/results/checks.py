"""Reasons not to trust the rates: arms that do not differ, no replies, engines that decode differently.

These lines stand in the terminal before the table, and at the head of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from eval.config import EvalConfig
from eval.records.arms import is_untrained
from eval.records.samples import Sample
from gatt.generation.servers.neutral import NEUTRAL, OF_GREEDY
from gatt.verifiers.rule import quote

ALIKE: Final = 0.95
"""Two arms do not differ if at least this share of their replies are the same, word for word. A server's
batches may change a greedy reply here and there."""
MOSTLY: Final = 0.9
"""Share of an arm's replies that are empty, cut or one text, from which on its rates mean nothing."""
SOME_EMPTY: Final = 0.1
"""Share of empty replies that is mentioned."""
LEAST_SAME: Final = 4
"""Fewer replies may be one text by chance."""


def checks(
    config: EvalConfig,
    samples: Sequence[Sample],
    tokens: Mapping[str, int],
    own_decoding: Mapping[str, Any],
) -> list[str]:
    """Return a line for each reason not to trust the rates of a run; none where all is well.

    `tokens` are sums of the engines' counters; `own_decoding` the settings that a local model asks for and
    does not get.
    """
    return [
        *_alike(config, samples),
        *_silent(config, samples),
        *_decoded(config, tokens, own_decoding),
    ]


def _alike(config: EvalConfig, samples: Iterable[Sample]) -> list[str]:
    """Return a line for each arm that replies as an earlier one does."""
    replies: dict[str, dict[tuple[str, ...], str]] = {arm: {} for arm in config.arms}
    unled: set[tuple[str, ...]] = set()
    for sample in samples:
        if sample.reply.strip():
            replies[sample.arm][sample.key[1:]] = sample.reply
        if sample.instruction is None:
            unled.add(sample.key[1:])
    lines, listed = [], set()
    for first, second in combinations(config.arms, 2):
        common = replies[first].keys() & replies[second].keys()
        is_one_model = is_untrained(first) and is_untrained(second)
        if is_one_model:
            # Without an instruction there is nothing to repeat, and the prompts are the same.
            common -= unled
        num = sum(replies[first][key] == replies[second][key] for key in common)
        if second in listed or not common or num < ALIKE * len(common):
            continue
        listed.add(second)
        lines.append(
            f"{second} gave the replies of {first}, word for word, in {num} of {len(common)} cases and turns: "
            f"a comparison of the two says nothing. {_why_alike(config, second, is_one_model)}"
        )
    return lines


def _why_alike(config: EvalConfig, arm: str, is_one_model: bool) -> str:
    if is_one_model:
        return "What is repeated changes nothing here: see the turns at which it is repeated."
    if config.engine.has_weights:
        return f"See that {config.adapters[arm]} was trained: its adapter changes nothing here."
    return (
        f"See that the server has {str(config.adapters[arm])!r} in its list of models (/v1/models) and chooses "
        "by the name that is asked for: some servers answer with one model whatever the name."
    )


def _silent(config: EvalConfig, samples: Iterable[Sample]) -> list[str]:
    """Return a line for each arm whose replies are empty, cut, or one text."""
    by_arm: dict[str, list[Sample]] = {arm: [] for arm in config.arms}
    for sample in samples:
        by_arm[sample.arm].append(sample)
    lines = []
    for arm, asked in by_arm.items():
        num = len(asked)
        empty = Counter(s.finish for s in asked if not s.reply.strip())
        # Turns without room in the context are reported on their own, unless nothing else is left.
        is_full = empty.total() < num and set(empty) == {"context_limit"}
        if empty and not is_full and empty.total() >= SOME_EMPTY * num:
            ends = ", ".join(f"{end} {count}" for end, count in empty.most_common())
            lines.append(
                f"{empty.total()} of {num} replies of {arm} are empty (finish: {ends}): its rates speak of "
                "that, not of the instruction. Look at the server's log or the model's chat template."
            )
        turns = [s for s in asked if s.kind == "turn"]
        cut = sum(s.finish == "length" for s in turns)
        if cut and cut >= MOSTLY * len(turns):
            lines.append(
                f"{cut} of {len(turns)} ordinary replies of {arm} are cut by the limit of "
                f"{config.sampling.max_new_tokens} tokens: what they would have said later is not judged. "
                "Raise sampling.max_new_tokens."
            )
        lines += _one_text(arm, asked)
    return lines


def _one_text(arm: str, asked: Sequence[Sample]) -> list[str]:
    """Return a line if an arm says the same to different messages."""
    if len(asked) < LEAST_SAME or len({s.user for s in asked}) == 1:
        return []
    [(text, num)] = Counter(s.reply.strip() for s in asked).most_common(1)
    if not text or num < MOSTLY * len(asked):
        return []
    return [
        f"{num} of {len(asked)} replies of {arm} are the same text ({quote(text)}): see that a model replies, "
        "and that it gets the user's message."
    ]


def _decoded(
    config: EvalConfig, tokens: Mapping[str, int], own_decoding: Mapping[str, Any]
) -> list[str]:
    """Return lines on settings by which another engine would reply in another way."""
    lines = []
    if own_decoding:
        lines.append(
            f"{config.engine.model}: its generation_config.json asks for {_listed(own_decoding)}, and that was "
            "not applied: the engines of this tool sample by temperature and top_p alone, on servers too. "
            "Other clients of a server get replies with it."
        )
    if config.engine.server is None:
        return lines
    if num := tokens.get("num_not_neutral", 0):
        lines.append(
            f"{num} of {tokens.get('num_replies', num)} replies were sampled with the server's own penalties, "
            "top_k or min_p, because it refuses to be sent neutral ones (the log has their names): a local "
            "model or another server may reply in another way."
        )
    if left := [name for name in ("temperature", "top_p") if name in config.engine.server.omit]:
        lines.append(
            f"server.omit leaves out {' and '.join(left)}: the server's own values held, and a local model "
            "would reply in another way."
        )
    names = OF_GREEDY if config.sampling.temperature == 0 else tuple(NEUTRAL)
    extra = config.engine.server.extra_body
    own = {n: extra[n] for n in names if n in extra and not _is_neutral(n, extra[n])}
    if own:
        lines.append(
            f"server.extra_body sets {_listed(own)}: a local model samples by temperature and top_p alone."
        )
    return lines


def _is_neutral(name: str, value: Any) -> bool:
    return value == NEUTRAL[name] or (name == "top_k" and value in (0, -1))


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())
