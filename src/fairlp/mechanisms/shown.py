"""How an answer shows itself: its one-line form, its summary as a table, and its notes, as text or in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class Shown:
    """Text and HTML of what has a summary and notes."""

    notes: tuple[str, ...]

    def summary(self) -> pd.DataFrame:
        """Return the table to show."""
        raise NotImplementedError

    def __str__(self) -> str:
        table = self.summary().to_string(float_format=lambda value: f"{value:.6g}", max_rows=40)
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return f"{self!r}\n{table}{notes}"

    def _repr_html_(self) -> str:
        table = self.summary().to_html(float_format=lambda value: f"{value:.6g}", max_rows=40)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p>{escape(repr(self))}</p>{table}{notes}"
