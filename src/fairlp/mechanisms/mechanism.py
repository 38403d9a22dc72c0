"""What a row of the table of mechanisms is made of: algorithms, domains, options."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import NotDefinedError, UnknownNameError, nearest

if TYPE_CHECKING:
    from ..models.instances.instance import Instance


def load(target: str) -> Any:
    """Return the object at ``module:name``; modules are imported when first needed."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Algorithm:
    """A way to a mechanism's result: its method name, where it is, and when it is exact.

    ``runner`` is ``module:function`` taking (instance, mechanism, algorithm, request) and returning an Allocation;
    ``core`` is what it runs; ``applies`` is ``module:function`` telling whether it is exact for an instance (None:
    always), and ``pays`` whether ``auto`` is to take it there (None: wherever it is exact); ``solves`` tells that a
    model goes to a solver, whose options it then takes.
    """

    method: str
    runner: str
    core: str = ""
    applies: str | None = None
    pays: str | None = None
    needs: str = ""
    cost: str = ""
    solves: bool = False

    def is_exact_for(self, instance: Instance) -> bool:
        """Whether the algorithm gives the mechanism's exact result for this instance."""
        return self.applies is None or bool(load(self.applies)(instance))

    def is_best_for(self, instance: Instance) -> bool:
        """Whether ``auto`` takes it for this instance, where no algorithm before it is."""
        return self.is_exact_for(instance) and (self.pays is None or bool(load(self.pays)(instance)))


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
        ``module:function``, Check → rows of ``validate``, in place of comparing the methods with the LP; or nothing.
    compared : bool
        Whether ``compare`` takes it when it is asked for nothing in particular.
    whole_tasks : bool
        Whether tasks are whole (a task that fits no server then never runs).
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
    whole_tasks: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, fastest first."""
        return tuple(algorithm.method for algorithm in self.algorithms)

    def algorithm(self, method: str, instance: Instance) -> Algorithm:
        """Return the algorithm of that name (``auto``: the fastest that is exact for the instance)."""
        if method == "auto":
            return next(algorithm for algorithm in self.algorithms if algorithm.is_best_for(instance))
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
            from .table import TABLE

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


def _no_rates(instance: Instance) -> str | None:
    return None if instance.rates is None else "it works with demands and capacities, and rates are given"


def _no_limits(instance: Instance) -> str | None:
    limited = instance.task_limits != float("inf")
    if not limited.any():
        return None
    return f"it has no task limits, and user {instance.users[int(limited.argmax())]!r} has one"


def _one_weight(instance: Instance) -> str | None:
    return None if instance.weights.ndim == 1 else "it takes one weight for each user, not one for each resource"


DOMAINS: dict[str, Callable[[Instance], str | None]] = {
    "one server": _one_server,
    "no placement constraints": _no_constraints,
    "no rates": _no_rates,
    "no task limits": _no_limits,
    "one weight a user": _one_weight,
}
