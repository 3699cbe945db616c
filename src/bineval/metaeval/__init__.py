"""How far scores agree with people, from saved values alone."""
