"""Mechanisms as models: one function Instance → Model each, written the way the paper writes it."""
