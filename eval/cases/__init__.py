"""Drawing the cases of an evaluation from dialogues and instructions."""
