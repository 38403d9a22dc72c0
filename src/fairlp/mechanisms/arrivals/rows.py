"""The rows of the table for users who arrive one by one and never leave."""

from __future__ import annotations

from functools import partial

from ...formulations import normalisers
from ..domains import NO_CONSTRAINTS, NO_LIMITS, NO_QUEUE_LIMITS, NO_RATES, ONE_SERVER, ONE_WEIGHT
from ..mechanism import Mechanism, Method
from . import algorithms
from .methods import CAUTIOUS, DYNAMIC_DRF, by_lp, combinatorial, in_parts
from .validation import check_steps

STACK = Method(
    "stack",
    combinatorial(DYNAMIC_DRF, in_parts(algorithms.stack)),
    cost="O(NR) for all steps, amortised O(R) a step",
)
WATER = Method("water-filling", combinatorial(DYNAMIC_DRF, in_parts(algorithms.water_filling)), cost="O(NR) a stage")
LINEAR = Method("linear", combinatorial(DYNAMIC_DRF, in_parts(algorithms.linear)), cost="O(NR) a step")
DRF_LP = Method("lp", by_lp(DYNAMIC_DRF), cost="one LP a step", solves=True)
CLOSED_FORM = Method("closed-form", combinatorial(CAUTIOUS, CAUTIOUS.levels), cost="O(NR) for all steps")
CAUTIOUS_LP = Method("lp", by_lp(CAUTIOUS), cost="one LP a step", solves=True)

_IN_TURN = (ONE_SERVER, NO_CONSTRAINTS, NO_RATES, NO_LIMITS, ONE_WEIGHT, NO_QUEUE_LIMITS)

ROWS = (
    Mechanism(
        "dynamic-drf",
        "Dynamic DRF (users arrive one by one and never leave)",
        "Kash, Procaccia and Shah, JAIR 2014; Li et al., 2019",
        DYNAMIC_DRF.formulate,
        normalisers.dominant,
        (STACK, WATER, LINEAR, DRF_LP),
        (
            "dynamic sharing incentive",
            "dynamically envy-free",
            "dynamically Pareto-optimal",
            "strategy-proof at every step",
            "late arrival never pays (ours)",
            "irrevocable",
        ),
        _IN_TURN,
        options=("horizon",),
        validate=partial(check_steps, rule=DYNAMIC_DRF),
        compared=False,
        arrivals=True,
        limits="never",
    ),
    Mechanism(
        "cautious-lp",
        "Cautious LP (keeps enough for users still to come)",
        "our reading of Kash, Procaccia and Shah, JAIR 2014",
        CAUTIOUS.formulate,
        normalisers.dominant,
        (CLOSED_FORM, CAUTIOUS_LP),
        (
            "dynamic sharing incentive",
            "envy-free at every step",
            "strategy-proof at every step",
            "late arrival never pays (ours)",
            "irrevocable",
        ),
        _IN_TURN,
        options=("horizon",),
        validate=partial(check_steps, rule=CAUTIOUS),
        compared=False,
        arrivals=True,
        limits="never",
    ),
)
