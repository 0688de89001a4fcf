"""`ifeval`: a constraint of IFEval, judged by the package `if-verifiable`. No rule of this project is in it.

Source: Zhou et al., arXiv:2311.07911. The package wants a model of nltk's (punkt) that is on no package
registry; `sentencex`, which this project splits sentences with, stands in for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from gatt.errors import MissingPackageError, VerifierError
from gatt.runs.suggest import did_you_mean
from gatt.verifiers.base import Verdict
from gatt.verifiers.rule import Rule

Parameters = Mapping[str, Any]
"""Of a constraint, by name."""
INSTALL: Final = "pip install 'ghost-attention[ifeval]'"


class IFEval(Rule):
    """Passes if the reply satisfies one constraint of IFEval.

    Nothing else is looked at: neither loops nor talk about the task. An empty reply fails, as there.

    Args:
        instruction_id: of the constraint, such as `punctuation:no_comma`.
        kwargs: its parameters; those that are null are left out.
        prompt: the user's message, for constraints that need it (`combination:repeat_prompt`).
    """

    kind = "ifeval"

    def __init__(
        self, instruction_id: str, kwargs: Parameters | None = None, prompt: str = ""
    ) -> None:
        registry = _registry()
        if instruction_id not in registry:
            raise VerifierError(
                f"ifeval: no constraint {instruction_id!r}{did_you_mean(instruction_id, registry)}: expected "
                f"one of {', '.join(registry)}"
            )
        self._name = instruction_id
        self._checker = registry[instruction_id](instruction_id)
        given = {name: value for name, value in (kwargs or {}).items() if value is not None}
        try:
            self._checker.build_description(**given)
            if "prompt" in (self._checker.get_instruction_args() or {}):
                self._checker.build_description(prompt=prompt)
        except (TypeError, ValueError) as error:
            raise VerifierError(f"ifeval: {instruction_id} with {given}: {error}") from None

    def check(self, reply: str) -> Verdict:
        """Return the verdict on one reply, by the package's rule alone."""
        return self.decide(reply)

    def decide(self, reply: str) -> Verdict:
        """Return the verdict on one reply."""
        if reply.strip() and self._checker.check_following(reply):
            return self.passed(f"satisfies {self._name}")
        return self.failed(f"does not satisfy {self._name}")


@cache
def _registry() -> Mapping[str, Any]:
    """Return the constraints by id, with a sentence splitter that needs no download."""
    try:
        from if_verifiable.ifeval import instructions_registry, instructions_util
        from nltk import tokenize
    except ImportError as error:
        raise MissingPackageError(
            f"ifeval: {error}: expected the package if-verifiable: {INSTALL}"
        ) from None
    instructions_util._get_sentence_tokenizer = _Splitter
    tokenize._get_punkt_tokenizer = lambda *_: _Splitter()
    constraints: Mapping[str, Any] = instructions_registry.INSTRUCTION_DICT
    return constraints


class _Splitter:
    """Splits English sentences, in the shape of nltk's tokenizers."""

    def tokenize(self, text: str) -> list[str]:
        """Return the sentences of a text."""
        from sentencex import segment

        return [sentence for sentence in segment("en", text) if sentence.strip()]
