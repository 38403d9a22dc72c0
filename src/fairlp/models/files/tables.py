"""Tables as CSV: cells that are safe in spreadsheets, numbers, and allocations from elsewhere."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import FairlpError, FileFormatError, counted, require_known, warn_caller
from .whole_files import home, read_text, utf8

if TYPE_CHECKING:
    from ..instances.instance import Instance

__all__ = ["as_numbers", "csv_text", "read_table", "read_tasks", "tasks_table", "with_all_users"]

#: Users without tasks that a warning names.
_USERS_NAMED = 5
#: What a spreadsheet would compute, with any apostrophes before it, by which it is text; numbers
#: are only numbers.
_FORMULA = re.compile(
    r"'*(?![+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]+)?$|[+-]?inf$)[=+\-@\t\r].",
    re.DOTALL,
)


def guarded(cell: str) -> str:
    """Return a CSV cell; text that a spreadsheet takes for a formula gets a leading apostrophe.

    >>> guarded("=1+1"), guarded("-5"), guarded("'=1"), guarded("'s")
    ("'=1+1", '-5', "''=1", "'s")
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """Return what `guarded` was given.

    >>> [unguarded(guarded(cell)) for cell in ("=1+1", "'=1", "'s", "-")]
    ['=1+1', "'=1", "'s", '-']
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(frame: pd.DataFrame, **how: Any) -> str:
    """Return a table as CSV that is safe in spreadsheets; the options are those of pandas."""
    try:
        text = str(frame.to_csv(lineterminator="\n", **how))
    except UnicodeEncodeError as error:  # pandas looks for lone surrogates by itself
        utf8(error.object)
        raise
    return each_cell(text, guarded)


def each_cell(text: str, function: Callable[[str], str]) -> str:
    """Return CSV with a function of each cell."""
    changed = io.StringIO()
    rows = csv.reader(io.StringIO(text, newline=""))
    csv.writer(changed, lineterminator="\n").writerows(
        [function(cell) for cell in row] for row in rows
    )
    return changed.getvalue()


def read_tasks(path: str | Path, instance: Instance) -> pd.DataFrame:
    """Read a scheduler's allocation from CSV.

    Parameters
    ----------
    path : str or Path
        Either a table of users × servers (first column ``user``, a column for each server, as
        :meth:`Allocation.to_csv` writes it), or a long table with columns ``user``, ``server`` and
        ``tasks`` (rows of one pair are added up). Pairs that are not there have no tasks; a warning
        names users who are not there at all.
    instance : Instance
        Whose labels the table must use.

    Returns
    -------
    DataFrame
        Tasks, users × servers.

    Raises
    ------
    FileFormatError
        When the file cannot be read, names a user or server that the instance does not have, or
        holds no numbers.
    """
    return tasks_table(
        read_table(home(path), {"user": str, "server": str}), instance, repr(str(path))
    )


def tasks_table(
    table: pd.DataFrame,
    instance: Instance,
    where: str,
    error: type[FairlpError] = FileFormatError,
) -> pd.DataFrame:
    """Return tasks, users × servers, from a table as :func:`read_tasks` reads it.

    Parameters
    ----------
    table : DataFrame
    instance : Instance
    where : str
        What the table is, in messages.
    error : type
        Raised as `read_tasks` says.
    """
    if "user" not in table.columns:
        raise error(
            f"{where} has no column 'user'; expected it first, then a column for each server"
        )
    if not {"server", "tasks"} <= set(table.columns):
        for twice in table["user"][table["user"].duplicated()]:
            raise error(f"{where} has user {twice!r} twice")
        # melt would refuse a server that is called "tasks"
        pairs: Any = table.set_index("user").stack(future_stack=True)  # noqa: PD013
        pairs = pairs.rename_axis(["user", "server"]).rename("tasks")
        table = pairs.where(pairs.notna(), 0.0).reset_index()
    labels = {}
    for noun, index in (("user", instance.users), ("server", instance.servers)):
        labels[noun] = {str(label): label for label in index}
        for name in dict.fromkeys(table[noun].astype(str)):
            require_known(name, labels[noun], f"{where}: {noun} {name!r} is unknown", error)
    tasks = as_numbers(table["tasks"])
    for k in np.flatnonzero(~np.isfinite(tasks))[:1]:
        user, server, value = table[["user", "server", "tasks"]].iloc[k]
        raise error(
            f"{where}: tasks of user {user!r} on {server!r} are {repr(value)[:80]}; expected a "
            "finite number"
        )
    wide = table.assign(tasks=tasks).pivot_table(
        index="user", columns="server", values="tasks", aggfunc="sum"
    )
    wide.index = [labels["user"][str(user)] for user in wide.index]
    wide.columns = [labels["server"][str(server)] for server in wide.columns]
    return with_all_users(wide, instance, where).reindex(columns=list(instance.servers)).fillna(0.0)


def with_all_users(tasks: pd.DataFrame, instance: Instance, where: str) -> pd.DataFrame:
    """Return a table with a row for every user, 0 for users without one, whom a warning names."""
    missing = [user for user in instance.users if user not in tasks.index]
    if missing:
        others = (
            f" and {counted(len(missing) - _USERS_NAMED, 'more user')}"
            if missing[_USERS_NAMED:]
            else ""
        )
        names = ", ".join(map(repr, missing[:_USERS_NAMED]))
        pronoun = "counts" if len(missing) == 1 else "count"
        warn_caller(f"{where} has no tasks of {names}{others}, who {pronoun} as running none")
    return tasks.reindex(index=list(instance.users), fill_value=0.0)


def read_table(path: Path, types: dict[str, type]) -> pd.DataFrame:
    """Return a table of a CSV file; an error says why it cannot be read as one."""
    try:
        text = read_text(path)
        cells = io.StringIO(each_cell(text, unguarded) if "'" in text else text)
        table = pd.read_csv(cells, dtype=types, keep_default_na=False, na_values=[""])
        if not isinstance(table.index, pd.RangeIndex):
            raise ValueError("a row has more cells than there are columns")
        return table
    except (
        ValueError,
        OverflowError,
        csv.Error,
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
    ) as error:
        raise FileFormatError(f"{str(path)!r} could not be read as CSV: {error}") from error


def as_numbers(values: pd.Series[Any]) -> pd.Series[float]:
    """Return a column as floats: NaN for other entries, infinity for integers beyond floats.

    >>> as_numbers(pd.Series(["1", "two", 10**400], dtype=object)).tolist()
    [1.0, nan, inf]
    """
    try:
        numbers = pd.to_numeric(values, errors="coerce").astype(float)
    except OverflowError:  # pandas keeps long ones as Python's integers
        numbers = pd.to_numeric(values.astype(str), errors="coerce").astype(float)
    # before version 3.1 it takes long ones for no numbers
    if numbers.isna().any():
        is_long = numbers.isna() & values.map(lambda value: type(value) is int)
        numbers[is_long] = np.where(values[is_long] > 0, np.inf, -np.inf)
    return numbers
