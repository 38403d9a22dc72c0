"""THE table: every mechanism with its source, its formulation, its algorithms and what it promises."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .models.callable_module import make_callable
from .models.errors import NotDefinedError, UnknownNameError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from .models.instance import Instance

_DRF = "fairlp.formulations.max_min"
_GAMMA = "fairlp.formulations.normalisers"
_ROUNDS = "fairlp.solvers.combinatorial.rounds"


def load(target: str) -> Any:
    """Return the object at ``module:name``; modules are imported when first needed."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Algorithm:
    """A way to a mechanism's result: its method name, where it is, and when it is exact.

    ``runner`` is ``module:function`` taking (instance, mechanism, algorithm, request) and returning an Allocation;
    ``core`` is what it runs; ``applies`` is ``module:function`` telling whether it is exact for an instance (None:
    always); ``solves`` tells that a model goes to a solver, whose options it then takes.
    """

    method: str
    runner: str
    core: str = ""
    applies: str | None = None
    needs: str = ""
    cost: str = ""
    solves: bool = False

    def is_exact_for(self, instance: Instance) -> bool:
        """Whether the algorithm gives the mechanism's exact result for this instance."""
        return self.applies is None or bool(load(self.applies)(instance))


@dataclass(frozen=True)
class Mechanism:
    """One row: a rule for sharing, as the literature states it.

    Attributes
    ----------
    name, title, source : str
    formulation : str
        ``module:function``, Instance → Model.
    normaliser : str
        ``module:function``, Instance → Γ.
    algorithms : tuple of Algorithm
        Fastest first; ``auto`` takes the first that is exact.
    promises : tuple of str
        Properties that the literature promises.
    domain : tuple of str
        What the instance must be: names of checks in this module.
    options : tuple of str
        Options of the mechanism itself, which ``allocate`` hands to every one of its methods.
    validator : str
        ``module:function``, (instance, mechanism, run) → rows of ``validate`` beyond the methods' agreement, if any.
    compared : bool
        Whether ``compare`` takes it when it is asked for nothing in particular.
    """

    name: str
    title: str
    source: str
    formulation: str
    normaliser: str
    algorithms: tuple[Algorithm, ...]
    promises: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    validator: str = ""
    compared: bool = True

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, fastest first."""
        return tuple(algorithm.method for algorithm in self.algorithms)

    def algorithm(self, method: str, instance: Instance) -> Algorithm:
        """Return the algorithm of that name (``auto``: the fastest that is exact for the instance)."""
        if method == "auto":
            return next(algorithm for algorithm in self.algorithms if algorithm.is_exact_for(instance))
        for algorithm in self.algorithms:
            if algorithm.method == method:
                return algorithm
        raise UnknownNameError(
            f"mechanism {self.name!r} has no method {method!r}; {nearest(method, ['auto', *self.methods])}"
        )

    def solving(self, instance: Instance) -> Algorithm:
        """Return the fastest algorithm that puts a model before a solver (a solver or its options were named)."""
        for algorithm in self.algorithms:
            if algorithm.solves and algorithm.is_exact_for(instance):
                return algorithm
        raise UnknownNameError(
            f"mechanism {self.name!r} has no method that uses a solver, so it takes no solver and no solver's options;"
            f" methods: {', '.join(self.methods)}; options: {', '.join(self.options) or 'none'}"
        )

    def undefined(self, instance: Instance) -> str | None:
        """Return why the mechanism is not defined for the instance, or None when it is."""
        for check in self.domain:
            reason = DOMAINS[check](instance)
            if reason:
                return reason
        return None

    def require_defined(self, instance: Instance) -> None:
        """Raise NotDefinedError, naming the mechanisms that are defined, when this one is not."""
        reason = self.undefined(instance)
        if reason:
            others = [m.name for m in TABLE.values() if m.undefined(instance) is None]
            raise NotDefinedError(f"{self.name} is not defined here: {reason}; defined are: {', '.join(others)}")


def _one_server(instance: Instance) -> str | None:
    if instance.n_servers == 1:
        return None
    return (
        f"it shares one server and there are {instance.n_servers} (instance.pooled() makes one of them, "
        "if tasks may be spread over servers)"
    )


def _no_constraints(instance: Instance) -> str | None:
    if not instance.has_constraints:
        return None
    user = instance.users[int((~instance.eligible).any(axis=1).argmax())]
    return f"it has no placement constraints, and user {user!r} may not run everywhere"


def _one_weight(instance: Instance) -> str | None:
    return None if instance.weights.ndim == 1 else "it takes one weight for each user, not one for each resource"


DOMAINS: dict[str, Callable[[Instance], str | None]] = {
    "one server": _one_server,
    "no placement constraints": _no_constraints,
    "one weight a user": _one_weight,
}

_RUN_CORE = "fairlp.solvers.runners:combinatorial"
LP = Algorithm("lp", "fairlp.solvers.runners:leximin_lp", cost="one LP a round", solves=True)
ROUNDS = Algorithm(
    "rounds",
    _RUN_CORE,
    f"{_ROUNDS}:edrf_rounds",
    applies=f"{_ROUNDS}:is_one_server",
    needs="one server",
    cost="O(NR(R + log N))",
)
CLOSED_FORM = Algorithm(
    "closed-form",
    _RUN_CORE,
    f"{_ROUNDS}:edrf_closed_form",
    applies=f"{_ROUNDS}:closed_form_applies",
    needs="one server, all demands positive, no task limits",
    cost="O(NR)",
)
SEPARATE = Algorithm("rounds", _RUN_CORE, f"{_ROUNDS}:separate_servers", cost="O(KNR(R + log N))")
SEPARATE_LP = Algorithm("lp", "fairlp.solvers.runners:separate_lp", cost="one LP a round and server", solves=True)

_FAIR = ("Pareto-optimal", "envy-free", "strategy-proof", "bottleneck", "single-resource")
_ROWS = (
    Mechanism(
        "drf",
        "Dominant Resource Fairness",
        "Ghodsi et al., NSDI 2011",
        f"{_DRF}:drf",
        f"{_GAMMA}:dominant",
        (ROUNDS, LP),
        ("sharing incentive", *_FAIR, "population-monotonic"),
        ("one server",),
    ),
    Mechanism(
        "edrf",
        "Extended DRF (per-resource weights, zero demands)",
        "Parkes, Procaccia and Shah, EC 2012",
        f"{_DRF}:edrf",
        f"{_GAMMA}:dominant",
        (CLOSED_FORM, ROUNDS, LP),
        ("sharing incentive", *_FAIR, "population-monotonic"),
        ("one server",),
    ),
    Mechanism(
        "asset",
        "Asset fairness (equal sums of shares)",
        "Ghodsi et al., NSDI 2011, §4.1",
        f"{_DRF}:asset",
        f"{_GAMMA}:asset",
        (ROUNDS, LP),
        ("Pareto-optimal", "single-resource", "population-monotonic"),
        ("one weight a user",),
    ),
    Mechanism(
        "drfh",
        "DRF on heterogeneous servers (global dominant share)",
        "Wang, Li and Liang, INFOCOM 2014",
        f"{_DRF}:drfh",
        f"{_GAMMA}:dominant",
        (ROUNDS, LP),
        ("envy-free", "Pareto-optimal", "strategy-proof", "bottleneck", "single-resource", "population-monotonic"),
    ),
    Mechanism(
        "c-drfh",
        "DRFH under placement constraints",
        "Wang, Li and Liang; Khamse-Ashari et al., ICC 2017, §II",
        f"{_DRF}:drfh",
        f"{_GAMMA}:dominant",
        (ROUNDS, LP),
        ("Pareto-optimal",),
    ),
    Mechanism(
        "cdrf",
        "Containerised DRF (share of what one could run alone)",
        "Friedman, Ghodsi and Psomas, EC 2014",
        f"{_DRF}:cdrf",
        f"{_GAMMA}:containerized",
        (ROUNDS, LP),
        ("Pareto-optimal", "sharing incentive", "envy-free", "strategy-proof"),
        ("no placement constraints", "one weight a user"),
    ),
    Mechanism(
        "tsf",
        "Task-share fairness under placement constraints",
        "Wang et al., SC 2016",
        f"{_DRF}:tsf",
        f"{_GAMMA}:task_share",
        (ROUNDS, LP),
        ("Pareto-optimal", "sharing incentive", "envy-free", "strategy-proof"),
        ("one weight a user",),
    ),
    Mechanism(
        "naive-drf",
        "DRF on each server separately",
        "Wang, Li and Liang, INFOCOM 2014, §III-D",
        f"{_DRF}:naive_drf",
        f"{_GAMMA}:dominant",
        (SEPARATE, SEPARATE_LP),
        ("sharing incentive",),
        ("one weight a user",),
    ),
)

#: name → mechanism, in the order of the documentation
TABLE: dict[str, Mechanism] = {row.name: row for row in _ROWS}


def find(name: str) -> Mechanism:
    """Return the mechanism of that name."""
    if name not in TABLE:
        raise UnknownNameError(f"no mechanism is called {name!r}; {nearest(name, TABLE)}")
    return TABLE[name]


def table() -> pd.DataFrame:
    """Return every mechanism as a DataFrame indexed by name: title, source, methods, options, domain, promises."""
    import pandas as pd

    rows = {
        row.name: {
            "title": row.title,
            "source": row.source,
            "methods": ", ".join(row.methods),
            "options": ", ".join(row.options),
            "defined_for": ", ".join(row.domain) or "any instance",
            "promises": ", ".join(row.promises),
        }
        for row in TABLE.values()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("mechanism")


make_callable(sys.modules[__name__], table)
