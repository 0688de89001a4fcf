"""How much memory one training pass takes beyond its model.

    python scripts/research/checks/training_memory.py head            # the LM head and the loss
    python scripts/research/checks/training_memory.py checkpointing   # gradient checkpointing with packed rows

`head`: a random model of one narrow layer, soft-capped logits, a vocabulary of 128 thousand and one packed row
with 4,000 supervised positions; forward and backward a piece at a time, as training does it, against all logits
at once (10 GB). `checkpointing`: the embedded model under LoRA and packed rows of several lengths. Each has a
process of its own. Printed are the peak beyond what the process holds before it, and seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

VOCABULARY = 128_000
TARGETS = 4000
HIDDEN = 512


def status(name: str) -> int:
    """Return a figure of `/proc/self/status`, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1024


def start_of_peak() -> int:
    """Forget the peak so far and return what is held, in bytes."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # Linux: the peak starts anew.
    return status("VmRSS")


def peak() -> int:
    """Return the peak since then."""
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else status("VmHWM")


def row_of(num_tokens: int, num_targets: int, vocabulary: int, *, by_kl: bool) -> dict[str, Any]:
    """Return the batch of one dialogue: a trunk, and targets of 50 tokens that fork from it."""
    from gatt.comb.collator import GattCollator, combs_to_features
    from gatt.comb.comb import IGNORE, Branch, Comb

    ids = torch.randint(vocabulary, (num_tokens,), generator=torch.Generator().manual_seed(0))
    trunk, rest = ids[: num_tokens - num_targets].tolist(), ids[-num_targets:].tolist()
    targets = [tuple(rest[start : start + 50]) for start in range(0, num_targets, 50)]
    forks = torch.linspace(1, len(trunk), len(targets)).long().tolist()
    objective = "kl" if by_kl else "targets"
    branches = tuple(Branch(f, t, t, objective) for f, t in zip(forks, targets, strict=True))
    comb = Comb(tuple(trunk), (IGNORE,) * len(trunk), branches)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    batch = GattCollator(0)([combs_to_features([comb])])
    return {name: value.to(device) for name, value in batch.items()}


def with_lora(base: Any) -> Any:
    """Return a model under a fresh adapter that takes packed rows."""
    from peft import LoraConfig, get_peft_model

    from gatt.comb.attention.backend import enable_comb_attention

    model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", target_modules="all-linear"))
    enable_comb_attention(model)
    return model.to("cuda" if torch.cuda.is_available() else "cpu").train()


def head(how: str) -> Callable[[], None]:
    """Return a pass: `pieces`, `pieces_kl` (by the KL divergence) or `at_once`."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    from gatt.comb.loss import batch_loss, reference_hidden, supervised_logits
    from gatt.comb.objectives.targets import cross_entropy

    config = Gemma2Config(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=4, head_dim=16, attn_logit_softcapping=None,
        final_logit_softcapping=30.0,
    )  # fmt: skip
    model = with_lora(Gemma2ForCausalLM(config))
    by_kl = how.endswith("_kl")
    batch = row_of(TARGETS + 100, TARGETS, VOCABULARY, by_kl=by_kl)

    def pieces() -> None:
        base = None
        if by_kl:
            with torch.no_grad(), model.disable_adapter():
                base = reference_hidden(model, batch)
        batch_loss(model, batch, reference_KH=base).loss.backward()

    def at_once() -> None:
        cross_entropy(*supervised_logits(model, batch)).backward()

    return pieces if how.startswith("pieces") else at_once


def checkpointing(how: str) -> Callable[[], None]:
    """Return a pass of `NUM_TOKENS,on` or `NUM_TOKENS,off`."""
    from gatt.comb.loss import batch_loss
    from gatt.models.load import load_model
    from gatt.models.packaged import EMBEDDED

    length, switch = how.split(",")
    model = with_lora(load_model(EMBEDDED, dtype="float32").model)
    for weight in model.parameters():
        # Copied from the mapped file, or the pass would seem to take their memory.
        weight.data = weight.data.clone()
    if switch == "on":
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()
    batch = row_of(int(length), int(length) // 4, 40_000, by_kl=False)
    return lambda: batch_loss(model, batch).loss.backward()


PASSES: dict[str, tuple[Callable[[str], Callable[[], None]], list[str]]] = {
    "head": (head, ["pieces", "pieces_kl", "at_once"]),
    "checkpointing": (
        checkpointing, [f"{length},{on}" for length in (1024, 2048, 4096) for on in ("off", "on")]
    ),
}  # fmt: skip


def main() -> None:
    """Measure the passes of one kind, or one of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=PASSES)
    parser.add_argument("how", nargs="*", help="some of its passes")
    args = parser.parse_args()
    make, all_of_them = PASSES[args.kind]
    if len(args.how) != 1:
        for how in args.how or all_of_them:
            subprocess.run([sys.executable, __file__, args.kind, how], check=True)
        return
    run = make(args.how[0])
    held, began = start_of_peak(), time.monotonic()
    run()
    seconds = time.monotonic() - began
    print(f"{args.how[0]:>12}: {(peak() - held) / 1e9:.2f} GB, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
