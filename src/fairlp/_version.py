"""The version, in one place that loads nothing."""

__version__ = "0.1.0"
