"""What is shared out: an Instance, its checks, placement constraints, and what can be merged."""
