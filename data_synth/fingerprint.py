"""What the samples of a run depend on: equal settings give equal samples."""

from __future__ import annotations

from typing import Any

from data_synth.config import SynthConfig
from data_synth.filters import FILTERS_VERSION
from data_synth.plan.plan import Plan
from gatt.config.load import config_dict
from gatt.data.catalog.switch_leakage import LEAKS_VERSION
from gatt.verifiers import verifier_versions


def run_settings(config: SynthConfig, plan: Plan, teacher_weights: str) -> dict[str, Any]:
    """Return settings, weights, verifiers and plan of a run, as JSON takes them.

    Args:
        config: the whole of it.
        plan: its samples.
        teacher_weights: digest of the teacher's weights; empty for an engine without a digest.

    Raises:
        ModelError: the teacher's adapter cannot be read.
    """
    made = {"digest": plan.digest, "num_turns": plan.num_turns(range(len(plan)))}
    return fingerprinted(config) | {"teacher_weights": teacher_weights, "plan": made}


def fingerprinted(config: SynthConfig) -> dict[str, Any]:
    """Return what decides the samples: not the output folder, nor the limits of the machine.

    `batch_samples` counts, because samples of one batch are computed together. What
    `EngineConfig.decisive` leaves out can change the last bits of a local model's
    arithmetic, as another machine does, but never the random stream of a reply.

    Raises:
        ModelError: the teacher's adapter cannot be read.
    """
    settings = config_dict(config)
    del settings["output_dir"], settings["ray"]
    if config.switch is None:
        # Runs from before `switch` existed go on.
        del settings["switch"]
    engine, adapter = config.teacher.engine, config.teacher.adapter
    settings["teacher"]["engine"] = config_dict(engine.decisive())
    settings["verifiers"] = verifier_versions()
    settings["filters"] = FILTERS_VERSION
    if config.switch is not None:
        settings["leaks"] = LEAKS_VERSION
    settings["adapter_weights"] = engine.adapter_digest(adapter) if adapter else ""
    return settings
