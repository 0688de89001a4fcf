"""The bank: questions whose answers are known, facts that a user tells, small talk. No torch here."""
