"""The options of mechanisms and of their solvers, as keywords of ``allocate`` and what calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ..models.programs.options import SolverLimits, SolverOptions, WriteOptions

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..models.programs.backends import AnySolver
    from .complaints import Criterion


__all__ = [
    "AllocateOptions",
    "ChoiceOptions",
    "ClockOptions",
    "DivisibleOptions",
    "FairTasksOptions",
    "FormulationOptions",
    "MechanismOptions",
    "ModelOptions",
    "RuleOptions",
    "SharingOptions",
    "SolverLimits",
    "WriteOptions",
]


class ClockOptions(TypedDict, total=False):
    """When servers on their own act, and how long their messages take."""

    period: float
    jitter: float
    delay: float
    damping: float
    procedure: Literal["best-response", "algorithm-1"]
    clock_seed: int


class ModelOptions(TypedDict, total=False):
    """The options of mechanisms that stand in their formulations, too."""

    # of the max-min family, and along queues
    whole: bool
    count: Literal["total", "borrowed"]
    # gavel
    objective: str
    steps: Any
    pairs: Any
    age: Any
    isolated_age: Any
    # GPU clusters
    variant: Literal["cooperative", "non-cooperative"] | None
    earlier_progress: Any
    # no justified complaints, α-fairness
    criterion: Criterion | None
    alpha: float


class DivisibleOptions(ModelOptions, total=False):
    """The options of mechanisms of divisible tasks, but for those of memories and clocks."""

    # per server
    most_sweeps: int
    seconds: float


class RuleOptions(DivisibleOptions, total=False):
    """The options of mechanisms, but for those of memories and clocks."""

    # whole tasks, one after the other
    rule: Literal["exclude", "stop"]
    ties: Literal["larger", "smaller", "index"]
    trace: bool
    turnover: int
    divisible: bool
    repair: Literal["none", "ascending", "filling"] | None
    higher_order: bool
    unit: Literal["system", "largest-server"]
    slots: int
    # users who arrive, and credits
    horizon: float | None
    credits: int


class MechanismOptions(RuleOptions, ClockOptions, SolverOptions, total=False):
    """The options of all mechanisms, and those of a solver.

    The column ``options`` of :func:`fairlp.mechanisms` says which mechanism has which.
    """

    state: Any
    half_life: float | None


class ChoiceOptions(TypedDict, total=False):
    """What :func:`fairlp.allocate` asks for besides the mechanism's and the solver's options."""

    method: str
    solver: AnySolver
    merge: bool
    oversized: Literal["divide", "drop", "error"]


class AllocateOptions(MechanismOptions, ChoiceOptions, total=False):
    """All keywords of :func:`fairlp.allocate`."""


class FairTasksOptions(RuleOptions, ChoiceOptions, total=False):
    """Keywords of :func:`fairlp.allocate` for what has a past, or times, of its own."""


class SharingOptions(DivisibleOptions, ClockOptions, ChoiceOptions, SolverLimits, total=False):
    """Keywords of :func:`fairlp.allocate` for what shares divisible tasks again and again."""

    half_life: float | None


class FormulationOptions(ModelOptions, total=False):
    """The options of all formulations; each mechanism's has some of them."""

    # of the max-min family
    past: Any
    # gavel
    at: Any
    rho: float | None
    rounds: pd.DataFrame | None
    # per server, and no justified complaints
    bottlenecks: Any
    support: Any
    theorem: bool
    # whole tasks
    settled: Any
    goal: str
    room: np.ndarray | None
    # users who arrive
    step: int | None
    horizon: float | None
