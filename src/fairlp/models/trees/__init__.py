"""Sharing along a tree of queues: rates of leaves, how they rise together, what a guarantee comes to."""
