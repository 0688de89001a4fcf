"""Roll-outs: what each arm replies at the turns that are judged, as judged rows of `rollouts.jsonl`.

There are three histories. `reference`: every judged turn is answered within the dialogue as it
stands, so all turns of a case share one prefix. `own`: the model reads its own replies; all
cases of a batch move forward turn by turn. `slip_2` is `own` after two replies of the dialogue. Probes
are asked off the record: they replace the user message, and no later turn reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import Any

from eval.cases.asked_turns import asked_turns, has_probe, judged_turns, last_turn
from eval.cases.draw import told_where_shown
from eval.config import EvalConfig
from eval.records.arms import CANNED, WITHOUT_HISTORY, History, is_stepwise, slips_of
from eval.records.case import BLANK, Case
from eval.records.samples import Kind
from eval.rollout.prompts import arm_prompt
from eval.scoring.verdict import Reply, check_by_rules
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Entry
from gatt.generation.base import Engine, Generation, GenerationRequest, forget

RolloutRow = dict[str, Any]
RolloutSteps = Generator[list[RolloutRow], None, None]
"""The rows of one step of a roll-out at a time: a step is stored as a whole."""
Asked = tuple[GenerationRequest, Callable[[Generation], Reply]]
"""A request, and what makes the reply of its generation."""
RolloutStep = tuple[list[Reply], list[Asked]]
"""Replies that need no model, and requests. The caller adds the replies to these to the first list."""


@dataclass(frozen=True)
class CaseBatch:
    """The missing replies of one arm to a batch of cases."""

    arm: str
    history: History
    cases: tuple[Case, ...]
    said: Mapping[str, Sequence[Generation]]
    """With own history, the replies so far: case id to the replies to its first turns."""


def rows_of_piece(
    piece: CaseBatch, engine: Engine, config: EvalConfig, pool: Sequence[Entry]
) -> Iterator[list[RolloutRow]]:
    """Yield the rows of a piece, judged, as soon as their step is done.

    The configuration has a placement that the template takes; `pool` counts for false triggers.
    """
    forget(engine)
    counters = getattr(engine, "counters", None)
    before = asdict(counters) if counters else {}
    arm, history = piece.arm, piece.history
    cases = told_where_shown(piece.cases, getattr(engine, "tokenizer", None), config)
    for replies in roll_out(engine, cases, arm, history, config, piece.said):
        now = asdict(counters) if counters else {}
        # Zeros are stored too: that nothing was encoded again is a result.
        spent = {name: count - before[name] for name, count in now.items()}
        yield list(rows_of_step(replies, arm, history, pool, config, spent))
        before = now


def rows_of_step(
    replies: Sequence[Reply],
    arm: str,
    history: History,
    pool: Sequence[Entry],
    config: EvalConfig,
    tokens: Mapping[str, int],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one step of a roll-out, judged; the replies of a case stand together.

    `pool` are the entries that count for false triggers. `tokens` is the increase of the engine's counters
    in this step; the first row stores it.
    """
    for number, (_, group) in enumerate(groupby(replies, key=lambda r: r.case.id)):
        members = list(group)
        case, turn = members[0].case, members[0].turn
        name = f"{arm}/{history}/{case.id}"
        is_step = is_stepwise(arm, history)
        row: dict[str, Any] = {"key": f"{name}/{turn}" if is_step else name}
        if is_step:
            row["said"] = asdict(next(r.generation for r in members if r.kind == "turn"))
        turns = judged_turns(case, config, arm, history)
        judged = [r for r in members if r.kind == "probe" or r.turn in turns]
        row["samples"] = [check_by_rules(r, arm, history, pool).as_dict() for r in judged]
        if not number and tokens:
            row["tokens"] = dict(tokens)
        yield row


