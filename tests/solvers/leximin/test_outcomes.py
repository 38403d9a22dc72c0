"""The leximin of lotteries over an oracle's outcomes, beside the leximin over all outcomes, listed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
from fairlp import Index, Model
from fairlp.errors import ModelError, UnknownNameError
from fairlp.tolerances import AGREEMENT
from profiles import many

PEOPLE = ["ann", "bea", "carl", "dan"]


def listed(outcomes, people, weights=None):
    """The leximin of lotteries over all outcomes, in a model that has them all."""
    n, k = Index("n", people), Index("k", range(len(outcomes)))
    model = Model("lotteries", indices=(n, k))
    p = model.variable("p", k)
    model.constraint("sum", p.sum(k) == 1)
    a = model.parameter("a", (k, n), outcomes)
    return fairlp.leximin(model, (a * p).sum(k), weights=weights)


def choosing(outcomes, people):
    """An oracle that looks at every outcome."""
    return lambda weight: pd.Series(outcomes[(outcomes @ weight.to_numpy()).argmax()], index=people)


@st.composite
def panels(draw):
    """All panels of some size that keep quotas on two features, as levels; at least one."""
    size = draw(st.integers(2, 7))
    features = np.array(
        draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=size, max_size=size))
    )
    panel_size = draw(st.integers(1, size))
    quota = [draw(st.integers(0, min(panel_size, int(column.sum())))) for column in features.T]
    all_of_them = np.array(
        [np.isin(range(size), panel) for panel in combinations(range(size), panel_size)]
    )
    rows = all_of_them[(all_of_them @ features >= quota).all(axis=1)]
    return (rows if len(rows) else all_of_them).astype(float)


@pytest.mark.slow
@settings(deadline=None, max_examples=many(100))
@given(panels(), st.randoms(use_true_random=False))
def test_levels_are_those_of_all_outcomes(outcomes, random):
    people = [f"p{k}" for k in range(outcomes.shape[1])]
    weights = [random.choice([1.0, 2.0, 0.5]) for _ in people]
    answer = fairlp.leximin(people, oracle=choosing(outcomes, people), weights=weights)
    expected = listed(outcomes, people, weights).levels
    assert np.allclose(answer.levels, expected, rtol=AGREEMENT, atol=AGREEMENT)
    lottery = answer.outcomes
    assert lottery["probability"].sum() == pytest.approx(1.0)
    mixed = lottery["probability"].to_numpy() @ lottery[people].to_numpy()
    assert (mixed >= (answer.levels * weights) * (1 - 1e-9) - 1e-9).all()
    assert answer.certify()


@settings(deadline=None, max_examples=many(100))
@given(st.integers(0, 2**32 - 1))
def test_outcomes_may_be_any_numbers(seed):
    draw = np.random.default_rng(seed)
    people = [f"p{k}" for k in range(draw.integers(2, 6))]
    outcomes = draw.integers(-3, 5, (draw.integers(1, 9), len(people))).astype(float)
    answer = fairlp.leximin(people, oracle=choosing(outcomes, people))
    assert np.allclose(answer.levels, listed(outcomes, people).levels, rtol=1e-8, atol=1e-8)
    assert (answer.outcomes["probability"] > 0).all()


@pytest.mark.slow
def test_an_oracle_may_be_an_integer_program():
    draw = np.random.default_rng(0)
    n = Index("n", [f"p{k}" for k in range(30)], "person")
    women = draw.random(30) < 0.3
    model = Model("panel", indices=(n,))
    x, w = model.variable("x", n, binary=True), model.parameter("w", n, np.ones(30))
    model.constraint("size", x.sum(n) == 6)
    model.constraint("women", (model.parameter("woman", n, women.astype(float)) * x).sum(n) == 3)
    model.maximize((w * x).sum(n))

    def best(weight):
        w.set(weight)
        return model.solve().require_optimal().values["x"].round()

    answer = fairlp.leximin(n, oracle=best)
    # of either group three are on the panel, all alike
    expected = np.where(women, 3 / women.sum(), 3 / (~women).sum())
    assert (
        np.allclose(answer.levels, expected, rtol=1e-9) and answer.certify() and answer.gap <= 1e-9
    )


def test_a_set_of_people_has_level_one():
    answer = fairlp.leximin(PEOPLE, oracle=lambda weight: {weight.idxmax()})
    assert answer.levels.to_dict() == pytest.approx(dict.fromkeys(PEOPLE, 0.25))
    assert sorted(answer.outcomes[PEOPLE].sum()) == [1.0] * 4


def test_a_certificate_asks_the_oracle_for_what_was_left_out():
    outcomes = np.array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.75]])
    later = []

    def forgetful(weight):
        return outcomes[: 3 if later else 2][
            (outcomes[: 3 if later else 2] @ weight.to_numpy()).argmax()
        ]

    answer = fairlp.leximin(["a", "b"], oracle=forgetful)
    assert answer.levels.to_list() == pytest.approx([0.5, 0.5]) and answer.certify()
    later.append(True)
    assert not answer.certify()


@pytest.mark.parametrize(
    ("oracle", "error", "message"),
    [
        (lambda weight: ["eve"], UnknownNameError, "'eve'"),
        (lambda weight: np.ones(3), ModelError, "4"),
        (lambda weight: {"ann": 1.0}, ModelError, "bea"),
        (lambda weight: weight * np.nan, ModelError, "finite"),
        (
            lambda weight: [weight.idxmin()] if weight.min() < weight.max() else ["ann", "bea"],
            ModelError,
            "must return",
        ),
    ],
)
def test_what_is_no_best_outcome_is_refused(oracle, error, message):
    with pytest.raises(error, match=message):
        fairlp.leximin(PEOPLE, oracle=oracle)
