"""`GattTrainer`: trains on dialogues in memory, called as TRL's trainers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from peft import LoraConfig, PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import SFTConfig

from gatt.comb.model_support import packing_problem
from gatt.errors import ConfigError
from gatt.models.load import load_model, load_tokenizer
from gatt.models.template_variables import set_template_variables
from gatt.runs.provenance import jsonable
from gatt.runs.values import ShapeError, typed
from gatt.train.arguments import given_arguments, training_arguments
from gatt.train.config import TrainConfig
from gatt.train.data.rows import build_rows
from gatt.train.dialogues import samples_of
from gatt.train.runtime import current_runtime
from gatt.train.trainer import RowTrainer

_OF_A_FOLDER: Final = ("init_adapter", "load_in_4bit", "track")
"""Settings that `gatt.train.run` acts on before there is a trainer."""
_UNREAD: Final = ("samples", "model", "launch", "resume", *_OF_A_FOLDER)
"""Settings that have no meaning for a trainer in memory."""
_FROM_ARGS: Final = (
    "output_dir", "per_device_train_batch_size", "gradient_accumulation_steps", "seed", "disable_tqdm",
)  # fmt: skip
"""Settings of TRL that the rows, or this project's part of the trainer, depend on; with `max_length`."""


class GattTrainer(RowTrainer):
    """TRL's `SFTTrainer` with Ghost Attention: `train` trains a LoRA adapter, `save_model` saves it.

    Rows are made of the dialogues when the trainer is made: `train_dataset` then holds these rows. For files of
    samples, model cards and runs that resume by themselves see `gatt.train.run.train`.

    Example:
        >>> from tempfile import mkdtemp
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from trl import SFTConfig
        >>> from gatt import GattTrainer
        >>> from gatt.models.load import load_tokenizer
        >>> tokenizer = load_tokenizer("smollm2-135m-instruct")
        >>> model = LlamaForCausalLM(LlamaConfig(
        ...     vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16,
        ...     num_hidden_layers=1, num_attention_heads=2,
        ... ))
        >>> dialogues = [{"messages": [
        ...     {"role": "system", "content": "Speak French."}, {"role": "user", "content": "Hello!"},
        ...     {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Well?"},
        ... ], "targets": ["Bonjour !", "Très bien."]}]
        >>> trainer = GattTrainer(
        ...     model=model, args=SFTConfig(mkdtemp(), max_steps=1, bf16=False, disable_tqdm=True),
        ...     train_dataset=dialogues, processing_class=tokenizer, lora={"r": 4},
        ... )
        >>> trainer.train().global_step
        1
    """

    def __init__(
        self,
        model: Any,
        args: SFTConfig | TrainConfig | None = None,
        *,
        train_dataset: Iterable[Any] | None = None,
        processing_class: PreTrainedTokenizerBase | None = None,
        callbacks: Sequence[Any] | None = None,
        peft_config: LoraConfig | None = None,
        **settings: Any,
    ) -> None:
        """Make the rows and set up the trainer; nothing is trained yet.

        Args:
            model: a causal LM of transformers, a `PeftModel` to go on with, or the name of a model.
            args: TRL's settings, with TRL's defaults; or all settings as a `TrainConfig`, such as that of a
                run, whose `samples`, `model`, `launch` and `resume` are not read. None takes the defaults of
                `TrainConfig`, and `gatt-output` as its folder.
            train_dataset: a list, a `Dataset` or any iterable of dialogues, see
                `gatt.train.dialogues.samples_of`.
            processing_class: the model's tokenizer, with a chat template; None loads that of the model's name.
            callbacks: of transformers.
            peft_config: of a fresh adapter, for a model without one; None takes the setting `lora`.
            settings: keys of `TrainConfig` that `args` has not, such as `objective` or `lora`.

        Raises:
            ConfigError: a value of a wrong type, an unknown or wrong setting, one of TRL's that would have no
                effect, or an adapter that does not fit.
            DataError: a row that is no dialogue, with its number.
            ModelError: a name of which no model or tokenizer can be loaded.
            TrainingError: nothing can be learned.
            TemplateError: a template under which replies cannot be learned.
        """
        _check_model(model, peft_config)
        config = _config(_name_of(model), args, settings)
        if peft_config is not None and "lora" in settings:
            raise ConfigError("lora and peft_config: expected one of them")
        if isinstance(train_dataset, str | Mapping) or not isinstance(train_dataset, Iterable):
            raise ConfigError(
                f"train_dataset is {_shown(train_dataset)}: expected a list or a Dataset of dialogues"
            )
        trl_args = (
            given_arguments(args) if isinstance(args, SFTConfig) else training_arguments(config)
        )
        tokenizer = _tokenizer(processing_class, config)
        if isinstance(model, str):
            model = load_model(model, dtype="bfloat16" if trl_args.bf16 else "float32").model
        asked_for = config.attn_implementation
        rows, report = build_rows(
            samples_of(train_dataset), tokenizer, config,
            why_not_packable=lambda: packing_problem(model, asked_for, config.max_length),
            world_size=current_runtime().num_processes,
        )  # fmt: skip
        if report.layout == "expanded" and asked_for is not None:
            model.set_attn_implementation(asked_for)
        super().__init__(
            model, config, trl_args, rows, report, tokenizer=tokenizer, peft_config=peft_config
        )
        for callback in callbacks or ():
            self.add_callback(callback)


