"""Results as files, in the format that the suffix says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fairlp.errors import FileFormatError
from fairlp.toolkit import csv_text, home, require_folder, write_text


def write(
    path: str | Path,
    document: Callable[[], Any],
    table: Callable[[], pd.DataFrame],
    **others: Callable[[], str],
) -> Path:
    """Write a document as JSON, a table as CSV, or the text of another suffix; return the file."""
    target = home(path)
    suffix = target.suffix.lower().removeprefix(".")
    if suffix == "json":
        from fairlp.toolkit import write_document  # which asks for YAML

        return write_document(target, document())
    texts = {"csv": lambda: csv_text(table()), **others}
    if suffix not in texts:
        raise FileFormatError(
            f"cannot tell the format of {str(path)!r}; expected .json, .{', .'.join(texts)}"
        )
    require_folder(target)
    return write_text(target, texts[suffix]())
