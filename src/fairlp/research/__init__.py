"""Research: studies, simulations, the ledger of the papers, the library of benchmarks.

The core works without it.
"""
