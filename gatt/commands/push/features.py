"""The columns of GAtt samples, with their types: what a data set of them declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatt.runs.provenance import PACKAGES

if TYPE_CHECKING:
    from datasets import Features


def sample_features(*, has_switches: bool = False, is_spliced: bool = False) -> Features:
    """Return the features of `gatt.data.sample.GattSample.as_dict`.

    Args:
        has_switches: whether the run changes instructions; samples of others have no such key.
        is_spliced: whether there are samples of `gatt synth splice`, which name what they are made of.
    """
    from datasets import Features, List, Value

    text, whole, number = Value("string"), Value("int64"), Value("float64")
    verifiers = List({"kind": text, "params": text})
    instruction = {
        "id": text,
        "text": text,
        "wording": text,
        "entries": List(text),
        "families": List(text),
        "split": text,
        "verifiers": verifiers,
        "probes": List({"question": text, "verifiers": verifiers}),
        "hint": text,
        "utterances": List(text),
        "prefills": List(text),
    }
    switch = {"turn": whole, "kind": text, "place": text, "text": text, "instruction": instruction}
    return Features(
        {
            "id": text,
            "dialogue": {"id": text, "messages": List({"role": text, "content": text})},
            "instruction": instruction,
            **({"switches": List(switch)} if has_switches else {}),
            "turns": List(
                {
                    "turn": whole,
                    "reply": text,
                    "reason": text,
                    "kind": text,
                    "attempts": whole,
                    "verdicts": List(
                        {
                            "status": text,
                            "evidence": text,
                            "verifier": text,
                            "version": whole,
                            "span": List(whole),
                        }
                    ),
                    "refused": text,
                }
            ),
            "provenance": {
                "teacher": text,
                "adapter": text,
                "sampling": {"max_new_tokens": whole, "temperature": number, "top_p": number},
                "seed": whole,
                "versions": dict.fromkeys(PACKAGES, text),
                "commit": text,
                **({"spliced": List(text)} if is_spliced else {}),
            },
        }
    )
