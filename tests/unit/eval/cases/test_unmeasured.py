"""What cannot be measured is counted and said before the first reply is sampled."""

from __future__ import annotations

import logging

import pytest

from eval.cases.build import Inputs
from eval.cases.unmeasured import MOST_REPLIES, find_unmeasured, triggers_of
from eval.config import EvalConfig
from eval.records.case import Case
from eval.records.case_file import read_cases
from eval.run import evaluate
from eval.scoring.judge.config import JudgeConfig
from gatt.data.catalog.choice import InstructionChoice
from gatt.data.catalog.ordinary_replies import ORDINARY
from gatt.data.catalog.read import Catalog, load_catalog
from gatt.data.dialogue import Dialogue, Message
from gatt.data.instruction import Entry
from gatt.errors import ConfigError
from gatt.verifiers.spec import VerifierSpec
from tests.support.runs.case_files import TEA, case_config, write_case_file
from tests.support.runs.stages import RecordingEngine, dialogue

KIND = {"kind": "judge", "rubric": "The reply is kind."}


def case(name, *rules, **more):
    told = {"text": f"Do {name}.", "family": "f", "verifiers": list(rules)}
    return {"id": name, "user_turns": ["Hi!", f"And {name}?"], "instruction": told, **more}


def config(folder, cases, **changes) -> EvalConfig:
    settings = {"arms": ("base", "base+system+reminder"), "probe_turns": (2,)}
    return case_config(folder, write_case_file(folder, cases), **(settings | changes))


def probed(*rules):
    return {"probes": [{"question": "What?", "verifiers": list(rules)}]}


TO_MILK = {
    "turn": 2,
    "kind": "replace",
    "text": "Now milk.",
    "instruction": {"text": "x", "family": "f", "verifiers": [TEA]},
}
JUDGE_OF_ONE = JudgeConfig(arms=("base",), turns=(2,))
ASKED = case("a", KIND) | {
    "user_turns": None,
    "messages": [
        {"role": "user", "content": "What is 2 + 2?", "expect": {"any_of": ["4"]}},
        {"role": "assistant", "content": "Four."},
        {"role": "user", "content": "Thanks!"},
    ],
}
COMPLETION = JudgeConfig(tasks=("completion",))


@pytest.mark.parametrize(
    ("cases", "changes", "gaps", "is_all"),
    [
        ([case("a", TEA)], {}, [], False),
        ([case("a", TEA), case("b", KIND)], {}, [("turns", 4, 8)], False),
        ([case("a", TEA, KIND), case("b")], {}, [("turns", 8, 8)], True),
        ([case("a", KIND)], {"judge": JudgeConfig()}, [], False),
        ([case("a", KIND)], {"judge": JUDGE_OF_ONE}, [("turns", 3, 4)], False),
        ([case("a", KIND)], {"judge": COMPLETION}, [("turns", 4, 4)], True),
        ([case("a", TEA, **probed(KIND))], {"judge": JudgeConfig()}, [("probes", 2, 2)], False),
        ([case("a", KIND, switches=[TO_MILK])], {}, [("turns", 2, 4)], False),
        ([{"id": "p", "user_turns": ["Hi!", "So?"]}], {}, [("turns", 4, 4)], True),
        # An answer that is expected is measured, whatever decides the instruction.
        ([ASKED], {}, [("turns", 4, 4)], False),
        ([ASKED | {"instruction": None}], {}, [("turns", 4, 4)], False),
    ],
)
def test_replies_that_stay_open_are_counted(tmp_path, cases, changes, gaps, is_all) -> None:
    settings = config(tmp_path, cases, **changes)
    found = find_unmeasured(settings, read_cases(settings.cases), None)
    notes = [(what.split()[-1], *note.split()[:3:2]) for what, note in found.gaps.items()]
    assert notes == [(what, str(num), str(total)) for what, num, total in gaps]
    assert found.is_all == is_all
    if is_all and "instruction" in cases[0]:
        with pytest.raises(ConfigError, match=r"\d of \d replies to turns: .*unmeasured"):
            evaluate(settings, lambda: pytest.fail("a reply was asked for"))
        assert not settings.output_dir.exists()


@pytest.mark.parametrize(
    ("cases", "changes", "count"),
    [
        ([case("a", KIND)], {"unmeasured": True}, "4 of 4"),
        ([case("a", KIND), case("b", TEA)], {}, "4 of 8"),
        ([case("b", TEA)], {}, None),
    ],
)
def test_what_is_not_measured_is_said_before_the_first_reply(
    tmp_path, caplog, cases, changes, count
) -> None:
    said: list[int] = []

    def reply(request):
        said.append(len(caplog.records))
        return "Tea."

    with caplog.at_level(logging.WARNING, "eval"):
        results = evaluate(
            config(tmp_path, cases, **changes), lambda: RecordingEngine(reply)
        ).results
    noted = [n for n in results["notes"] if n.startswith("Not measured")]
    assert noted == [r.getMessage() for r in caplog.records if r.name == "eval.run"]
    assert [count in note for note in noted] == ([True] if count else [])
    assert min(said) == len(noted)


FOLLOWED_BY_NEARLY_ALL = {
    "format.one_sentence", "format.two_sentences", "format.no_commas", "format.no_digits",
    "format.no_exclamation_marks", "format.without_the", "format.at_most_fifteen_words",
    "format.at_least_fifty_words", "format.lowercase", "format.with_number",
    "format.ends_with_question", "format.three_lines",
}  # fmt: skip


def triggers(folder, catalog: Catalog, dialogues, turns=(1,)):
    settings = config(folder, (), turns=turns, instructions=InstructionChoice())
    plain = Case("plain-0000", dialogues[0], None, None)
    found = triggers_of(settings, catalog, Inputs((plain,), tuple(dialogues), (), {}))
    assert found
    return found


def test_formats_that_ordinary_replies_have_are_left_out(tmp_path) -> None:
    catalog = load_catalog()
    found = triggers(tmp_path, catalog, [dialogue(1, 1)])
    # A role passes until it is broken: it shows where it is asked for.
    roles = {e.id for e in catalog.entries if e.facts}
    assert set(found.left_out) == FOLLOWED_BY_NEARLY_ALL | roles
    counted = {e.id for e in found.entries}
    assert {"format.haiku", "language.fr"} <= counted
    assert len(counted) + len(found.left_out) == len(catalog.entries)
    assert found.num_ordinary == len(ORDINARY)


def test_what_the_dialogues_satisfy_on_their_own_is_left_out_but_for_judged_replies(
    tmp_path,
) -> None:
    # 100 replies: 1 of 100 may speak of tea, 2 of 100 of coffee are too many; the first is judged.
    replies = ["Tea or milk.", "We had tea.", "Coffee is fine.", "More coffee please."]
    replies += [f"It was calm on day {n}." for n in range(97)]
    said = [m for r in replies for m in (Message("user", "And?"), Message("assistant", r))]
    entries = tuple(
        Entry(f"x.{n}", "x", n, ("x",), "x", (VerifierSpec("terms", {"any_of": [n]}),))
        for n in ("tea", "coffee", "milk")
    )
    found = triggers(tmp_path, Catalog(entries), [Dialogue("d", tuple(said))])
    assert found.as_dict() == {
        "num_entries": 2,
        "num_left_out": 1,
        "left_out": ["x.coffee"],
        "num_ordinary_replies": 100 + len(ORDINARY),
    }
    many = [dialogue(n, 20) for n in range(20)]
    assert triggers(tmp_path, Catalog(entries), many).num_ordinary == MOST_REPLIES + len(ORDINARY)
