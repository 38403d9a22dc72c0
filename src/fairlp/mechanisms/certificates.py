"""Is an allocation what its mechanism says? Proved without the method that made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..models.instances.instance import Instance
from ..models.programs.certificate import Verdict
from ..models.programs.proof import Proof
from ..tolerances import AGREEMENT, ROUNDING
from .allocation import Allocation, no_certificate
from .mechanism import Mechanism, run
from .table import find
from .validation import differences

#: (mechanism, instance, count) → the verdict with the exact levels, and tasks (N×K) of a point that has them.
Rationals = Callable[[Mechanism, Instance, str], tuple[Verdict, np.ndarray]]


def by_rounds(allocation: Allocation, exact: bool = False, *, rationals: Rationals) -> Verdict:
    """Return whether a max-min allocation has the levels of the leximin, by linear programs or in rationals."""
    mechanism = find(allocation.mechanism)
    allocation = replace(allocation, entitled=mechanism.due(allocation.instance))
    if exact:
        found, _ = rationals(mechanism, allocation.instance, str(allocation.parameters.get("count") or "total"))
        if not found.proved:
            return Verdict(False, f"not proved: {found.message}", levels=found.levels)
        expected = np.array([0.0 if level is None else float(level) for level in found.levels])
        return _agreement(allocation, expected, replace(found, proof=_claimed(found.proof, allocation)))
    reference = run(mechanism, allocation.instance, method="lp", **allocation.parameters)
    if reference.unproved:
        return Verdict(False, reference.unproved)
    how = Verdict(True, f"by linear programs, gap {reference.gap or 0:.1e}")
    return _agreement(allocation, reference.levels.to_numpy(), how)


def in_floats(allocation: Allocation, exact: bool = False, *, judge: Callable[[Allocation], object]) -> Verdict:
    """Return what is proved of an allocation by a mechanism that has no proof in rationals."""
    if exact:
        raise no_certificate(allocation.mechanism, exact)
    found = judge(allocation)
    return Verdict(bool(found), str(found))


def _claimed(proof: Proof | str, allocation: Allocation) -> Proof | str:
    """Return a proof of the levels of this allocation."""
    if isinstance(proof, str):
        return proof
    own = allocation.levels.to_numpy().tolist()
    return replace(proof, levels=tuple(replace(one, claimed=has) for one, has in zip(proof.levels, own, strict=True)))


def _agreement(allocation: Allocation, expected: np.ndarray, how: Verdict) -> Verdict:
    """Return the verdict on levels that ought to be the expected ones, which ``how`` proves."""
    own = allocation.levels.to_numpy()
    difference = differences(own, expected)
    queues = allocation.instance.queues
    if queues is not None and queues.guarantees.any():  # what they come to is rounded to a float
        apart = abs(own - expected) * allocation.entitled
        difference[apart <= ROUNDING * allocation.instance.gamma().sum(axis=1)] = 0.0
    worst = int(difference.argmax())
    most = float(difference[worst])
    if most > AGREEMENT:
        user = allocation.instance.users[worst]
        wrong = f"user {user!r} has the level {own[worst]:.12g}, and {expected[worst]:.12g} is right"
        return Verdict(False, f"not optimal: {wrong} ({how.message})", most, how.levels)
    message = f"optimal, proved ({how.message}); levels agree to {most:.1e}"
    return Verdict(True, message, most, how.levels, proof=how.proof)
