"""Metrics that need no chat model: word overlap, and small models of the hub."""
