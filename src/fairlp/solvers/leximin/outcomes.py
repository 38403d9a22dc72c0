"""The leximin of a lottery over outcomes that only an oracle knows, by column generation.

A panel, a committee or a timetable gives every person a level. There are too many of them to list,
but an oracle can find the one that is best for given weights of the people. A linear program mixes
the outcomes found so far. Its prices are the next weights: if the best outcome for them is worth
more than the mixture, it becomes a column, and the program is solved again. Otherwise no outcome at
all would help, and the optimum is that of all outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...errors import ModelError, UnknownNameError, UnsupportedError, nearest
from ...models.notation.labels import Index, aligned, carries_labels
from ...models.notation.model import Model
from ...models.notation.reals import floats
from ...models.programs.options import Options
from ...models.programs.program import Program, with_columns
from ...models.programs.protocols import Backend, Capability, Session
from ...models.programs.solution import Solution
from ...tolerances import ACCEPTED, SOLVER_TIGHTEST

Oracle = Callable[[Any], Any]


class Outcomes:
    """The outcomes that an oracle has found so far, and the program of lotteries over them.

    It maximises t subject to z[n] ≥ w[n]·t, Σ_k a[k,n]·p[k] ≥ z[n] and Σ_k p[k] = 1: z[n] is the
    level of person n, w[n] its weight, a[k,n] its level in outcome k, and p[k] the probability of
    outcome k.
    """

    def __init__(self, people: Index, oracle: Oracle) -> None:
        self.people = people
        self.oracle = oracle
        self.levels = np.empty((0, len(people)))
        self.gap = 0.0
        reached = np.zeros(len(people), dtype=bool)
        while not reached.all():  # each person whom some outcome serves is in one
            levels = self.ask(np.where(reached, SOLVER_TIGHTEST, 1.0))
            before = reached.copy()
            reached |= levels != 0
            if len(self.levels) and (reached == before).all():
                break
            self.levels = np.vstack([self.levels, levels])

    def ask(self, weights: np.ndarray) -> np.ndarray:
        """Return each person's level in the oracle's best outcome for these weights."""
        outcome = self.oracle(pd.Series(weights, index=self.people.labels, name="weight"))
        name = "the oracle's outcome"
        if isinstance(outcome, np.ndarray) or carries_labels(outcome):
            levels = floats(aligned(outcome, (self.people,), name, ModelError))
            if levels.shape != (len(self.people),) or not np.isfinite(levels).all():
                raise ModelError(
                    f"{name} is expected to be one finite number for each of {len(self.people)} "
                    "people"
                )
            return levels
        members = list(outcome)
        for member in members:
            if member not in self.people:
                raise UnknownNameError(f"{name} has {member!r}; {nearest(member, self.people)}")
        return np.asarray(self.people.labels.isin(members), dtype=float)

    def program(self, weights: Any) -> Program:
        """Return the program of lotteries over known outcomes, which maximises the lowest level."""
        n = self.people
        k = self._numbers()
        model = Model("lottery", indices=(n, k))
        a = model.parameter("a", (k, n), self.levels, "level of n in outcome k")
        w = model.parameter("w", n, np.ones(len(n)) if weights is None else weights, "weight of n")
        z = model.variable("level", n, lower=None)
        t = model.variable("lowest", lower=None)
        p = model.variable("probability", k)
        model.constraint("levels", z >= w * t)
        model.constraint("expected", (a * p).sum(k) >= z)
        model.constraint("lottery", p.sum(k) == 1)
        model.maximize(t)
        return model.compile()

    def extended(self, program: Program) -> Program:
        """Return the program of lotteries over all known outcomes.

        ``program`` has some of them already.
        """
        *others, block = program.columns
        new = self.levels[len(block) :]
        n_new = len(new)
        k = self._numbers()
        fresh = sp.lil_array((program.n_rows, n_new))
        fresh[program.row_block("expected").slice] = new.T
        fresh[program.row_block("lottery").start] = 1.0
        block = replace(block, axes=((k.symbol, k.labels),), stop=block.start + len(k))
        larger = with_columns(program, block, np.zeros(n_new), entries=fresh)
        return larger.replace(columns=(*others, block))

    def _numbers(self) -> Index:
        """Return the index of the outcomes found so far."""
        return Index("k", pd.RangeIndex(1, len(self.levels) + 1), "outcome")

    def improves(self, solution: Solution) -> bool:
        """Return whether another outcome is worth more than the lottery, at its prices; keep it."""
        program = solution.program
        duals = solution.row_duals
        assert duals is not None
        price = np.maximum(-duals[program.row_block("expected").slice], 0.0)
        price[price <= SOLVER_TIGHTEST * price.max()] = (
            0.0  # rounding, which integer programs take for a matter
        )
        value = float(duals[program.row_block("lottery").start])
        levels = self.ask(price)
        gain = float(price @ levels) - value
        terms = float(price @ abs(levels)) + abs(value)
        if gain < -ACCEPTED * terms:
            raise ModelError(
                f"the oracle's outcome is worth {gain + value:.9g} at its weights, and others that "
                "it found are worth "
                f"{value:.9g}; an oracle must return an outcome that is best for the weights"
            )
        if gain <= SOLVER_TIGHTEST * terms or (self.levels == levels).all(axis=1).any():
            self.gap = max(self.gap, gain / terms if gain > 0 else 0.0)
            return False
        self.levels = np.vstack([self.levels, levels])
        return True

    def behind(self, backend: Backend) -> ColumnGeneration:
        """Return a back end that solves programs of lotteries over all outcomes."""
        if Capability.DUALS not in backend.capabilities:
            raise UnsupportedError(
                f"{backend.name} gives no duals, and an oracle is asked with these as weights"
            )
        return ColumnGeneration(self, backend)

    def table(self, x: np.ndarray) -> pd.DataFrame:
        """Return the outcomes of positive probability: the probability and each person's level."""
        table = pd.DataFrame(
            self.levels, columns=self.people.labels, index=self._numbers().labels.rename("outcome")
        )
        table.insert(0, "probability", x[-len(table) :], allow_duplicates=True)
        return table[table["probability"] > 0]


