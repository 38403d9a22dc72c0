"""Proofs for somebody's own mechanism: its levels by other programs or in rationals, its methods against each other."""

from __future__ import annotations

import pandas as pd

from ..errors import NotDefinedError
from ..models.programs.certificate import Certificate, Verdict
from ..models.programs.proof import NO_PROOF
from ..solvers.leximin.of_model import leximin
from ..tolerances import AGREEMENT
from .allocation import Allocation
from .own_models import tasks_at
from .table import find
from .validation import Check, agreement, differences

#: A back end that shares no code with the first, to compare with.
_SECOND = {"highs": "scipy"}


def prove(allocation: Allocation, exact: bool = False) -> Verdict:
    """Return whether an allocation is what its formulation says: levels proved one by one, or in rationals.

    A formulation that is solved once is proved by its certificate (exactly, from its basis), and the totals compared;
    other totals may be as good, which the verdict says.
    """
    row = find(allocation.mechanism)
    if row.formulation is None:
        raise NotDefinedError(f"{allocation.mechanism!r} is a procedure: nothing says what it ought to be")
    instance = allocation.instance
    model = row.formulation(instance)
    if model.levels is not None:
        answer = leximin(model)
        verdict = answer.certify(exact=exact)
        x = answer.x
    else:
        solution = model.solve().require_optimal()
        certificate = solution.certify(exact=exact)
        proved = certificate.is_optimal if isinstance(certificate, Certificate) else certificate.proved
        known = certificate.proof if isinstance(certificate, Verdict) else NO_PROOF
        verdict = Verdict(proved, str(certificate), proof=known)
        assert solution.x is not None
        x = solution.x
    if not verdict.proved:
        return verdict
    ours, expected = allocation.totals.to_numpy(), tasks_at(model, x, instance).sum(axis=1)
    difference = differences(ours, expected)
    worst = int(difference.argmax())
    if difference[worst] > AGREEMENT:
        wrong = f"user {instance.users[worst]!r} has {ours[worst]:.12g} tasks, and an optimum {expected[worst]:.12g}"
        more = "" if model.levels is not None else "; other totals may be as good"
        return Verdict(False, f"{wrong} ({verdict.message}){more}", float(difference[worst]), verdict.levels)
    message = f"optimal, proved: {verdict.message}"
    return Verdict(True, message, float(difference[worst]), verdict.levels, proof=verdict.proof)


def compare_methods(check: Check) -> pd.DataFrame:
    """Return the rows of ``validate``: every method against the first, and a leximin against a second back end."""
    row, instance = check.mechanism, check.instance
    first = row.methods[-1]
    reference = check.allocate(method=first.name)
    runs = {first.name: reference}
    for method in row.methods[:-1]:
        if method.is_exact_for(instance):
            runs[method.name] = check.allocate(method=method.name)
    if row.formulation is not None and row.formulation(instance).levels is not None:
        other = _SECOND.get(check.solver, "highs")
        again = Check(instance, row, other, {})
        runs[f"{first.name}, {other}"] = again.allocate(method=first.name)
    rows = {name: agreement(instance, found, reference) for name, found in runs.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
