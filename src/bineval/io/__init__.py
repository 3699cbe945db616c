"""Readers and writers of data files, checklists and exports; errors name file, line and field."""
