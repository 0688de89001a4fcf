"""The two views, where the instruction stands in them, and rows and lengths where it changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st

from gatt.data.dialogue import Dialogue, Message, View
from gatt.data.sample import GattSample, read_samples
from gatt.data.views import PLACEMENTS, prompt_of_turn, sampling_view, training_view, view_by_turn
from gatt.errors import DataError
from gatt.models.chat_template import render
from gatt.models.template_facts import inspect_template
from gatt.train.data.labels import build_combs
from gatt.train.data.rows import build_rows
from tests.support.models.built_rows import make
from tests.support.models.combs import combs_of, written_out
from tests.support.models.foreign_templates import foreign
from tests.support.models.golden_templates import GEMMA, SMOLLM2, dialogue
from tests.support.models.tiny import sample, tiny_tokenizer, write_samples
from tests.support.runs.switched import cancel, switched, to

TEXT = st.text("ab \n", min_size=1).filter(str.strip)


@st.composite
def dialogues(draw) -> Dialogue:
    messages = [Message("system", draw(TEXT))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 5))):
        messages += [Message("user", draw(TEXT)), Message("assistant", draw(TEXT))]
    return Dialogue("d", tuple(messages[: len(messages) - draw(st.integers(0, 1))]))


def contents(view: Dialogue) -> list[str]:
    return [m.content for m in view.messages]


def test_sampling_has_it_on_every_user_message_and_training_in_turn_one_only() -> None:
    assert contents(sampling_view(dialogue(2), "Speak French.")) == [
        "Speak French.\n\nHello there", "Hi Bob", "Speak French.\n\nHow are you", "Fine",
    ]  # fmt: skip

    assert contents(training_view(dialogue(2), "Speak French.", "system")) == [
        "Speak French.", "Hello there", "Hi Bob", "How are you", "Fine",
    ]  # fmt: skip
    assert contents(training_view(dialogue(2), "Speak French.", "first_user")) == [
        "Speak French.\n\nHello there", "Hi Bob", "How are you", "Fine",
    ]  # fmt: skip


def test_own_system_message_stays_in_front() -> None:
    own = dialogue(1, "Be brief.")
    assert contents(training_view(own, "X", "system"))[0] == "Be brief.\n\nX"
    assert contents(training_view(own, "X", "first_user"))[:2] == ["Be brief.", "X\n\nHello there"]
    assert contents(sampling_view(own, "X"))[:2] == ["Be brief.", "X\n\nHello there"]


@given(source=dialogues())
def test_the_control_is_the_sampling_view(source) -> None:
    assert training_view(source, "Rule.", "every_turn") == sampling_view(source, "Rule.")
    assert training_view(source, None, "every_turn") == source


@given(source=dialogues(), placement=st.sampled_from(PLACEMENTS))
def test_views_touch_nothing_else(source, placement) -> None:
    trained = training_view(source, "Rule.", placement)
    sampled = sampling_view(source, "Rule.")
    assert sum("Rule." in m.content for m in trained.messages) == 1
    assert sum("Rule." in m.content for m in sampled.messages) == source.num_turns
    assert trained.replies == sampled.replies == source.replies
    assert trained.user_turns[1:] == source.user_turns[1:]
    assert [u.removeprefix("Rule.\n\n") for u in sampled.user_turns] == list(source.user_turns)
    assert sampling_view(source, None) == training_view(source, None, placement) == source


@given(source=dialogues())
def test_prompts_end_with_their_user_message(source) -> None:
    for turn in range(1, source.num_turns + 1):
        prompt = prompt_of_turn(source, turn)
        assert prompt == source.messages[: len(prompt)]
        assert sum(m.role == "user" for m in prompt) == turn
        assert prompt[-1].role == "user"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sampling_view(dialogue(1), " "), "the instruction is blank"),
        (lambda: training_view(dialogue(1), ""), "the instruction is blank"),
        (
            lambda: training_view(dialogue(1), "X", "middle"),  # type: ignore[arg-type]
            "unknown placement 'middle': expected one of system, first_user",
        ),
        (lambda: prompt_of_turn(dialogue(2), 3), "dialogue 'd-1': no turn 3, it has 2"),
        (lambda: prompt_of_turn(dialogue(2), 0), "dialogue 'd-1': no turn 0, it has 2"),
    ],
)
def test_refusals(make, message) -> None:
    with pytest.raises(DataError, match=message):
        make()


def roles_and_texts(view: Dialogue) -> list[str]:
    return [f"{m.role}: {m.content}" for m in view.messages]


U1, A1, U2, A2, U3 = (m.content for m in sample(1, 3).dialogue.messages)


def test_the_training_view_announces_each_change_at_its_turn_only() -> None:
    dialogue = switched(()).dialogue
    assert roles_and_texts(training_view(dialogue, "Tennis.", "system", (cancel(3),))) == [
        "system: Tennis.", f"user: {U1}", f"assistant: {A1}", f"user: {U2}", f"assistant: {A2}",
        f"user: No more of that.\n\n{U3}",
    ]  # fmt: skip
    told = training_view(dialogue, "Tennis.", "first_user", (to("chess", 2, "system"), cancel(3)))
    assert isinstance(told, View)
    assert roles_and_texts(told) == [
        f"user: Tennis.\n\n{U1}", f"assistant: {A1}",
        "system: Now instead: You enjoy chess.", f"user: {U2}", f"assistant: {A2}",
        f"user: No more of that.\n\n{U3}",
    ]  # fmt: skip
    assert prompt_of_turn(told, 2) == told.messages[:4]
    assert told.first_turns(2).messages == told.messages[:5]


def test_the_sampling_view_follows_what_is_in_force() -> None:
    dialogue = switched(()).dialogue
    assert roles_and_texts(view_by_turn(dialogue, ["Tennis.", "Chess.", None])) == [
        f"user: Tennis.\n\n{U1}", f"assistant: {A1}", f"user: Chess.\n\n{U2}", f"assistant: {A2}",
        f"user: {U3}",
    ]  # fmt: skip
    assert view_by_turn(dialogue, ["X."] * 3) == sampling_view(dialogue, "X.")

    # The control has both on every turn.
    view = training_view(dialogue, "Tennis.", "every_turn", (to("chess", 2),))
    assert view.user_turns == (
        f"Tennis.\n\n{U1}",
        f"Now instead: You enjoy chess.\n\nYou enjoy chess.\n\n{U2}",
        f"You enjoy chess.\n\n{U3}",
    )


def test_a_dialogue_of_a_source_has_no_later_system_message() -> None:
    messages = (Message("user", "a"), Message("assistant", "b"), Message("system", "c"))
    whole = (*messages, Message("user", "d"))
    assert View("d", whole).num_turns == 2
    for kind, told in ((Dialogue, whole), (View, messages)):
        with pytest.raises(DataError, match=r"turn 2: expected role 'user' after .*'system'"):
            kind("d", told)


def test_smollm2_shows_a_later_system_message_in_its_place() -> None:
    tokenizer = SMOLLM2.tokenizer()
    assert inspect_template(tokenizer).has_later_system
    assert not inspect_template(GEMMA.tokenizer()).has_later_system
    view = training_view(switched(()).dialogue, "T.", "system", (cancel(2, "system"),))
    text = render(tokenizer, prompt_of_turn(view, 2), add_generation_prompt=True)
    assert text == (
        f"<|im_start|>system\nT.<|im_end|>\n<|im_start|>user\n{U1}<|im_end|>\n"
        f"<|im_start|>assistant\n{A1}<|im_end|>\n<|im_start|>system\nNo more of that.<|im_end|>\n"
        f"<|im_start|>user\n{U2}<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("place", ["user", "system"])
@pytest.mark.parametrize("supervise", ["last_turn", "all_turns", "context_only"])
def test_one_comb_learns_both_sides_and_equals_its_rows(place, supervise) -> None:
    tokenizer = tiny_tokenizer()
    one = switched((to("chess", 3, place), cancel(4, place)), 5)
    (part,) = build_combs(tokenizer, one, supervise=supervise).parts
    assert part.targets == (1, 2, 3, 4, 5)
    if supervise == "last_turn":
        assert all(b.labels == b.input_ids for b in part.comb.branches)
    prompts = [tokenizer.decode(part.comb.trunk[: b.fork]) for b in part.comb.branches]
    assert [p.count("Now instead") for p in prompts] == [0, 0, 1, 1, 1]
    assert [p.count("No more of that") for p in prompts] == [0, 0, 0, 1, 1]
    assert all(p.count("You enjoy tennis.") == 1 for p in prompts)


def test_the_length_policy_keeps_the_turns_that_say_what_holds() -> None:
    tokenizer = tiny_tokenizer()
    one = switched((to("chess", 3),), 8)
    whole = written_out(build_combs(tokenizer, one))
    limit = max(row.num_tokens for row in whole[:5])
    built = build_combs(tokenizer, one, max_length=limit)
    assert (len(built.targets), built.dropped_targets) == (8, ())
    texts = [tokenizer.decode(row.trunk) for row in written_out(built)]
    assert len(texts) == 8
    assert all("You enjoy tennis." in text for text in texts)
    # Turns 6 to 8 lose exchanges, and neither the first nor the one with the change.
    assert [t.count("Now instead") for t in texts] == [0, 0, 1, 1, 1, 1, 1, 1]
    assert all("day 1?" in text for text in texts)
    assert "day 2?" not in texts[7]
    assert "day 3?" in texts[7]


def test_a_target_without_room_for_the_change_is_dropped_with_a_line() -> None:
    tokenizer = tiny_tokenizer()
    one = switched((to("chess", 2), cancel(3)), 4)
    sizes = [row.num_tokens for row in written_out(build_combs(tokenizer, one))]
    # Nothing but turns that say what holds stands in front of turn 4.
    built = build_combs(tokenizer, one, max_length=sizes[3] - 1)
    assert len(built.targets) == 3
    assert built.num_exchanges_dropped == 0
    assert built.dropped_targets == (
        f"sample 's-1': {sizes[3]} tokens with turn 1, turn 2, turn 3 and turn 4 alone, more "
        f"than max_length {sizes[3] - 1}: raise it or shorten the messages",
    )


@pytest.mark.parametrize("name", ["cohere2", "deepseek_coder", "apriel_1_5"])
@pytest.mark.parametrize("placement", ["system", "first_user"])
def test_a_later_system_message_that_needs_a_first_one_stands_only_behind_one(
    name: str, placement: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Where none stands first, these take a later one to the beginning, or their own text from there."""
    tokenizer = foreign(name).tokenizer()
    facts = inspect_template(tokenizer)
    assert (facts.has_later_system, facts.has_later_system_alone) == (True, False)
    change = to("chess", 3, "system")
    late = replace(sample(2, 4), instruction=None, switches=(replace(change, kind="add"),))
    told = [switched((change,), 4), late]
    rows, report = build_rows(
        told, tokenizer, make(placement=placement), why_not_packable=lambda: None
    )
    assert not report.dropped
    assert (report.num_targets, report.num_rows) == (8, 2)
    trunks = [tokenizer.decode(combs_of(row)[0].trunk) for row in rows]
    in_front = "Now instead: You enjoy chess.\n\nWhat is the sea"
    # Without an instruction in turn 1 there is no first system message in either placement.
    assert [in_front in trunk for trunk in trunks] == [placement == "first_user", True]
    number = 2 if placement == "first_user" else 1
    assert f"{number} samples: a change of the instruction stands in front of" in caplog.text


