"""``leximin``: the lexicographic max-min of any linear model, from the lowest level up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from ...errors import ModelError
from ...keywords import lists
from ...models.notation.concave_levels import has_curves
from ...models.notation.expressions import Expression, parameter_values
from ...models.notation.model import Model
from ...models.notation.tables import check_own, level_rows
from ...models.notation.walks import mapped
from ...models.programs.backends import AnySolver, is_default, spelt
from ...models.programs.options import SolveOptions
from ...models.programs.program import Program
from .answers import LeximinSolution
from .concave import concave_leximin
from .levels import levels_of, of_oracle
from .of_levels import by_levels
from .on_paths import leximin_on_paths
from .outcomes import Oracle


@lists(SolveOptions)
def leximin(
    model: Model | Program | Any,
    levels: str | Sequence[str] | Expression | Any = None,
    *,
    weights: Any = None,
    oracle: Oracle | None = None,
    solver: AnySolver = "highs",
    **options: Unpack[SolveOptions],
) -> LeximinSolution:
    """Return the lexicographic max-min of any linear model, the lowest level first.

    Parameters
    ----------
    model : Model, Program, cvxpy.Problem or Pyomo model
        Ours, edited or your own; what another tool wrote as a file comes as a Program
        (:func:`fairlp.read_program`). CVXPY's and Pyomo's variables are given the values of the
        answer.
    levels : str, sequence of str, Expression, or what CVXPY or Pyomo has for it, optional
        Where the model itself says what its levels are (:meth:`.Model.leximin`), nothing. Else a
        block of rows ``… ≥ w·t`` where the model maximises t (the mechanisms call it ``fairness``),
        or an expression with an index: its elements are the levels, and the model's own objective
        plays no part. Several names are those of single rows, as a file has them. Of a CVXPY
        problem: an affine expression, a list of them (numbered through, each in C order), or a dict
        by label. Of a Pyomo model: constraints ``… ≥ w·t``, or linear expressions (an indexed
        component, a list, or a dict by label). With expressions, the objective plays no part.
    weights : array_like, Series or mapping, optional
        Of an expression's elements: a level is the element divided by its weight, above 0. A block
        has its own.
    oracle : callable, optional
        With an Index, or a sequence of labels, in the model's place: the people. Given weights ≥ 0
        (a Series by person), it returns an outcome whose weighted sum of levels is largest: one
        number a person (Series, mapping or array), or a collection of the people who have level 1.
        The leximin is that of expected levels under a lottery over outcomes,
        ``LeximinSolution.outcomes``. It is as right as the oracle is.
    solver : str, Backend or class
        A name from :func:`fairlp.solvers`, or a back end of your own (:class:`fairlp.Backend`).
    **options
        Of the solver.

    Returns
    -------
    LeximinSolution

    Raises
    ------
    ModelError
        When nothing says what the levels are, there is no such block, its rows are of another form,
        or the model is not linear.
    NoSolutionError
        When the model is infeasible, or a level can be raised without end.
    SolverError

    Notes
    -----
    Outcomes of an oracle by column generation (``outcomes.py``). Linear models by rounds: raise t,
    freeze whose rows have a price, and go on (:func:`fairlp.rise`); the rounds of the
    mechanisms are these. Demands whose paths share links (levels that are sums of flows, rows that
    are sums of flows within capacities) by one simplex through all rounds, proved by its prices
    (``on_paths.py``), unless another solver or options are given. Integer models by ordered
    outcomes (Ogryczak and Śliwiński, 2006).

    Examples
    --------
    Three jobs on two machines, in hours: raise the least served first.

    >>> from fairlp import Index, Model
    >>> j, m = Index("j", ["a", "b", "c"]), Index("m", ["fast", "slow"])
    >>> model = Model("jobs", indices=(j, m))
    >>> x = model.variable("x", j, m, where=[[True, False], [True, True], [False, True]])
    >>> hours = model.constraint("hours", x.sum(j) <= model.parameter("h", (m,), [8, 2]))
    >>> answer = leximin(model, levels=x.sum(m))
    >>> answer.levels.round(9).to_dict()
    {'a': 4.0, 'b': 4.0, 'c': 2.0}
    >>> print(answer.certify(exact=True))
    the leximin, proved (in rationals, 2 rounds); levels agree to ...

    A panel of two of four people, one of the two women at least: each person is on it with
    probability ½.

    >>> def best_panel(weight):
    ...     first = weight[["ann", "bea"]].idxmax()
    ...     return [first, weight.drop(first).idxmax()]
    >>> answer = leximin(["ann", "bea", "carl", "dan"], oracle=best_panel)
    >>> answer.levels.round(9).to_dict()
    {'ann': 0.5, 'bea': 0.5, 'carl': 0.5, 'dan': 0.5}
    """
    if oracle is None and isinstance(model, Model):
        if isinstance(levels, Expression) and levels.degree > 1:
            model, levels, weights = with_declared_levels(model, levels, weights), None, None
        rows = level_rows(model)
        is_own = levels is None or (
            isinstance(levels, str) and rows is not None and levels == rows.name
        )
        if is_own and weights is None and rows is not None and has_curves(model):
            return concave_leximin(model, solver, options)
    problem = (
        levels_of(model, levels, weights)
        if oracle is None
        else of_oracle(model, oracle, levels, weights)
    )
    solution = leximin_on_paths(problem) if is_default(spelt(solver)) and not options else None
    solution = solution or by_levels(problem, solver=solver, **options)
    if problem.hand_back is not None:
        problem.hand_back(solution.x)
    return solution


def with_declared_levels(model: Model, levels: Expression, weights: Any) -> Model:
    """Return a copy of a model that has concave levels as its own."""
    check_own(model, "the levels", levels)
    if weights is not None:
        weight = parameter_values(weights, levels.indices, "weights")
        if not (weight > 0).all():
            raise ModelError(f"weights of levels are above 0; found {weight.min():g}")
        levels = levels / weight
    copy = model.copy()
    copy.leximin(mapped(levels, {**copy.parameters, **copy.variables}))
    return copy
