"""Cooperative OEF with the envy rows that its optimum needs: some two for each user, of N².

A round adds the row of whom each user envies most, and drops rows that had no price for some
rounds. When nobody envies anybody, these rows have the optimum of all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...formulations.gpu import oef, rates_alone, slowest
from ...models.instances.instance import Instance
from ...models.programs.program import Block, Program, with_rows
from ...models.programs.solution import Solution
from ...tolerances import SOLVER_TIGHTEST

#: Rounds for which a row without a price stays.
_PATIENCE = 5


class EnvyRows:
    """The model of cooperative OEF without its rows ``no_envy``, and these rows as they are needed.

    Attributes
    ----------
    model : Model
    base : Program
        Without the rows.
    """

    def __init__(self, instance: Instance) -> None:
        no_pairs = np.zeros((len(instance.users),) * 2, dtype=bool)
        self.model = oef(instance, pairs=no_pairs)
        program = self.model.compile()
        self.axes = program.row_block("no_envy").axes
        self.base = replace(program, rows=(program.row_block("capacity"),))
        rates = rates_alone(instance)
        self.speedups = rates / slowest(instance)[:, None]
        self.weights = instance.user_weights
        self.can_run = rates.any(axis=1)
        x = program.column_block("x")
        #: column of each user and kind, −1 where the user may not run
        columns = np.full(rates.size, -1)
        columns[x.flat] = np.arange(x.start, x.stop)
        self.columns = columns.reshape(rates.shape)

    def solve(self) -> Solution:
        """Return an optimum of all rows; its program has those that it needs."""
        pairs = np.zeros(0, dtype=int)  # n·N + j, in order: n may not envy j
        idle = np.zeros(0, dtype=int)  # rounds without a price
        solution = self.base.solve().require_optimal()
        while True:
            envy = self.envy(solution.require_point())
            envy.flat[pairs] = 0.0
            users = np.flatnonzero(envy.max(axis=1, initial=0.0) > SOLVER_TIGHTEST)
            if not len(users):
                return solution
            stays = idle < _PATIENCE
            added = users * len(envy) + envy[users].argmax(axis=1)
            pairs = np.concatenate([pairs[stays], added])
            idle = np.concatenate([idle[stays], np.zeros(len(added), dtype=int)])
            order = np.argsort(pairs)
            pairs, idle = pairs[order], idle[order]
            program = self._with_pairs(pairs)
            solution = program.solve(start=solution).require_optimal()
            assert solution.row_duals is not None
            priced = solution.row_duals[program.row_block("no_envy").slice] != 0
            idle = np.where(priced, 0, idle + 1)

    def envy(self, point: np.ndarray) -> np.ndarray:
        """Return how much more users think of others' devices, per weight: (N, N), of the largest."""
        devices = np.append(point, 0.0)[self.columns]  # at −1: 0
        worth: np.ndarray = self.speedups @ (devices / self.weights[:, None]).T
        own = worth.diagonal().copy()
        largest = own.max(initial=0.0)
        worth -= own[:, None]
        worth[~self.can_run] = 0.0
        return worth / largest if largest > 0 else worth

    def _with_pairs(self, pairs: np.ndarray) -> Program:
        """Return the program with the rows of pairs n·N + j."""
        from scipy.sparse import csr_array

        users, others = np.divmod(pairs, len(self.columns))
        columns = np.concatenate([self.columns[users], self.columns[others]], axis=1)
        worth = self.speedups[users]
        entries = np.concatenate(
            [worth / self.weights[users, None], -worth / self.weights[others, None]], axis=1
        )
        rows = np.broadcast_to(np.arange(len(pairs))[:, None], columns.shape)
        exist = (columns >= 0) & (entries != 0)
        matrix = csr_array(
            (entries[exist], (rows[exist], columns[exist])),
            shape=(len(pairs), self.base.n_columns),
        )
        start = self.base.n_rows
        block = Block("no_envy", self.axes, start, start + len(pairs), pairs)
        return with_rows(self.base, block, matrix, 0.0)