def roll_out(
    engine: Engine,
    cases: Sequence[Case],
    arm: str,
    history: History,
    config: EvalConfig,
    said: Mapping[str, Sequence[Generation]] | None = None,
) -> Iterator[list[Reply]]:
    """Yield the replies of one arm to a batch of cases, step by step, in the order of the cases.

    An interruption never cuts a step. With reference history, and for an arm that reads none, a step is all
    replies to the batch. With own history it is the replies to one turn, judged or not, because the next
    turn reads them. `said` are, with own history, the replies before an interruption: case id to the
    replies to its first turns. They are not yielded again.

    Raises:
        GenerationError: the engine gave no reply.
    """
    adapter = arm if arm in config.adapters else None
    params = config.sampling.params(config.seed)
    order = {case.id: index for index, case in enumerate(cases)}
    steps: Iterable[RolloutStep]
    if is_stepwise(arm, history):
        steps = own_steps(cases, arm, config, said, slips_of(history))
    elif arm == CANNED:
        turns = ((case, judged_turns(case, config, arm, history)) for case in cases)
        steps = [([reply for case, asked in turns for reply in canned_replies(case, asked)], [])]
    else:
        all_asked = [
            (case, *asked) for case in cases for asked in asked_turns(case, config, arm, history)
        ]
        # Ordinary turns first.
        all_asked.sort(key=lambda a: a[2] == "probe")
        steps = [([], [ask(c, c.dialogue, turn, kind, arm, config) for c, turn, kind in all_asked])]
    for replies, asked in steps:
        requests = [request for request, _ in asked]
        answers = engine.generate(requests, params, adapter) if asked else []
        replies += [reply(g) for (_, reply), g in zip(asked, answers, strict=True)]
        if replies:
            yield sorted(replies, key=lambda r: (order[r.case.id], r.kind == "probe", r.turn))


def ask(
    case: Case, dialogue: Dialogue, turn: int, kind: Kind, arm: str, config: EvalConfig
) -> Asked:
    """Return what an arm is asked at a turn of a dialogue that reaches it."""
    user = case.user_turn(turn, kind)
    earlier = dialogue.replies[: turn - 1]
    if kind == "probe":
        earlier_messages = dialogue.messages[: dialogue.place_of(turn)]
        dialogue = Dialogue(dialogue.id, (*earlier_messages, Message("user", user)))
    messages = arm_prompt(case, dialogue, turn, arm, config)
    key = f"{case.id}/{turn}/{kind}"
    request = GenerationRequest(key, messages, f"{arm}/{case.id}", is_aside=kind == "probe")
    read = () if arm in WITHOUT_HISTORY else earlier
    return request, partial(Reply, case, turn, kind, user, earlier=read)


def canned_replies(case: Case, turns: Iterable[int]) -> list[Reply]:
    """Return the replies of the arm `canned`: the same string at every turn under an instruction."""
    replies = []
    for turn in turns:
        held = case.held_at(turn)
        text = case.canned.get(held.id, "") if held else ""
        generation = Generation(text, "stop", 0)
        earlier = (text,) * (turn - 1)
        replies.append(Reply(case, turn, "turn", case.user_turn(turn), generation, earlier))
    return replies


def own_steps(
    cases: Sequence[Case],
    arm: str,
    config: EvalConfig,
    said: Mapping[str, Sequence[Generation]] | None = None,
    num_slips: int = 0,
) -> Iterator[RolloutStep]:
    """Return the steps of a roll-out in own history; see `roll_out`.

    The first `num_slips` replies are the dialogue's, which ignore the instruction: nobody is asked for them.
    """
    messages: dict[str, list[Message]] = {case.id: [] for case in cases}
    full: set[str] = set()

    def hear(case: Case, turn: int, generation: Generation) -> None:
        if generation.finish == "context_limit":
            full.add(case.id)
        text = generation.text.strip() or BLANK
        user = Message("user", case.user_turn(turn))
        messages[case.id] += [user, Message("assistant", text)]

    history = f"slip_{num_slips}" if num_slips else "own"
    last = {case.id: last_turn(case, config, arm, history) for case in cases}
    for turn in range(1, max(last.values()) + 1):
        asked: list[Asked] = []
        replies: list[Reply] = []
        for case in (c for c in cases if turn <= last[c.id]):
            earlier = (said or {}).get(case.id, ())
            if turn <= num_slips:
                hear(case, turn, Generation(case.reference(turn) or "", "stop", 0))
                continue
            kinds: tuple[Kind, ...] = (
                ("turn", "probe") if has_probe(case, turn, config, arm, history) else ("turn",)
            )
            if turn <= num_slips + len(earlier):
                hear(case, turn, earlier[turn - 1 - num_slips])
            elif case.id in full:
                # Without replies behind a full context the case would look successful.
                nothing = Generation("", "context_limit", 0)
                replies += [Reply(case, turn, k, case.user_turn(turn, k), nothing) for k in kinds]
            else:
                user = Message("user", case.user_turn(turn))
                dialogue = Dialogue(case.dialogue.id, (*messages[case.id], user))
                asked += [ask(case, dialogue, turn, kind, arm, config) for kind in kinds]
        yield replies, asked
        for reply in replies:
            if reply.kind == "turn":
                hear(reply.case, turn, reply.generation)
