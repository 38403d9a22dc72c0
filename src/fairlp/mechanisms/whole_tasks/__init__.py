"""Whole tasks: progressive filling, precomputed DRF, integer programs, placement on servers."""
