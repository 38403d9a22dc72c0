"""A discrete-event simulator: users submit jobs over time, and a policy runs their tasks.

>>> import pandas as pd
>>> import fairlp
>>> from fairlp_research import simulation
>>> jobs = pd.DataFrame({"user": ["ann", "bob"], "arrival": [0, 10], "tasks": [4, 2], "duration": 30, "cpu": 1})
>>> cluster = fairlp.Instance.from_arrays([[1]], [[2]], resources=["cpu"])
>>> workload = simulation.Workload.of(jobs, ["cpu"])
>>> result = simulation.simulate(cluster, workload, "first-fit", every=10)
>>> result.jobs.finish.tolist()
[90.0, 90.0]
"""

from __future__ import annotations

from . import experiments, generators
from .result import SimulationResult
from .simulating import policies, simulate
from .workload import Workload

__all__ = ["SimulationResult", "Workload", "experiments", "generators", "policies", "simulate"]


def __dir__() -> list[str]:
    return __all__
