"""One interior-point method for all programs over one feasible region of servers and users."""
