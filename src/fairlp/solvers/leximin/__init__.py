"""The leximin of a linear program: in rounds, and in rationals."""
