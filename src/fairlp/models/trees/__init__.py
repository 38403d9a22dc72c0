"""Sharing along a tree of queues: rates of leaves, their common rise, and values of guarantees."""
