"""The names of ``fairlp.solvers``, and where each lives (``__init__.py`` reads it)."""

import pandas as pd

from ..blas import blas_threads as blas_threads
from ..models.programs.backends import (
    available_backends as available,
    backend as require,
    carried as carried,
    find_backend as find,
    spelt as spelt,
)

def table() -> pd.DataFrame: ...

__all__ = ["available", "blas_threads", "carried", "find", "require", "spelt"]
