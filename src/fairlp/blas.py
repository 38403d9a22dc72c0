"""Threads of the linear algebra under NumPy and SciPy."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from .errors import needed_by


def blas_threads(threads: int) -> AbstractContextManager[Any]:
    """Return a context in which each BLAS library uses so many threads.

    NumPy's and SciPy's threads would wait for each other, spinning, and sums of several threads
    differ in the last digit.
    """
    context: AbstractContextManager[Any] = _libraries().limit(limits=threads)
    return context


@cache
def _libraries() -> Any:
    """Return the controller of the BLAS libraries of this process.

    To find them takes longer than a small program takes to solve.
    """
    import scipy.linalg  # noqa: F401  (the controller sees libraries that are loaded)

    with needed_by("threads of linear algebra"):
        from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
