"""Reading text: words, sentences, markup, folding, matching, degenerate replies."""
