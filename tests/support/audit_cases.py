"""Small instances, and what audits say of them."""

from __future__ import annotations

import numpy as np

import fairlp
from fairlp import Instance
from fairlp.auditing.findings import AuditCase
from fairlp.errors import (
    InstanceError,
    SolverError,
)


def pool(**options):
    return Instance.from_arrays([[1.0, 1.0], [1.0, 2.0]], [[10.0, 20.0]], **options)


def audited(instance, tasks, *names, **options):
    return fairlp.audit(instance, tasks, list(names), **options)


def fails(*_, **__):
    raise SolverError("out of memory")


def by_resource():
    return pool(weights=[[1.0, 2.0], [2.0, 1.0]])


def case(instance, tasks, **options):
    return AuditCase(instance, np.array(tasks, dtype=float), **options)


def pair(**options):
    """Two users, two servers of 10 and 4; the second user may run on the first only."""
    return Instance.from_arrays(
        [[1.0, 1.0], [1.0, 1.0]],
        [[10.0, 20.0], [4.0, 8.0]],
        eligible=np.array([[True, True], [True, False]]),
        **options,
    )


def needs_rates(instance):
    return None if instance.rates is not None else "it divides time, and no rates are given"


def failing(times_in_ten):
    """A mechanism of equal parts that fails on some instances."""
    calls = []

    @fairlp.mechanism(f"fails-{times_in_ten}", promises=("sharing incentive",))
    def equal_parts(instance):
        calls.append(instance)
        if len(calls) % 10 < times_in_ten:
            raise InstanceError("planted")
        parts = instance.weights.reshape(len(instance.users), -1).mean(axis=1)
        return instance.gamma() * (parts / parts.sum())[:, None]

    return equal_parts


def rated(rng):
    n, k = rng.integers(2, 4), rng.integers(1, 3)
    return Instance.from_arrays(np.ones((n, 1)), np.ones((k, 1)), rates=rng.integers(1, 9, (n, k)))


def two(**options):
    return Instance.from_arrays(
        [[1.0, 2.0], [2.0, 1.0]], [[12.0, 12.0]], users=["ann", "bob"], **options
    )
