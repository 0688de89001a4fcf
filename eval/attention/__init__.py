"""Where the model looks: attention on the instruction's tokens, base model against GAtt.

`layout` says which tokens of a dialogue are the instruction's and which were generated;
`weights` reduces attention weights as each layer computes them; `measure` runs the
forward; `spoken` finds the replies; `masked` hides the instruction and asks again;
`statistics` sums up; `run` is the command. Source: Llama 2, arXiv:2307.09288, Figure 10.
"""
