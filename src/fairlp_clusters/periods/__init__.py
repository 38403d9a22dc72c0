"""Dumps over days: each tenant's share beside its due over time."""
