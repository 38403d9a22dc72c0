"""A solution as a Dataset of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from .program import Block, free_name

if TYPE_CHECKING:
    from .solution import Solution


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
