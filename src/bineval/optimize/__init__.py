"""Loops that improve prompts from verdicts: lessons from what went wrong, changes, and what they did."""
