"""The table of an audit: a DataFrame whose long witnesses are shortened where it is shown, and whole in the data."""

from __future__ import annotations

from shutil import get_terminal_size
from typing import TYPE_CHECKING

import pandas as pd

from ..models.programs.solution import whole_table

if TYPE_CHECKING:
    from collections.abc import Callable

#: Letters of a witness that a notebook shows, and the fewest that a printed table does.
_SHOWN, _FEWEST = 200, 40
#: Columns of a printed table where no terminal says how many it has.
_COLUMNS = 160
_CUT = "… witnesses are cut; those of .witness are whole"
#: Columns that hold objects: where there are any, a printed table tells of which properties.
_OBJECTS = {"better": "allocations that show it", "misreport": "lies that pay"}


class AuditTable(pd.DataFrame):
    """Findings by property; what is taken from it (rows, columns) is one, too."""

    @property
    def _constructor(self) -> Callable[..., AuditTable]:
        return AuditTable

    def __repr__(self) -> str:
        if "witness" not in self.columns or self.empty:
            return str(super().__repr__())
        words = [name for name in self.columns if name not in _OBJECTS]
        frame = pd.DataFrame(self)[words].astype(object)
        rest = len(frame.drop(columns="witness").to_string().split("\n", 1)[0])
        most = max(get_terminal_size((_COLUMNS, 24)).columns - rest - 2, _FEWEST)
        said = [_cut(str(text), most) for text in frame["witness"]]
        widest = max(map(len, said))
        frame["witness"] = [text.ljust(widest) for text in said]
        margins = {"margin": lambda value: f"{value + 0.0:.3g}"} if "margin" in words else {}
        text = frame.to_string(formatters=margins, justify="left", max_colwidth=most + 1)
        lines = [line.rstrip() for line in text.split("\n")]
        if any(len(str(text)) > most for text in self["witness"]):
            lines.append(_CUT)
        for name, what in _OBJECTS.items():
            there = [] if name not in self.columns else self.index[self[name].notna()].astype(str).tolist()
            lines += [f"{what} (.{name}): {', '.join(there)}"] if there else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        filled = pd.DataFrame(self)[[name for name in self.columns if self[name].notna().any()]]
        filled = filled.astype(object).where(filled.notna(), "")
        for name in set(_OBJECTS).intersection(filled.columns):  # an allocation shows its numbers below its first line
            filled[name] = [repr(one).split("\n")[0] if one != "" else "" for one in filled[name]]
        if "witness" not in filled.columns:
            return whole_table(filled)
        whole = filled["witness"].astype(str)
        note = f"<p>{_CUT}</p>" if (whole.str.len() > _SHOWN).any() else ""
        return whole_table(filled.assign(witness=[_cut(text, _SHOWN) for text in whole])) + note


def _cut(text: str, most: int) -> str:
    """Return a text in one line, its beginning where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
