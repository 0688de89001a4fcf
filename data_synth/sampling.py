"""Makes the target of every turn: sampled, verified, hinted, composed, or None with a reason.

Source: Llama 2, arXiv:2307.09288, section 3.3 ("in a process analogous to
rejection sampling"). Deviations: the teacher may read a request to be brief, draws with
a hint or a given beginning follow rejected ones, an utterance may be added, and a program may
bring a plain reply into a form; each target names its kind. In the mode `rewrite` the dialogue's own
reply is the target, kept, brought into the form, or rewritten (`data_synth.rewrite`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from data_synth.config import TeacherConfig
from data_synth.filters import Draw, refuse
from data_synth.plan import PlannedSample
from data_synth.rewrite import (
    forms_by_program,
    hint_of,
    replies_between,
    rewrite_prompt,
    tokens_needed,
    unlabelled,
)
from data_synth.sample_targets import SampleTargets
from gatt.data.catalog.programs import apply_programs
from gatt.data.catalog.switch_leakage import still_follows
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Instruction
from gatt.data.sample import GattSample, TargetKind, TurnTarget
from gatt.data.switches import texts_in_force
from gatt.data.views import JOINT, latest_exchanges, prompt_of_turn, view_by_turn, with_brief
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
    own: str | None = None
    """The dialogue's own reply, where the target is to say the same."""
    has_spare: bool = False
    """Whether that reply may stand as it is if no draw is accepted."""

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
    for turn in turns:
        if turn.own is not None:
            _without_teacher(turn, config, seed)
        elif config.mode == "rewrite" and config.compose:
            _answer_between(turn, config, seed)
    draws: dict[TargetKind, int] = {
        "sampled": config.attempts,
        "hinted": config.hint_attempts,
        "prefilled": config.prefill_attempts,
    }
    kinds = [kind for kind, num in draws.items() for _ in range(num)]
    sampling = config.sampling.params(seed)
    adapter = "teacher" if config.adapter else None
    for attempt, kind in enumerate(kinds):
        waiting = [t for t in turns if t.reply is None and _can(t, kind)]
        # An engine may be made when it is first asked.
        if not waiting or (kind == "prefilled" and not can_prefill(engine)):
            continue
        requests = [_request(t, attempt, kind, config, seed) for t in waiting]
        own = [t.own for t in waiting if t.own is not None]
        limit = tokens_needed(own, sampling.max_new_tokens) if own else sampling.max_new_tokens
        replies = engine.generate(requests, replace(sampling, max_new_tokens=limit), adapter)
        for turn, generation in zip(waiting, replies, strict=True):
            _check_reply(turn, generation, kind, config)
    for turn in turns:
        if turn.reply is None and turn.own is not None and turn.has_spare:
            _offer(turn, turn.own, "kept", config)
        if turn.reply is None and config.compose:
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
    in_front = [with_brief(text, config.brief) for text in texts]
    view = view_by_turn(sample.dialogue, in_front)
    held = (sample.instruction, *(s.instruction for s in switches))
    taken = SampleTargets(config.quality, held)
    made = [_Turn(sample, view, turn, taken) for turn in range(1, num_turns + 1)]
    if config.mode == "rewrite":
        for turn in made:
            # A question that was put between has a reply that says nothing.
            if not _is_between(turn):
                turn.own = _own_reply(turn)
    return made


def _is_between(turn: _Turn) -> bool:
    expect = turn.sample.dialogue.expectations[turn.turn - 1]
    return expect is not None and expect.kind in ("speaker", "topic")


def _without_teacher(turn: _Turn, config: TeacherConfig, seed: int) -> None:
    """Make the own reply the target: unchanged if it keeps the instruction, else by program.

    A share of the replies that keep it goes to the teacher first, and is kept if no rewriting is accepted.
    """
    own, key = turn.own or "", f"{seed}/{turn.sample.id}/{turn.turn}"
    instruction = turn.instruction
    if _is_fit(turn, own, config):
        turn.has_spare = True
        if instruction is None or random.Random(f"{key}/leave").random() < config.leave_share:
            _offer(turn, own, "kept", config)
        return
    if instruction is None:
        return
    # Seen beside the target, it is the worse reply.
    if overall(check_all(instruction.verifiers, own)) == "fail":
        turn.rejected = own
    if config.compose:
        _offer_first_fit(turn, forms_by_program(instruction, own, key), config)


