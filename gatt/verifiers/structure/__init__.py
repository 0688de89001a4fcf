"""Rules about the parts of a reply: paragraphs, sections, postscripts, wrapping."""
