"""Benchmark suites with human labels: their protocols, their questions, and what was published about them."""
