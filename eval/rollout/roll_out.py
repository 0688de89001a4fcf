"""Roll-outs: what each arm replies at the turns that are judged.

There are two histories. `reference`: every judged turn is answered within the dialogue as it
stands, so all turns of a case share one prefix. `own`: the model reads its own replies; all
cases of a batch move forward turn by turn. Probes are asked off the record: they replace the
user message, and no later turn reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from eval.cases.asked_turns import asked_turns, has_probe, last_turn
from eval.config import EvalConfig, reminded_every
from eval.records.case import BLANK, Case, Reply
from eval.records.samples import History, Kind
from gatt.data.dialogue import Dialogue, Message
from gatt.data.views import announced, prompt_of_turn, training_view, view_by_turn
from gatt.generation.base import Engine, Generation, GenerationRequest

Asked = tuple[GenerationRequest, Callable[[Generation], Reply]]
"""A request, and what makes the reply of its generation."""
Step = tuple[list[Reply], list[Asked]]
"""Replies that need no asking, and what is asked: who asks adds its replies to the first list."""


def roll_out(
    engine: Engine,
    cases: Sequence[Case],
    arm: str,
    history: History,
    config: EvalConfig,
    said: Mapping[str, Sequence[Generation]] | None = None,
) -> Iterator[list[Reply]]:
    """Yield the replies of one arm to a batch of cases, step by step, in the order of the cases.

    An interruption never cuts a step. With reference history a step is all replies to the
    batch. With own history it is the replies to one turn, judged or not, because the next
    turn reads them.

    Args:
        engine: answers.
        cases: of the batch.
        arm: who answers.
        history: what the arm reads.
        config: of the evaluation.
        said: with own history, the replies before an interruption: case id to the replies to
            its first turns. They are not yielded again.

    Raises:
        GenerationError: the engine gave no reply.
    """
    adapter = arm if arm in config.adapters else None
    params = config.sampling.params(config.seed)
    order = {case.id: index for index, case in enumerate(cases)}
    steps: Iterable[Step]
    if history == "own":
        steps = own_steps(cases, arm, config, said)
    else:
        found = [(case, *asked) for case in cases for asked in asked_turns(case, config)]
        # Ordinary turns first.
        found.sort(key=lambda a: a[2] == "probe")
        steps = [([], [ask(c, c.dialogue, turn, kind, arm, config) for c, turn, kind in found])]
    for replies, asked in steps:
        requests = [request for request, _ in asked]
        answers = engine.generate(requests, params, adapter) if asked else []
        replies += [reply(g) for (_, reply), g in zip(asked, answers, strict=True)]
        if replies:
            yield sorted(replies, key=lambda r: (order[r.case.id], r.kind == "probe", r.turn))


def arm_view(case: Case, dialogue: Dialogue, arm: str, config: EvalConfig) -> Dialogue:
    """Return the dialogue as the arm reads it: with the instruction once, or also on later turns.

    A change is announced at its turn to every arm. A case whose user gives the instruction stays as it is.
    """
    switches = tuple(s for s in case.switches if s.turn <= dialogue.num_turns)
    if case.is_given:
        return announced(dialogue, switches)
    every = reminded_every(arm)
    text = case.instruction.text if case.instruction else None
    if every is None:
        return training_view(dialogue, text, config.placement, switches)
    held = [case.held_at(turn) for turn in range(1, dialogue.num_turns + 1)]
    texts = [i.text if i and turn % every == 0 else None for turn, i in enumerate(held)]
    if every == 1:
        return announced(view_by_turn(dialogue, texts), switches)
    repeated = view_by_turn(dialogue, [None, *texts[1:]])
    return training_view(repeated, text, config.placement, switches)


def ask(
    case: Case, dialogue: Dialogue, turn: int, kind: Kind, arm: str, config: EvalConfig
) -> Asked:
    """Return what an arm is asked at a turn of a dialogue that reaches it."""
    user = case.user_turn(turn, kind)
    if kind == "probe":
        first = int(dialogue.has_system) + 2 * turn - 2
        dialogue = Dialogue(dialogue.id, (*dialogue.messages[:first], Message("user", user)))
    messages = prompt_of_turn(arm_view(case, dialogue, arm, config), turn)
    key = f"{case.id}/{turn}/{kind}"
    request = GenerationRequest(key, messages, f"{arm}/{case.id}", is_aside=kind == "probe")
    return request, partial(Reply, case, turn, kind, user)


def own_steps(
    cases: Sequence[Case],
    arm: str,
    config: EvalConfig,
    said: Mapping[str, Sequence[Generation]] | None = None,
) -> Iterator[Step]:
    """Return the steps of a roll-out in own history; see `roll_out`."""
    messages: dict[str, list[Message]] = {case.id: [] for case in cases}
    full: set[str] = set()

    def hear(case: Case, turn: int, generation: Generation) -> None:
        if generation.finish == "context_limit":
            full.add(case.id)
        text = generation.text.strip() or BLANK
        user = Message("user", case.user_turn(turn))
        messages[case.id] += [user, Message("assistant", text)]

    for turn in range(1, max(last_turn(case, config) for case in cases) + 1):
        asked: list[Asked] = []
        replies: list[Reply] = []
        for case in (c for c in cases if turn <= last_turn(c, config)):
            known = (said or {}).get(case.id, ())
            kinds: tuple[Kind, ...] = (
                ("turn", "probe") if has_probe(case, turn, config) else ("turn",)
            )
            if turn <= len(known):
                hear(case, turn, known[turn - 1])
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
