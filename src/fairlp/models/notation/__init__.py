"""The papers' sums in index notation: expressions, models, their compiler and how they print."""
