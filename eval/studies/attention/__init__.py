"""Where the model looks: attention on the instruction's tokens, base model against GAtt.

`task` says which cases and who replies, `spoken` finds the replies; `layout` says
which tokens of a dialogue are the instruction's and which were generated;
`weights` reduces attention weights as each layer computes them; `measure` runs the
forward; `masked` hides the instruction and asks again; `statistics` and
`correlation` sum up; `run` is the command, `results` the value of its file.
Source: Llama 2, arXiv:2307.09288, Figure 10.
"""
