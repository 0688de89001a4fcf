"""What is told beside the rates."""

from __future__ import annotations

from eval.results.notes import note_of_cuts, note_of_entries, note_of_unanswered
from tests.support.runs.judged import sample


def test_cut_replies_are_told_for_every_arm_where_they_are_many() -> None:
    told = [
        sample(arm=arm, turn=turn, finish="length" if turn <= num_cut else "stop")
        for arm, num_cut in (("base", 3), ("gatt", 1))
        for turn in range(1, 21)
    ]
    probe = sample(arm="gatt", kind="probe", finish="length")
    [note] = note_of_cuts([*told, probe], 48)
    assert note.startswith("Judged replies that the limit of 48 tokens cut: base 15 %, gatt 5 %.")
    assert note_of_cuts([s for s in told if s.arm == "gatt"], 48) == []
    assert note_of_cuts([], 48) == []


def test_families_that_training_left_out_are_told() -> None:
    entries = {"hobby": {"trained": 2, "all": 9}, "figure": {"trained": 0, "all": 7}}
    [note] = note_of_entries({"entries": entries})
    assert note.endswith("drawn here: figure 0 of 7 (no case), hobby 2 of 9.")
    assert note_of_entries({"source": "chitchat"}) == []


def test_replies_that_no_server_gave_are_told() -> None:
    given = [sample(arm=arm, turn=t) for arm in ("base", "gatt") for t in (1, 2)]
    assert note_of_unanswered(given) == []
    missing = [sample(arm="gatt", turn=t, reply="", finish="unanswered") for t in (3, 4)]
    [note] = note_of_unanswered([*given, *missing])
    assert note.startswith("Replies that the server did not give, try after try: gatt 2.")
