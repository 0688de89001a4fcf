r"""Ghost Attention: views, labels, comb packing, training, generation, verifiers.

What a program needs most is here by its short name, and loaded when it is asked for: views and
dialogues need no torch.

>>> from gatt import Dialogue, Message, sampling_view, training_view
>>> talk = ("user", "Hello!"), ("assistant", "Hi."), ("user", "Any plans?")
>>> dialogue = Dialogue("d1", tuple(Message(role, text) for role, text in talk))
>>> [m.content for m in sampling_view(dialogue, "Speak French.").messages if m.role == "user"]
['Speak French.\n\nHello!', 'Speak French.\n\nAny plans?']
>>> [(m.role, m.content) for m in training_view(dialogue, "Speak French.").messages][:2]
[('system', 'Speak French.'), ('user', 'Hello!')]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gatt.runs.short_names import short_names

if TYPE_CHECKING:
    from gatt.comb.collator import GattCollator
    from gatt.data.dialogue import Dialogue, Message
    from gatt.data.views import sampling_view, training_view
    from gatt.train.config import TrainConfig
    from gatt.train.gatt_trainer import GattTrainer

__all__ = [
    "Dialogue",
    "GattCollator",
    "GattTrainer",
    "Message",
    "TrainConfig",
    "__version__",
    "sampling_view",
    "training_view",
]

_PLACES: Final = {
    "Dialogue": "gatt.data.dialogue",
    "Message": "gatt.data.dialogue",
    "sampling_view": "gatt.data.views",
    "training_view": "gatt.data.views",
    "GattCollator": "gatt.comb.collator",
    "GattTrainer": "gatt.train.gatt_trainer",
    "TrainConfig": "gatt.train.config",
}
_get, __dir__ = short_names(__name__, {**_PLACES, "__version__": ""})


def __getattr__(name: str) -> Any:
    """Return what stands under a short name; torch is imported only for what needs it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("ghost-attention")
    return _get(name)