def test_json_and_back_with_the_same_types_in_every_row(tmp_path) -> None:
    samples = [
        replace(sample(2), switches=()), switched((cancel(2),)), switched((to("chess"), cancel(3))),
    ]  # fmt: skip
    path = write_samples(tmp_path / "samples.jsonl", samples)
    assert list(read_samples(path)) == samples
    rows = load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c"))
    assert [len(switches) for switches in rows["switches"]] == [0, 1, 2]
    assert [s["instruction"] is None for s in rows["switches"][2]] == [False, True]
    assert rows["switches"][2][0]["instruction"]["id"] == "hobby.chess"
    # Lines of runs without changes have no such key.
    assert "switches" not in sample(1).as_dict()
    assert GattSample.from_dict(sample(1).as_dict()).switches is None


def test_a_sample_that_is_cut_keeps_the_changes_that_it_has() -> None:
    one = switched((to("chess", 2), cancel(4)), 5)
    assert one.first_turns(3).switches == (to("chess", 2),)
    assert [one.instruction_at(t) is None for t in (3, 4)] == [False, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"switches": [cancel(9).as_dict()]}, "switch at turn 9, but the dialogue has 3 turns"),
        ({"switches": "no"}, "not a sample of `gatt synth`"),
        ({"switches": [{"turn": 2}]}, "no 'kind': expected a sample written by"),
    ],
)
def test_broken_changes_of_a_line_are_named(change, message) -> None:
    with pytest.raises(DataError, match=message):
        GattSample.from_dict(switched(()).as_dict() | change)
