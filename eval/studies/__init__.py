"""Studies beside adherence: attention and perplexity."""
