"""The targets of samples as rows of other trainers: TRL, axolotl and LLaMA-Factory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

from gatt.comb.comb import Branch
from gatt.data.dialogue import Dialogue, Message
from gatt.data.sample import GattSample
from gatt.data.views import prompt_of_turn
from gatt.errors import DataError, TemplateError
from gatt.models.chat_template import Tokenizer, encode, name_of, template_of
from gatt.models.control_tokens import control_ids
from gatt.models.encoded_view import encode_prompt, encode_reply
from gatt.models.template_facts import learnable_facts, usable_placement
from gatt.train.config import TrainConfig
from gatt.train.data.labels import BuiltSample, view_of_turns
from gatt.train.data.report import Dropped, reason_of
from gatt.train.data.rows import DrawnSample, draw_sample, encode_sample


@dataclass(frozen=True)
class Target:
    """One reply to learn."""

    sample: GattSample
    turn: int
    """Of the dialogue, from 1."""
    messages: tuple[Message, ...]
    """What the model reads, the user's message last."""
    reply: str
    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    """Of the reply, with what closes its turn: the tokens that carry loss."""
    rejected: str | None = None
    """The reply that the target is preferred to, in rows of pairs."""
    rejected_ids: tuple[int, ...] = ()

    @property
    def replies(self) -> list[tuple[str, tuple[int, ...]]]:
        """The reply, and the rejected one where there is one, with their tokens."""
        rejected = [] if self.rejected is None else [(self.rejected, self.rejected_ids)]
        return [(self.reply, self.ids), *rejected]

    @property
    def num_tokens(self) -> int:
        """Of the prompt with its longest reply."""
        return len(self.prompt_ids) + max(len(ids) for _, ids in self.replies)


def targets_of(
    samples: Iterable[GattSample], tokenizer: Tokenizer, config: TrainConfig, dropped: Dropped
) -> Iterator[list[Target]]:
    """Yield the targets that training would learn, those of one sample together, ascending.

    `dropped` counts the targets and samples that training leaves out as well, and those of another objective
    than the run's.

    Raises:
        TemplateError: no chat template, or one under which no reply can be learned as it stands.
    """
    facts = learnable_facts(tokenizer)
    usable = usable_placement(config.placement, facts)
    for whole in samples:
        drawn = draw_sample(whole, config, facts, usable)
        sample = drawn.sample
        if drawn.objective != config.objective:
            problem = f"sample {sample.id!r}: the objective {drawn.objective!r}, which these rows do not have"
            dropped.add(*reason_of(problem, sample))
            continue
        try:
            built = encode_sample(drawn, tokenizer, config, facts)
        except (DataError, TemplateError) as error:
            dropped.add(*reason_of(str(error), sample))
            continue
        for problem in built.dropped_targets:
            dropped.add(*reason_of(problem, sample))
        yield sorted(_targets(drawn, built), key=lambda target: target.turn)


def _targets(drawn: DrawnSample, built: BuiltSample) -> Iterator[Target]:
    for part in built.parts:
        firsts = [branch for branch in part.comb.branches if not branch.is_partner]
        partners: list[Branch | None] = [b for b in part.comb.branches if b.is_partner]
        partners = partners or [None] * len(firsts)
        for turn, branch, partner in zip(part.targets, firsts, partners, strict=True):
            shown = part.turns[: part.turns.index(turn) + 1]
            view = view_of_turns(drawn.sample, shown, drawn.placement)
            messages = prompt_of_turn(view, view.num_turns)
            prompt = part.comb.trunk[: branch.fork]
            target = drawn.sample.targets[turn - 1]
            yield Target(
                sample=drawn.sample,
                turn=turn,
                messages=messages,
                reply=target.reply or "",
                prompt_ids=prompt,
                ids=branch.input_ids,
                rejected=target.rejected if partner else None,
                rejected_ids=partner.input_ids if partner else (),
            )


_REPLY = "b"
_VIEW = Dialogue("rows", (Message("user", "a"), Message("assistant", _REPLY)))


@dataclass(frozen=True)
class ReplyFrame:
    """What a chat template writes around the last reply."""

    header: str
    """Between prompt and reply, learned; mostly empty."""
    closing: tuple[str, ...]
    """Tokens that close the turn, learned."""
    behind: str
    """Written after those, which `gatt` never learns: ChatML's line break."""


def frame_of(tokenizer: Tokenizer) -> ReplyFrame:
    """Return what stands around a last reply.

    Raises:
        DataError: no reply can be learned under the template.
    """
    prompt = encode_prompt(tokenizer, _VIEW, 1)
    ids = encode_reply(tokenizer, _VIEW, 1, prompt.ids, _REPLY)
    whole = encode(tokenizer, _VIEW.messages, add_generation_prompt=False)
    behind = whole[len(prompt.ids) + len(ids) :] if whole[: len(prompt.ids)] == prompt.ids else ()
    words = [_decoded(tokenizer, (token,)) for token in ids]
    # A reply of one letter may share its token with a space before it.
    place = max(i for i, word in enumerate(words) if word.strip() == _REPLY)
    header = "".join(words[:place]) + words[place].removesuffix(_REPLY)
    return ReplyFrame(header, tuple(words[place + 1 :]), _decoded(tokenizer, behind))


