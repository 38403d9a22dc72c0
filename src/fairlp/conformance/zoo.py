"""A zoo of small programs with known answers, which every back end must get right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.sparse import csc_array

from .. import examples
from ..formulations import max_min
from ..models.notation.expressions import Index, log
from ..models.notation.model import Model
from ..models.programs.program import Block, Program

INF = math.inf
Answer = Literal["optimal", "infeasible", "unbounded", "limit"]


@dataclass(frozen=True)
class Case:
    """One animal: a program and what is known of its answer.

    Attributes
    ----------
    name : str
    program : Program
    answer : {"optimal", "infeasible", "unbounded", "limit"}
    objective : float or None
        The optimal value, worked out by hand or in closed form.
    options : dict
        Options that the case is about (a time limit).
    """

    name: str
    program: Program
    answer: Answer = "optimal"
    objective: float | None = None
    options: tuple[tuple[str, float], ...] = ()


def linear(
    name: str,
    c: Sequence[float],
    rows: Sequence[tuple[float, Sequence[float], float]] = (),
    bounds: Sequence[tuple[float, float]] | None = None,
    sense: str = "max",
    offset: float = 0.0,
    integer: Sequence[int] = (),
) -> Program:
    """Return a program of a cost vector, rows (lower, coefficients, upper), and bounds."""
    n = len(c)
    m = len(rows)
    dense = np.array([row for _, row, _ in rows], dtype=float).reshape(m, n)
    low, high = zip(*(bounds or [(0.0, INF)] * n), strict=True) if n else ((), ())
    whole = np.zeros(n, dtype=np.uint8)
    whole[list(integer)] = 1
    return Program(
        name=name,
        sense="max" if sense == "max" else "min",
        c=np.array(c, dtype=float),
        offset=offset,
        A=csc_array(dense),
        row_lower=np.array([lower for lower, _, _ in rows], dtype=float),
        row_upper=np.array([upper for _, _, upper in rows], dtype=float),
        col_lower=np.array(low, dtype=float),
        col_upper=np.array(high, dtype=float),
        integrality=whole,
        rows=(Block("row", (("i", pd.RangeIndex(m)),), 0, m),) if m else (),
        columns=(Block("x", (("j", pd.RangeIndex(n)),), 0, n),) if n else (),
    )


def linear_cases() -> list[Case]:
    """Return linear programs with an optimum."""
    free = (-INF, INF)
    box = (0.0, INF)
    ones = [1.0, 1.0]
    cases = [
        (linear("max, ≤", [3, 2], [(-INF, ones, 4), (-INF, [1, 3], 6)], [(0, 3), box]), 11),
        (linear("min, ≥", [2, 3], [(4, ones, INF), (6, [1, 3], INF)], sense="min"), 9),
        (linear("max of a minimum's mirror", [-2, -3], [(4, ones, INF), (6, [1, 3], INF)]), -9),
        (linear("equalities", [1, 2, 0], [(5, [1, 1, 1], 5), (1, [1, -1, 0], 1)], sense="min"), 1),
        (linear("range, upper side active", ones, [(1, ones, 3)]), 3),
        (linear("range, lower side active", ones, [(1, ones, 3)], sense="min"), 1),
        (linear("range below zero", [1], [(-5, [2], -3)], [free], sense="min"), -2.5),
        (
            linear("free variables", [1, 1], [(-4, [1, -1], 2), (-INF, [1, 2], 7)], [free, free]),
            16 / 3,
        ),
        (linear("fixed variables", [5, 1], [(-INF, ones, 10)], [(3, 3), box]), 22),
        (
            linear(
                "negative lower bounds", [1, 1], [(-3, ones, INF)], [(-2, 5), (-4, -1)], sense="min"
            ),
            -3,
        ),
        (linear("negative upper, no lower", [1], [(-INF, [1], 9)], [(-INF, -4)]), -4),
        (linear("constant in the objective", [1], [(-INF, [2], 8)], offset=100.5), 104.5),
        (linear("constant in a minimum", [1], [(3, [2], INF)], sense="min", offset=-7), -5.5),
        (linear("empty objective", [0, 0], [(2, ones, 3)]), 0),
        (
            linear(
                "empty rows and columns", [1, 0, -1], [(-1, [0, 0, 0], 1), (-INF, [1, 0, 0], 2)]
            ),
            2,
        ),
        (
            linear(
                "an empty column that wants its bound", [1, 4], [(-INF, [1, 0], 2)], [box, (1, 3)]
            ),
            14,
        ),
        (linear("bounds only", [2, -1], (), [(0, 3), (-1, 9)]), 7),
        (
            linear(
                "degenerate",
                [1, 1],
                [(-INF, [1, 0], 1), (-INF, [0, 1], 1), (-INF, ones, 2), (-INF, [2, 1], 3)],
            ),
            2,
        ),
        (linear("dual degenerate", [1, 1, 1], [(-INF, [1, 1, 1], 5)], [(0, 4)] * 3), 5),
        (linear("duplicate rows", [2], [(-INF, [3], 6)] * 3), 4),
        (
            linear(
                "bad scaling",
                [1e-6, 1e3],
                [(-INF, [1e-6, 0], 2e3), (-INF, [1e-3, 1e6], 4e9), (-INF, [0, 1e9], 1e9)],
            ),
            3e3,
        ),
        (linear("a free row", [1], [(-INF, [1], INF), (-INF, [1], 3)]), 3),
        (linear("a large optimum", [1, 2], [(-INF, ones, 1e9)]), 2e9),
        (linear("a small optimum", [1, 2], [(-INF, ones, 1e-6)]), 2e-6),
    ]
    return [Case(program.name, program, "optimal", value) for program, value in cases]


def fair_cases() -> list[Case]:
    """Return models of the project, whose optimum is known from the papers."""
    optima = {
        "DRF": (max_min.drf, examples.ghodsi(), 2 / 3),
        "EDRF with zero demands": (max_min.edrf, examples.parkes_zero_demands(), 0.5),
        "DRFH": (max_min.drfh, examples.wang_figure_1(), 5 / 7),
        "C-DRFH": (max_min.drfh, examples.khamse_ashari_figure_1(), 12 / 46),
        "TSF": (max_min.tsf, examples.khamse_ashari_figure_1(), 1 / 3),
    }
    return [
        Case(name, form(instance).compile(), "optimal", value)
        for name, (form, instance, value) in optima.items()
    ]


def hopeless_cases() -> list[Case]:
    """Return programs without an optimum."""
    infeasible = [
        linear("rows contradict", [1, 1], [(-INF, [1, 1], 1), (3, [1, 1], INF)]),
        linear("rows against bounds", [1], [(5, [1], INF)], [(0, 3)], sense="min"),
        linear("an equality that no point meets", [1, 0], [(-1, [1, 1], -1)]),
        linear("an empty row that cannot hold", [1], [(1, [0], 2), (-INF, [1], 4)]),
    ]
    unbounded = [
        linear("unbounded above", [1, 1], [(-INF, [1, -1], 2)]),
        linear("unbounded below", [1], [(-INF, [1], 4)], [(-INF, INF)], sense="min"),
        linear("a free column without rows", [1, 1], [(-INF, [1, 0], 4)], [(0, 9), (0, INF)]),
    ]
    return [Case(program.name, program, "infeasible") for program in infeasible] + [
        Case(program.name, program, "unbounded") for program in unbounded
    ]


def integer_cases() -> list[Case]:
    """Return mixed-integer programs."""
    weights = [5, 7, 4, 3]
    box = (0.0, 1.0)
    solved = [
        (linear("knapsack", [8, 11, 6, 4], [(-INF, weights, 14)], [box] * 4, integer=range(4)), 21),
        (
            linear(
                "general integers",
                [3, 2],
                [(-INF, [2, 1], 7.5), (-INF, [1, 3], 9.5)],
                integer=[0, 1],
            ),
            11,
        ),
        (
            linear(
                "integers below zero", [1], [(-7.5, [2], INF)], [(-9, 9)], sense="min", integer=[0]
            ),
            -3,
        ),
        (linear("mixed", [1, 1], [(-INF, [2, 2], 5)], [(0, 9), (0, 0.25)], integer=[0]), 2.25),
    ]
    none = linear("no whole number fits", [1], [(1, [3], 2)], [(0, 9)], integer=[0])
    return [
        *(Case(program.name, program, "optimal", value) for program, value in solved),
        Case(none.name, none, "infeasible"),
    ]


def log_cases() -> list[Case]:
    """Return programs with logarithms, whose optimum is known in closed form."""
    n = Index("n", ["a", "b", "c"])

    def shares(sense: int, linear_part: float, constant: float) -> Program:
        model = Model("shares of a cake")
        w = model.parameter("w", n, [1, 2, 3])
        x = model.variable("x", n)
        model.constraint("cake", x.sum() <= 6)
        objective = sense * (w * log(x + constant)).sum(n) - sense * linear_part * x.sum()
        (model.maximize if sense > 0 else model.minimize)(objective)
        return model.compile()

    def market() -> Program:
        """Two users, two goods, each wanted by one: x = (1, 0), (0, 1), and 2·log-utilities."""
        i = Index("i", ["s", "t"])
        m = Index("m", ["u", "v"])
        model = Model("a Fisher market", indices=(m, i))
        value = model.parameter("v", (m, i), [[3, 1], [1, 3]])
        x = model.variable("x", m, i)
        model.constraint("supply", x.sum(m) <= 1)
        model.maximize(log((value * x).sum(i)).sum(m))
        return model.compile()

    cake = math.log(1) + 2 * math.log(2) + 3 * math.log(3)
    return [
        Case("logs: shares of a cake", shares(1, 0.0, 0.0), "optimal", cake),
        Case("logs: the same as a minimum", shares(-1, 0.0, 0.0), "optimal", -cake),
        # with a price of 2 for each unit, x[n] = w[n]/2, half the cake
        Case("logs and a linear part", shares(1, 2.0, 0.0), "optimal", cake - 6 * math.log(2) - 6),
        # x + 1 in the logarithm: x + 1 = 9·w/6, so x = ½, 2, 3½
        Case(
            "logs of a sum with a constant",
            shares(1, 0.0, 1.0),
            "optimal",
            cake + 6 * math.log(1.5),
        ),
        Case("logs: a market", market(), "optimal", 2 * math.log(3)),
    ]


def limit_cases() -> list[Case]:
    """Return a program that a limit stops: the answer must not be called optimal unless it is."""
    program = max_min.drfh(examples.google_cluster(users=60)).compile()
    return [Case("a time limit", program, "limit", options=(("time_limit", 1.0 / 1024),))]


FAMILIES: dict[str, Callable[[], list[Case]]] = {
    "linear": linear_cases,
    "fair": fair_cases,
    "hopeless": hopeless_cases,
    "integer": integer_cases,
    "logarithms": log_cases,
    "limit": limit_cases,
}


def zoo() -> list[Case]:
    """Return every case.

    Returns
    -------
    list of Case
    """
    return [case for family in FAMILIES.values() for case in family()]
