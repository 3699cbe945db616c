"""Numbers over examples, with their uncertainty."""
