"""A sample as the trainer sees it, for people.

`outline` says what each token of a prompt is, `view` cuts the rows that
training would make of a sample into pieces of text, `text` prints them.
"""
