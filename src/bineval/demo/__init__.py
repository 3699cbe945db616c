"""The bundled demo: outputs with planted flaws, and how many of the flaws a judge finds."""
