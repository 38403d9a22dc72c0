"""The version, in one place that loads nothing."""

__version__ = "1.7.0"
