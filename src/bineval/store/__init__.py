"""The store: one SQLite file (or database) with runs, their verdicts, and every reply that was paid for."""
