"""How a solution shows itself: HTML in notebooks, and xarray."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import UnsupportedError
from .program import Block, free_name

if TYPE_CHECKING:
    from .program import Block
    from .solution import Solution


#: Rows and columns of a table that are shown; the rest is told by an ellipsis.
_MOST_ROWS = 20


_MOST_COLUMNS = 12


def html_of(solution: Solution) -> str:
    """Return a Solution as HTML: what it is, and the values of each variable."""
    parts = [f"<p>{escape(repr(solution))}</p>", f"<p>{escape(str(solution.status))}</p>"]
    if solution.x is not None:
        single = [block for block in solution.program.columns if not block.axes]
        if single:
            numbers = pd.Series(
                {block.name: block.unpack(solution.x) for block in single}, name="value"
            )
            parts.append(table(numbers.to_frame()))
        for block in solution.program.columns:
            if block.axes:
                shown = block.unpack(solution.x)
                shown = shown.to_frame() if isinstance(shown, pd.Series) else shown
                parts.append(f"<p>{escape(block.name)}</p>{table(shown)}")
    return "".join(parts)


def table(frame: pd.DataFrame) -> str:
    """Return a frame of numbers as HTML, the first and last of its rows and columns."""
    return str(
        frame.to_html(
            escape=True,
            float_format=lambda value: f"{value:.6g}",
            max_rows=_MOST_ROWS,
            max_cols=_MOST_COLUMNS,
            na_rep="",
        )
    )


def whole_table(frame: pd.DataFrame) -> str:
    """Return a frame of words as HTML; no cell is cut off."""
    with pd.option_context("display.max_colwidth", None):
        return str(frame.to_html(escape=True, float_format=lambda value: f"{value:.6g}", na_rep=""))


def imported_xarray() -> Any:
    """Return the package xarray; raise with the remedy where it is not installed."""
    try:
        import xarray
    except ImportError:
        raise UnsupportedError('a Dataset needs xarray: pip install "fairlp[xarray]"') from None
    return xarray


def to_xarray(solution: Solution) -> Any:
    """Return the values of all variables as an ``xarray.Dataset`` whose coordinates are the labels.

    Raises
    ------
    UnsupportedError
        Without xarray.
    NoSolutionError
        Without a point.
    """
    xarray = imported_xarray()
    x = solution.frame()["value"].to_numpy()  # raises where there is no point
    names = {block.name for block in solution.program.columns}
    arrays = {block.name: _array(xarray, block, x, names) for block in solution.program.columns}
    attributes = {
        "model": solution.program.name,
        "solver": solution.solver,
        "status": str(solution.status),
    }
    return xarray.Dataset(arrays, attrs=attributes)


def _array(xarray: Any, block: Block, x: np.ndarray, names: set[str]) -> Any:
    """Return a block as a DataArray; an index named like a variable gets an underscore."""
    dense = np.full(int(np.prod(block.shape)), np.nan)
    dense[slice(None) if block.positions is None else block.positions] = x[block.slice]
    coordinates = {}
    for symbol, labels in block.axes:
        coordinates[free_name(symbol, names)] = np.asarray(labels)
    return xarray.DataArray(
        dense.reshape(block.shape), coords=coordinates, dims=list(coordinates), name=block.name
    )