class ColumnGeneration:
    """A back end whose sessions ask an oracle for further columns."""

    def __init__(self, outcomes: Outcomes, backend: Backend) -> None:
        self.outcomes = outcomes
        self.backend = backend
        self.name = backend.name
        self.capabilities = backend.capabilities

    def session(self, program: Program, options: Options) -> ColumnGenerationSession:
        """Load a program of lotteries."""
        return ColumnGenerationSession(self, program, options)

    def solve(self, program: Program, options: Options) -> Solution:
        """Solve a program of lotteries over all outcomes."""
        return self.session(program, options).solve()


class ColumnGenerationSession:
    """A session on a program that gets a column for each outcome that its prices ask for."""

    def __init__(self, owner: ColumnGeneration, program: Program, options: Options) -> None:
        self.backend = owner.backend
        self.outcomes = owner.outcomes
        self.options = options
        self.master: Session = self.backend.session(self.outcomes.extended(program), options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.master, name)

    def change(self, *, costs: np.ndarray | None = None, **others: Any) -> None:
        """Change the program; outcomes that have come since have no costs."""
        if costs is not None:
            costs = np.append(costs, np.zeros(self.program.n_columns - len(costs)))
        self.master.change(costs=costs, **others)

    def solve(self) -> Solution:
        """Solve what is loaded, over all outcomes."""
        while True:
            solution = self.master.solve()
            if not solution.status.is_optimal or not self.outcomes.improves(solution):
                return solution
            warm = Capability.WARM_START in self.backend.capabilities and solution.basis is not None
            options = replace(self.options, start=solution) if warm else self.options
            self.master = self.backend.session(self.outcomes.extended(self.program), options)
