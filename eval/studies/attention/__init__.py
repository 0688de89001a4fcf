"""Where the model looks: attention on the instruction's tokens, base model against GAtt.

`task` reads the cases and replies of an evaluation; `layout` finds the tokens of the
instruction and of the replies; `weights` runs the forward pass and reduces
attention weights as each layer computes them; `masked` hides the instruction and
samples again; `statistics` sums up, `results` makes the file, `run` is the command.
Source: Llama 2, arXiv:2307.09288, Figure 10.
"""
