"""Performance profiles (Dolan and Moré, 2002): how often a solver is nearly the fastest.

Of times t[p,s] of problems p and solvers s, infinite where s did not solve p, the ratios are t[p,s]
/ min_s t[p,s], and the profile of s is the fraction of all problems whose ratio is at most τ: at τ
= 1 the fraction where it is the fastest (ties count for all), far right the fraction that it
solves. A problem without a solution counts for no solver, and stays in the fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlp.errors import InstanceError

#: Times below this many seconds count as this, since clocks and other processes add as much.
LEAST_SECONDS = 0.001
#: Factors of the table of a profile.
FACTORS = (1.0, 2.0, 5.0, 10.0, 100.0)


@dataclass(frozen=True)
class Profile:
    """Ratios of each solver's time to the fastest time, by problem.

    Attributes
    ----------
    ratios : DataFrame
        Problems × solvers; infinite where a solver did not solve a problem.
    """

    ratios: pd.DataFrame

    def within(self, factor: float) -> pd.Series[float]:
        """Return each solver's fraction of problems within a factor of the fastest's time.

        Parameters
        ----------
        factor : float
            At least 1.

        Returns
        -------
        Series
            By solver.

        Raises
        ------
        InstanceError
            For a factor below 1.
        """
        if not factor >= 1:
            raise InstanceError(f"factor is {factor}; expected a number of at least 1")
        if not len(self.ratios):
            return pd.Series(np.nan, index=self.ratios.columns)
        return (self.ratios <= factor).mean()

    def table(self, factors: Sequence[float] = FACTORS) -> pd.DataFrame:
        """Return solvers × factors, and the fraction solved at all, with the best solver first.

        Parameters
        ----------
        factors : sequence of float
            Each at least 1.

        Returns
        -------
        DataFrame
            Columns ``within <factor>``, ``solved`` (fractions) and ``problems`` (the number of
            solved problems).
        """
        columns = {f"within {factor:g}": self.within(factor) for factor in factors}
        finite = np.isfinite(self.ratios)
        solved = finite.mean() if len(self.ratios) else self.within(1.0)
        frame = pd.DataFrame({**columns, "solved": solved, "problems": finite.sum()})
        order = ["solved", *list(columns)[::-1]]
        return frame.sort_values(order, ascending=False, kind="stable").rename_axis("solver")

    def __repr__(self) -> str:
        return f"<Profile of {self.ratios.shape[1]} solvers on {self.ratios.shape[0]} problems>"


def profile(times: pd.DataFrame, least: float = LEAST_SECONDS) -> Profile:
    """Return the performance profile of times.

    Parameters
    ----------
    times : DataFrame
        Seconds, problems × solvers; infinite or missing where a solver did not solve a problem.
    least : float
        Shorter times count as this many seconds.

    Returns
    -------
    Profile

    Raises
    ------
    InstanceError
        For a time below 0, or a ``least`` that is not above 0.

    Examples
    --------
    >>> import pandas as pd
    >>> times = pd.DataFrame({"a": [1.0, 4.0], "b": [2.0, 1.0]}, index=["p", "q"])
    >>> profile(times).within(2).to_dict()
    {'a': 0.5, 'b': 1.0}
    """
    times = times.astype(float).fillna(np.inf)
    if (times < 0).any(axis=None):
        raise InstanceError(
            "a time is below 0; expected seconds, infinite where a problem was not solved"
        )
    if not least > 0:
        raise InstanceError(f"least is {least}; expected seconds above 0")
    times = times.clip(lower=least)
    fastest = times.min(axis=1)
    return Profile(times.div(fastest.where(np.isfinite(fastest), 1.0), axis=0))
