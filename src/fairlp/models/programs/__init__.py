"""Columns and rows: programs, their solutions, certificates, and the registry of back ends."""
