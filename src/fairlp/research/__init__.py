"""What studies, simulations, the ledger and the library share, and efficiency against fairness.

The core works without it.
"""
