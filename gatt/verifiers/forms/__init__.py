"""Rules about the form of a reply: length, letters, lists, openings and endings."""
