"""Files for commands, in the folder of the test."""

from cli_runner import folder_with_newcomers, jobs, oversized

__all__ = ["folder_with_newcomers", "jobs", "oversized"]
