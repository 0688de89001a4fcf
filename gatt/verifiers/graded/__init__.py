"""Verdicts that no rule gives: a judge model, a score of the user's own."""
