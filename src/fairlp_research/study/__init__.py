"""Monte Carlo experiments as data: generator, mechanisms, statistics, runs and a seed.

The same study gives the same numbers on any number of workers, on this machine or a Dask cluster.
With a folder, a study that was stopped goes on. See ``docs/studies.md``.

>>> from fairlp_research import study
>>> experiment = study.Study(
...     name="two mechanisms",
...     generator="uniform-integers",
...     grid={"users": [10, 20], "resources": [2]},
...     mechanisms=["drf", "asset"],
...     statistics=["jain"],
...     runs=5,
... )
>>> result = experiment.run(progress=False)
>>> result.frame[["users", "run", "jain.drf"]].round(6).head(2)
   users  run  jain.drf
0     10    0       1.0
1     10    1       1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runner import StudyNotAvailableError
from .definition import Study
from .result import Result

if TYPE_CHECKING:
    from types import ModuleType

    from pandas import DataFrame

    class Listing(ModuleType):
        """A module that returns its table when it is called."""

        def __call__(self) -> DataFrame: ...

    generators: Listing
    statistics: Listing
else:
    from . import generators, statistics

__all__ = ["Result", "Study", "StudyNotAvailableError", "generators", "statistics"]


def __dir__() -> list[str]:
    return __all__