def training_template(tokenizer: Tokenizer, frame: ReplyFrame) -> str:
    """Return the chat template of the tokenizer without what it writes behind a last reply.

    A trainer that learns all behind the prompt then learns exactly our targets. Prompts, and whatever
    ends with a generation prompt, are rendered as before. Variables that were set for the run are in it.
    """
    template = template_of(tokenizer)
    if not frame.behind:
        return template
    # Jinja drops one line break at the end, and `{{ '' }}` keeps white space beside a block.
    body = template.removesuffix("\n")
    return (
        f"{{% set whole %}}{{{{ '' }}}}{body}{{{{ '' }}}}{{% endset %}}"
        "{% if add_generation_prompt or messages[-1]['role'] != 'assistant' %}{{ whole }}"
        f"{{% else %}}{{{{ whole[:-{len(frame.behind)}] }}}}{{% endif %}}"
    )


def _decoded(tokenizer: Tokenizer, ids: tuple[int, ...]) -> str:
    return str(tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of one format."""

    format: str
    trained: Tokenizer
    """The model's own with `template`."""
    frame: ReplyFrame

    @classmethod
    def of(cls, form: str, tokenizer: Tokenizer) -> RowMaker:
        """Return the maker for a tokenizer's template, with the run's variables set in it.

        Raises:
            TemplateError: axolotl, and a template whose closing or header it does not learn.
        """
        frame = frame_of(tokenizer)
        if form == "axolotl":
            _refuse_for_axolotl(tokenizer, frame)
        trained = copy(tokenizer)
        # axolotl learns an EOS token behind a reply, but no line break.
        if form.startswith("trl") or (
            form == "axolotl" and str(tokenizer.eos_token) in frame.behind
        ):
            trained.chat_template = training_template(tokenizer, frame)
        return cls(form, trained, frame)

    @property
    def template(self) -> str:
        """The chat template that the trainer is to use."""
        return template_of(self.trained)

    def usable(self, targets: Iterable[Target], dropped: Dropped) -> list[Target]:
        """Return the targets that the format can say; the others are counted."""
        usable = []
        for target in targets:
            if problem := self._problem(target):
                where = f"sample {target.sample.id!r}, turn {target.turn}"
                dropped.add(*reason_of(f"{where}: {problem}", target.sample))
            else:
                usable.append(target)
        return usable

    def rows(self, target: Target) -> list[dict[str, Any]]:
        """Return the row of a usable target, or the two of a pair."""
        prompt = [message.as_dict() for message in target.messages]
        said, *rejected = ([{"role": "assistant", "content": reply}] for reply, _ in target.replies)
        if self.format == "trl-kto":
            labelled = [(said, True), *((reply, False) for reply in rejected)]
            return [
                {"prompt": prompt, "completion": reply, "label": is_good}
                for reply, is_good in labelled
            ]
        if self.format == "trl-dpo":
            return [{"prompt": prompt, "chosen": said, "rejected": reply} for reply in rejected]
        return [self._row(prompt, said[0])]

    def _row(self, prompt: list[dict[str, Any]], said: dict[str, Any]) -> dict[str, Any]:
        if self.format == "trl":
            return {"prompt": prompt, "completion": [said]}
        if self.format == "axolotl":
            # The message to learn has `train: true`.
            flagged = [{**message, "train": False} for message in prompt]
            return {"messages": [*flagged, {**said, "train": True}]}
        system = prompt.pop(0)["content"] if prompt[0]["role"] == "system" else ""
        names = {"user": "human", "assistant": "gpt"}
        body = [{"from": names[m["role"]], "value": m["content"]} for m in (*prompt, said)]
        return {"conversations": body, "system": system}

    def _problem(self, target: Target) -> str:
        """Return why the trainer would see other tokens; empty where it does not."""
        if self.format == "llamafactory":
            if any(message.role == "system" for message in target.messages[1:]):
                return "a later system message, which LLaMA-Factory's rows have no place for"
            return ""
        prompt = encode(self.trained, target.messages, add_generation_prompt=True)
        is_same = prompt == target.prompt_ids
        for reply, ids in target.replies:
            messages = (*target.messages, Message("assistant", reply))
            joint = encode(self.trained, messages, add_generation_prompt=False)
            row = target.prompt_ids + ids
            if self.format == "axolotl":
                # What the template writes behind the reply carries no loss there.
                joint = joint[: len(row)]
            is_same = is_same and joint == row
        return (
            ""
            if is_same
            else "the chat template renders prompt and reply together otherwise than apart"
        )


def _refuse_for_axolotl(tokenizer: Tokenizer, frame: ReplyFrame) -> None:
    """Refuse a template of which axolotl would learn less than the target.

    It learns the words of a message, the first of `eot_tokens` behind them, and the EOS token.

    Raises:
        TemplateError: what else the template writes.
    """
    vocabulary, marks = tokenizer.get_vocab(), control_ids(tokenizer)
    unmarked = (word for word in frame.closing if vocabulary.get(word) not in marks)
    rest = frame.header or next(unmarked, "")
    if not rest and len(frame.closing) > 1 and frame.closing[1:] != (tokenizer.eos_token,):
        rest = frame.closing[1]
    if rest:
        raise TemplateError(
            f"{name_of(tokenizer)}: the chat template writes {rest!r} with a reply, which a target has and "
            "axolotl does not learn: use --format trl"
        )
