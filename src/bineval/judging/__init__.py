"""Judging: who answers questions, how replies are read, and the runner that asks them all."""
