"""Generation of checklists from a task prompt, and the checks of what is generated."""
