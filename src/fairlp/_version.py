"""The version, in one place that loads nothing."""

__version__ = "2.0.0"
