"""IFBench (Pyatkin et al. 2025): prompts with constraints that a program verifies, and judges compared with it."""
