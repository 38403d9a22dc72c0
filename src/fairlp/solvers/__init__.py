"""Back ends (Program → Solution), the rounds of the leximin, and our own interior-point method."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .._lazy import attach
from ..registry import make_callable

if TYPE_CHECKING:
    import pandas as pd


def table() -> pd.DataFrame:
    """Return every back end by name: its availability, version, capabilities and remedy.

    Returns
    -------
    DataFrame
        Columns ``available``, ``version``, ``capabilities``, ``install`` and ``remedy``.
    """
    import pandas as pd

    from ..errors import FairlpError
    from ..models.programs.backends import backend_names, find_backend

    rows = {}
    for name in backend_names():
        try:
            found = find_backend(name)
        except FairlpError as error:  # a package of others
            rows[name] = {
                "available": False,
                "version": "",
                "capabilities": "",
                "install": "",
                "remedy": str(error),
            }
            continue
        there, reason = found.available()
        rows[name] = {
            "available": there,
            "version": found.version() if there else "",
            "capabilities": ", ".join(sorted(c.value for c in found.capabilities)),
            "install": getattr(found, "install", ""),
            "remedy": reason,
        }
    return (
        pd.DataFrame.from_dict(rows, orient="index")
        .rename_axis("solver")
        .astype({"available": bool})
    )


__getattr__, __dir__, __all__ = attach(__name__, __file__)

make_callable(sys.modules[__name__], table)
