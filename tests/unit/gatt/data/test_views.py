"""The two views: where the instruction stands, and what stays untouched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatt.data.dialogue import Dialogue, Message
from gatt.data.views import PLACEMENTS, prompt_of_turn, sampling_view, training_view
from gatt.errors import DataError
from tests.support.models.golden_templates import dialogue

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