def _shown(value: object) -> str:
    """Return a value in a few words, for messages."""
    text = " ".join(str(value).split())
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:40] + '…'!r}"


def _check_model(model: Any, peft_config: Any) -> None:
    """Refuse what is no model to train, or no adapter for it.

    Raises:
        ConfigError: says what was expected.
    """
    if not isinstance(peft_config, LoraConfig | None):
        raise ConfigError(f"peft_config is {_shown(peft_config)}: expected a LoraConfig")
    if isinstance(model, str):
        return
    is_adapted = isinstance(model, PeftModel)
    language_model = model.get_base_model() if is_adapted else model
    if (
        not isinstance(language_model, PreTrainedModel)
        or language_model.get_output_embeddings() is None
    ):
        raise ConfigError(
            f"model is {_shown(model)}: expected a causal LM of transformers, a PeftModel around one, or a name"
        )
    if is_adapted and peft_config is not None:
        raise ConfigError("peft_config: the model has an adapter already: expected one of them")
    if is_adapted and not any(weight.requires_grad for weight in model.parameters()):
        raise ConfigError(
            "model: its adapter is frozen: load it with PeftModel.from_pretrained(..., is_trainable=True)"
        )


def _name_of(model: Any) -> str:
    """Return the name of a model for messages, by which its tokenizer may be found."""
    return model if isinstance(model, str) else model.name_or_path or type(model).__name__


def _config(name: str, args: Any, settings: Mapping[str, Any]) -> TrainConfig:
    """Return the settings of this project."""
    if isinstance(args, TrainConfig):
        if settings:
            raise ConfigError(f"{', '.join(settings)}: expected within args, a TrainConfig")
        if unread := [key for key in _OF_A_FOLDER if getattr(args, key)]:
            raise ConfigError(f"args: {_only_in_a_run(unread)}")
        return replace(args, model=name)
    if not isinstance(args, SFTConfig | None):
        raise ConfigError(f"args is {_shown(args)}: expected an SFTConfig or a TrainConfig")
    if unread := [key for key in _UNREAD if key in settings]:
        raise ConfigError(_only_in_a_run(unread))
    shared: dict[str, Any] = {"output_dir": "gatt-output"}
    if args is not None:
        of_trl = {field.name for field in fields(SFTConfig)}
        if double := [key for key in settings if key in of_trl]:
            raise ConfigError(f"{', '.join(double)}: expected within args, an SFTConfig")
        most = args.max_length
        # Without a limit of TRL's, a row is the limit.
        most = (
            settings.get("max_tokens_per_row", TrainConfig.max_tokens_per_row)
            if most is None
            else most
        )
        shared = {**{key: getattr(args, key) for key in _FROM_ARGS}, "max_length": most}
    values = {"samples": ["memory"], "model": name, **shared, **settings}
    try:
        return typed(TrainConfig, {key: _plain(key, value) for key, value in values.items()})
    except ShapeError as error:
        raise ConfigError(str(error)) from None


def _only_in_a_run(keys: Sequence[str]) -> str:
    return (
        f"{', '.join(keys)}: read for files only: expected `gatt.train.run.train`, or a model that was "
        "prepared so"
    )


def _plain(key: str, value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    try:
        return jsonable(value)
    except ValueError:
        raise ConfigError(
            f"{key} is {_shown(value)}: expected a number, a text, a list or a mapping"
        ) from None


def _tokenizer(given: Any, config: TrainConfig) -> Any:
    """Return the tokenizer, with the variables of its chat template set.

    Raises:
        ConfigError: it is of another type.
        ModelError: the model's name leads to none.
        TemplateError: it does not read such a variable.
    """
    if given is None:
        return load_tokenizer(config.model, config.chat_template_kwargs)
    if not isinstance(given, PreTrainedTokenizerBase):
        raise ConfigError(f"processing_class is {_shown(given)}: expected the model's tokenizer")
    set_template_variables(given, config.chat_template_kwargs)
    return given
