"""The version, in one place that loads nothing."""

__version__ = "1.5.0"
