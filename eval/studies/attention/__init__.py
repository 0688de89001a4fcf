"""Where the model looks: attention on the instruction's tokens, base model against GAtt.

`task` reads the cases and replies of an evaluation, `layout` finds the tokens of the instruction and of
the replies, `weights` reads attention weights, `masked` hides the instruction and answers again,
`statistics` sums up. Source: Llama 2, arXiv:2307.09288, Figure 10.
"""
