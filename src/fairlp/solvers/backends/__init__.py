"""One file a solver, and what they share: scaling, sessions, tangents, explanations."""
