"""A judge model over any engine: what no rule can tell, and how far it agrees with the rules.

`run.judge_samples` asks it, `status.attach` puts its verdicts on the samples,
`agreement.agreement` compares them with those of the rules.
"""
