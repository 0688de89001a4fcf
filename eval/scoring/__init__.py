"""From a reply to its verdict: verifiers, judge, task completion."""
