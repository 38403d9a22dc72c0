"""The program of each step: it reads like the paper, holds what users had, and gives the level of its step."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
from arrival_cases import random_arrivals
from fairlp import Instance, examples
from profiles import by_day

MECHANISMS = ["dynamic-drf", "cautious-lp"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("seed", by_day(range(0, 36, 5), 3))
def test_the_model_of_each_step_gives_its_level(seed, mechanism, tmp_path):
    demands, capacities, weights = random_arrivals(seed)
    instance = Instance.from_arrays(demands, [capacities], weights=weights)
    horizon = float(weights.sum() + 2)
    result = fairlp.allocate(instance, mechanism, horizon=horizon)
    files = result.write_models(tmp_path / "models")
    stem = {"dynamic-drf": "drf", "cautious-lp": "cautious-lp"}[mechanism]
    expected = [f"{stem}-step-{step:04d}.mps" for step in range(1, len(demands) + 1)]
    assert [path.name for path in files if path.suffix == ".mps"] == expected
    for step, name in enumerate(expected, 1):
        level = result.levels[step]
        model = fairlp.formulate(instance, mechanism, step=step, horizon=horizon)
        solution = model.solve()
        assert solution.verify().is_optimal
        assert solution.objective == pytest.approx(level, rel=1e-8)
        assert fairlp.read_program(tmp_path / "models" / name).solve().objective == pytest.approx(
            level, rel=1e-8
        )
        if step > 1:  # of the newest nothing is asked
            before = model.parameters["x_before"].values[:-1]
            assert before == pytest.approx(result.steps.iloc[step - 2, : step - 1].to_numpy())
    assert str(model).startswith(
        {"dynamic-drf": "dynamic DRF, step", "cautious-lp": "cautious LP, step"}[mechanism]
    )


def test_models_read_like_the_paper_and_hold_what_users_had():
    model = fairlp.formulate(examples.epsilon(), "dynamic-drf", step=4)
    text = str(model)
    for line in (
        "maximize  M",
        "fairness     x[n] ≥ φ[n]·M   ∀ n",
        "irrevocable  x[n] ≥ x_before[n]   ∀ n ∈ E (3 of 4)",
        "E = {user1, user2, user3}   3 of 4",
        "capacity     ∑_n d̂[n,r]·x[n] ≤ a   ∀ r",
    ):
        assert line in text
    before = fairlp.allocate(examples.epsilon(), "dynamic-drf").steps.loc[3].fillna(0)
    np.testing.assert_allclose(model.parameters["x_before"].values, before)
    assert float(model.parameters["a"].values) == 1.0
    cautious = fairlp.formulate(examples.epsilon(), "cautious-lp", step=1)
    assert (
        "∑_n d̂[n,r]·x[n] + e·M ≤ a" in str(cautious) and float(cautious.parameters["e"].values) == 3
    )
    assert fairlp.formulate(examples.epsilon(), "dynamic-drf").name == "dynamic DRF, step 4"
