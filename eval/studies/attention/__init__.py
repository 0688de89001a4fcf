"""Where the model looks: attention on the instruction's tokens (Llama 2, arXiv:2307.09288, Figure 10)."""
