"""Users who arrive and never leave: dynamic DRF and the cautious LP, step by step."""
