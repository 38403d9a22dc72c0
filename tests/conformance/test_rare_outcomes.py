"""The zoo without names of solvers, and a back end that makes up a point."""

from __future__ import annotations

import dataclasses

from fairlp import conformance
from fairlp.conformance import __main__ as command
from fairlp.models.programs import backends
from fairlp.solvers.backends.highs import Highs


def test_without_names_all_that_are_here_are_asked(monkeypatch):
    monkeypatch.setattr(backends, "available_backends", lambda: ["highs"])
    found = conformance.matrix()
    assert found.columns.tolist() == ["highs"] and set(found["highs"]) == set(conformance.check("highs")["outcome"])


def test_cases_that_are_undecided_are_named_beside_the_table(monkeypatch):
    real = conformance.check

    def unsure(name):
        table = real(name)
        table.loc[table.index[0], "outcome"] = "undecided"
        return table

    monkeypatch.setattr(command, "check", unsure)
    rows = command.outcome_rows(["highs", "pyomo:mosek"])
    assert rows[2].startswith("| `highs` |") and rows[2].endswith(" -->") and "<!-- undecided: " in rows[2]


def test_a_point_that_is_made_up_fails():
    class Dreaming(Highs):
        name = "dreaming"

        def solve(self, program, options):
            solution = super().solve(program, options)
            return solution if solution.x is not None else dataclasses.replace(solution, x=program.col_lower)

    table = conformance.check(Dreaming())
    assert "failed" in set(table["outcome"])