def _answer_between(turn: _Turn, config: TeacherConfig, seed: int) -> None:
    """Make the target of a question that was put between by program, where there is a phrasing."""
    expect = turn.sample.dialogue.expectations[turn.turn - 1]
    if expect is not None and turn.instruction is not None:
        key = f"{seed}/{turn.sample.id}/{turn.turn}"
        _offer_first_fit(turn, replies_between(turn.instruction, expect, key), config)


def _offer_first_fit(turn: _Turn, texts: Iterator[str], config: TeacherConfig) -> None:
    """Make the first text that passes everything a composed target; none of the others counts as a draw."""
    for text in texts:
        if _is_fit(turn, text, config):
            _offer(turn, text, "composed", config)
        if turn.reply is not None:
            return


def _is_fit(turn: _Turn, text: str, config: TeacherConfig) -> bool:
    """Whether a text passes filters and verifiers."""
    if refuse(_draw(turn, text, config), config.quality):
        return False
    instruction = turn.instruction
    return instruction is None or overall(check_all(instruction.verifiers, text)) == "pass"


def _can(turn: _Turn, kind: TargetKind) -> bool:
    """Whether the instruction of a turn allows a draw of this kind."""
    instruction = turn.instruction
    if instruction is None and turn.own is not None:
        return False
    if kind == "sampled":
        return True
    return instruction is not None and bool(
        (instruction.hint or instruction.examples) if kind == "hinted" else instruction.prefills
    )


def _request(
    turn: _Turn, attempt: int, kind: TargetKind, config: TeacherConfig, seed: int
) -> GenerationRequest:
    key = f"{turn.sample.id}/{turn.turn}/{attempt}"
    expect = turn.sample.dialogue.expectations[turn.turn - 1]
    prompt = prompt_of_turn(turn.view, turn.turn)
    messages = latest_exchanges(prompt, config.context_turns, expect)
    instruction = turn.instruction
    prefill = ""
    if instruction and kind == "prefilled":
        prefill = random.Random(f"{seed}/{key}").choice(instruction.prefills)
    if instruction and turn.own is not None:
        hint = hint_of(instruction) if kind == "hinted" else ""
        said = turn.sample.dialogue.user_turns[turn.turn - 1]
        asked = rewrite_prompt(instruction, said, turn.own, hint)
        return GenerationRequest(key, (asked,), turn.sample.id, prefill)
    if instruction and kind == "hinted":
        # The last draw with a hint; the ones before it have the examples alone, if there are any.
        is_last = attempt == config.attempts + config.hint_attempts - 1
        if instruction.hint and (is_last or not instruction.examples):
            last = Message("user", messages[-1].content + JOINT + instruction.hint)
            messages = (*messages[:-1], last)
        in_front = with_brief(instruction.text, config.brief)
        examples = (
            Message("assistant", text) if i % 2 else Message("user", f"{in_front}{JOINT}{text}")
            for i, text in enumerate(instruction.examples)
        )
        messages = (*examples, *messages)
    # With `context_turns` its turns have their instruction in common.
    return GenerationRequest(key, messages, turn.sample.id, prefill)


def _check_reply(
    turn: _Turn, generation: Generation, kind: TargetKind, config: TeacherConfig
) -> None:
    """Make a draw that passes filters and verifiers the target of its turn; else note the reason."""
    turn.attempts += 1
    text = generation.text.strip()
    if turn.own is not None:
        text = unlabelled(text, turn.own, turn.instruction.text if turn.instruction else "")
        kind = "rewritten" if kind == "sampled" else kind
    _offer(turn, text, kind, config, generation.finish, generation.server_end)


def _offer(
    turn: _Turn,
    text: str,
    kind: TargetKind,
    config: TeacherConfig,
    finish: FinishReason = "stop",
    server_end: str = "",
) -> None:
    if reason := refuse(_draw(turn, text, config, finish), config.quality):
        # The reasons of a turn are stored as words of one text.
        words = "_".join(server_end.split())
        turn.refused.append(f"{reason}:{words}" if words else reason)
    else:
        _verify(turn, text, kind)


def _draw(turn: _Turn, text: str, config: TeacherConfig, finish: FinishReason = "stop") -> Draw:
    read = tuple(m.content for m in prompt_of_turn(turn.sample.dialogue, turn.turn))
    expect = turn.sample.dialogue.expectations[turn.turn - 1]
    brief = config.brief if turn.own is None else None
    return Draw(text, finish, turn.instruction, brief, read, expect, turn.own)


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
