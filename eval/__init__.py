"""Instruction adherence over many turns: roll-outs, metrics, report."""
