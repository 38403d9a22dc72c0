"""One interior-point method for all programs over one feasible region of servers and users."""

from __future__ import annotations

#: The name of the back end.
INTERIOR = "interior-point"
