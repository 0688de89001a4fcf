"""A reply for every turn: sampled, verified, hinted, composed, or an honest gap.

Source: Llama 2, arXiv:2307.09288, section 3.3 ("in a process analogous to
rejection sampling"). Deviations: the teacher may read a request to be brief, draws with
a hint or a given beginning follow rejected ones, an utterance may be added, and a program may
bring a plain reply into a form; each target names its kind.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from data_synth.config import TeacherConfig
from data_synth.filters import Draw, SampleTargets, refuse
from data_synth.plan import PlannedSample
from gatt.data.catalog.programs import apply_programs
from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TargetKind, TurnTarget
from gatt.data.switches import texts_in_force
from gatt.data.views import JOINT, prompt_of_turn, view_by_turn, with_brief
from gatt.generation.base import (
    Engine,
    FinishReason,
    Generation,
    GenerationRequest,
    can_prefill,
    forget,
)
from gatt.verifiers import check_all, overall


@dataclass
class _Turn:
    """One turn of one planned sample, while it waits for its target."""

    sample: PlannedSample
    view: Dialogue
    turn: int
    taken: SampleTargets
    """Shared by the turns of the sample."""
    attempts: int = 0
    reply: str | None = None
    kind: TargetKind | None = None
    refused: list[str] = field(default_factory=list)
    """Reason of each draw that was refused."""
    verdicts: tuple[Mapping[str, Any], ...] = ()
    rejected: str | None = None
    """The first draw that the verifiers failed: the other side of a pair (`objective: preference`)."""
    usable: str | None = None
    """A reply that only the verifiers rejected; `compose` works on it."""

    @property
    def instruction(self) -> Instruction | None:
        """The instruction in force at this turn: it is in the prompt, and its verifiers judge the reply."""
        return self.sample.instruction_at(self.turn)


def sample_batch(
    engine: Engine,
    batch: Sequence[PlannedSample],
    config: TeacherConfig,
    *,
    seed: int,
    provenance: Mapping[str, Any],
) -> list[GattSample]:
    """Return the finished samples of a batch, in order.

    All turns that still lack a target are sampled together, so that the engine can
    encode each dialogue once. A draw depends on seed, sample, turn and attempt, not on
    the batch; a refusal depends on the sample alone.

    Raises:
        GenerationError: the engine gave no reply.
    """
    forget(engine)
    turns = [turn for sample in batch for turn in _turns(sample, config)]
    draws: dict[TargetKind, int] = {
        "sampled": config.attempts,
        "hinted": config.hint_attempts,
        "prefilled": config.prefill_attempts * can_prefill(engine),
    }
    kinds = [kind for kind, num in draws.items() for _ in range(num)]
    sampling = config.sampling.params(seed)
    adapter = "teacher" if config.adapter else None
    for attempt, kind in enumerate(kinds):
        waiting = [t for t in turns if t.reply is None and _can(t, kind)]
        if not waiting:
            continue
        requests = [_request(t, attempt, kind, config, seed) for t in waiting]
        replies = engine.generate(requests, sampling, adapter)
        for turn, generation in zip(waiting, replies, strict=True):
            _judge(turn, generation, kind, config)
    if config.compose:
        for turn in turns:
            if turn.reply is None:
                _compose(turn, config, seed)
    return [
        GattSample(
            id=sample.id,
            dialogue=sample.dialogue,
            instruction=sample.instruction,
            targets=tuple(
                TurnTarget(
                    turn=t.turn,
                    reply=t.reply,
                    reason=None if t.reply is not None else t.refused[-1],
                    kind=t.kind,
                    attempts=t.attempts,
                    verdicts=t.verdicts,
                    refused=tuple(t.refused),
                    rejected=t.rejected,
                )
                for t in turns
                if t.sample is sample
            ),
            provenance=provenance,
            switches=sample.switches,
        )
        for sample in batch
    ]


def _turns(sample: PlannedSample, config: TeacherConfig) -> list[_Turn]:
    first = sample.instruction.text if sample.instruction else None
    switches, num_turns = sample.switches or (), sample.dialogue.num_turns
    texts = texts_in_force(first, switches, num_turns)
    told = [with_brief(text, config.brief) for text in texts]
    view = view_by_turn(sample.dialogue, told)
    held = (sample.instruction, *(s.instruction for s in switches))
    taken = SampleTargets(config.quality, held)
    return [_Turn(sample, view, turn, taken) for turn in range(1, num_turns + 1)]


def _can(turn: _Turn, kind: TargetKind) -> bool:
    """Whether the instruction of a turn allows a draw of this kind."""
    instruction = turn.instruction
    if kind == "sampled":
        return True
    return instruction is not None and bool(
        (instruction.hint or instruction.examples) if kind == "hinted" else instruction.prefills
    )


def _request(
    turn: _Turn, attempt: int, kind: TargetKind, config: TeacherConfig, seed: int
) -> GenerationRequest:
    key = f"{turn.sample.id}/{turn.turn}/{attempt}"
    messages = prompt_of_turn(turn.view, turn.turn)
    expect = turn.sample.dialogue.expectations[turn.turn - 1]
    # What the user told earlier may stand anywhere in the dialogue.
    needs_all = expect is not None and expect.kind == "told"
    if config.context_turns is not None and not needs_all:
        messages = messages[-(2 * config.context_turns + 1) :]
    instruction = turn.instruction
    prefill = ""
    if instruction and kind == "hinted":
        # The last draw with a hint; the ones before it have the examples alone, if there are any.
        is_last = attempt == config.attempts + config.hint_attempts - 1
        if instruction.hint and (is_last or not instruction.examples):
            last = Message("user", messages[-1].content + JOINT + instruction.hint)
            messages = (*messages[:-1], last)
        told = with_brief(instruction.text, config.brief)
        examples = (
            Message("assistant", text) if i % 2 else Message("user", f"{told}{JOINT}{text}")
            for i, text in enumerate(instruction.examples)
        )
        messages = (*examples, *messages)
    elif instruction and kind == "prefilled":
        prefill = random.Random(f"{seed}/{key}").choice(instruction.prefills)
    # With `context_turns` its turns have their instruction in common.
    return GenerationRequest(key, messages, turn.sample.id, prefill)


def _judge(turn: _Turn, generation: Generation, kind: TargetKind, config: TeacherConfig) -> None:
    """Make a draw that passes filters and verifiers the target of its turn; else note the reason."""
    turn.attempts += 1
    _offer(turn, generation.text.strip(), kind, config, generation.finish, generation.server_end)


def _offer(
    turn: _Turn,
    text: str,
    kind: TargetKind,
    config: TeacherConfig,
    finish: FinishReason = "stop",
    server_end: str = "",
) -> None:
    told = tuple(m.content for m in prompt_of_turn(turn.sample.dialogue, turn.turn))
    expect = turn.sample.dialogue.expectations[turn.turn - 1]
    draw = Draw(text, finish, turn.instruction, config.brief, told, expect)
    if reason := refuse(draw, config.quality):
        # The reasons of a turn are stored as words of one text.
        words = "_".join(server_end.split())
        turn.refused.append(f"{reason}:{words}" if words else reason)
    else:
        _verify(turn, text, kind)


def _verify(turn: _Turn, text: str, kind: TargetKind) -> None:
    instruction = turn.instruction
    verdicts = check_all(instruction.verifiers, text) if instruction else ()
    turn.verdicts = tuple(v.as_dict() for v in verdicts)
    status = overall(verdicts) if instruction else "pass"
    if status != "pass":
        turn.refused.append("undecided" if status == "undecided" else "rejected")
        if status == "fail" and turn.rejected is None:
            turn.rejected = text
        turn.usable = text
    elif still_follows(
        turn.sample.instruction,
        turn.sample.switches or (),
        turn.sample.dialogue,
        turn.turn,
        text,
    ):
        turn.refused.append("leaks")
    elif turn.taken.take(text):
        turn.reply, turn.kind = text, kind
    else:
        turn.refused.append("repeats_target")


def _compose(turn: _Turn, config: TeacherConfig, seed: int) -> None:
    """Offer the last usable draw with what it lacks, then the dialogue's own reply brought into the form.

    Utterances come first, so that a form holds them too. What is composed is judged like a draw.
    """
    instruction = turn.instruction
    if instruction is None:
        return
    own = _own_reply(turn) if instruction.programs else None
    for plain in (turn.usable, own):
        if turn.reply is not None or not plain:
            continue
        text = apply_programs(instruction.programs, _with_utterances(turn, plain, seed))
        # A draw that nothing was added to was refused before; the own reply may have the form already.
        if text and (text != plain or plain == own):
            _offer(turn, text, "composed", config)


def _own_reply(turn: _Turn) -> str | None:
    """Return the reply that stands in the dialogue at the turn, None where it has none."""
    place = len(prompt_of_turn(turn.sample.dialogue, turn.turn))
    messages = turn.sample.dialogue.messages
    return messages[place].content.strip() if place < len(messages) else None


def _with_utterances(turn: _Turn, plain: str, seed: int) -> str:
    """Return a reply with those utterances that let further verifiers pass.

    A combination of entries may need an utterance of each entry.
    """
    instruction = turn.instruction
    assert instruction is not None

    def num_passed_by(text: str) -> int:
        return sum(v.status == "pass" for v in check_all(instruction.verifiers, text))

    rng = random.Random(f"{seed}/{turn.sample.id}/{turn.turn}/compose")
    text = plain if plain[-1] in ".!?…" else plain + "."
    num_passed, is_longer = num_passed_by(plain), False
    for utterance in rng.sample(instruction.utterances, len(instruction.utterances)):
        longer = f"{text} {utterance}"
        if (num := num_passed_by(longer)) > num_passed:
            text, num_passed, is_longer = longer, num, True
    return text if is_longer else plain
