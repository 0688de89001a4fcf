"""Rules for a JSON object with the user's keys, and for one of some answers. No torch here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from gatt.commands.init.rule import PartChecks
from gatt.verifiers.spec import VerifierSpec

_KEYS: Final = re.compile(r"[\"“„«'‘`]\s*([^\"“”„«»'’`]+?)\s*[\"”“»'’`]")
_BARE: Final = re.compile(r"[\w-]+")
_ONE_BARE: Final = re.compile(
    r"\b(?:key|field|property)(?: named| called|:)? "
    r"(?P<key>(?!(?:only|please|each|per|and|or|alone)\b)[a-z][\w-]*)\W*$",
    re.IGNORECASE,
)


def json_keys(groups: Mapping[str, str], _table: Mapping[str, Any]) -> PartChecks:
    """Return the rule that a reply is a JSON object with the keys that the clause names, if it names any."""
    named = groups.get("keys", "")
    named = re.sub(r"\([^()]*\)", " ", named)
    keys = _KEYS.findall(named)
    if not keys:
        listed = re.sub(r"^\W*(?:named|called|are)\b", "", named).strip(" :.")
        pieces = re.split(r",? and |, ", listed)
        keys = [piece for piece in pieces if _BARE.fullmatch(piece)] if len(pieces) > 1 else []
        keys = keys if len(keys) == len(pieces) else []
        if only := _ONE_BARE.search(groups["hit"]):
            keys = [only["key"]]
    spec = VerifierSpec("json_object", {"keys": keys, "may_be_empty": True} if keys else {})
    shown = ", ".join(f'"{key}"' for key in keys or ("answer",))
    whole = json.dumps(dict.fromkeys(keys or ("answer",), "It is there."))
    return PartChecks(
        f"JSON with {shown}" if keys else "JSON",
        (spec,),
        hint=f"Reply with one valid JSON object with {shown}, and nothing around it.",
        good=(whole,),
        bad=("It should be there tomorrow.", *(["{}"] if keys else [])),
        # What other keys hold is the teacher's to say.
        program=""
        if len(keys) > 1
        else json.dumps({"name": "as_json", "key": (*keys, "answer")[0]}),
    )


def options(groups: Mapping[str, str], _table: Mapping[str, Any]) -> PartChecks:
    """Return the rule that a reply is one of the answers that the clause lists, and nothing else."""
    listed = groups.get("list") or groups.get("list2") or groups.get("list3", "")
    answers = [one.strip("\"“”„«»'‘’") for one in re.split(r",? or |, ", listed)]
    return PartChecks(
        f"one of {listed}",
        (VerifierSpec("one_of", {"options": answers}),),
        good=tuple(answers),
        bad=("Perhaps.",),
    )
