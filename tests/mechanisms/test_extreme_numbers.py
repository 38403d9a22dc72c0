"""Numbers at the ends of floats: a result, a clear error or "not proved", in time and without a word of NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import FairlpError, FairlpWarning, NotDefinedError
from fairlp.tolerances import AUDIT
from profiles import PROFILE

USUAL = {
    "demands": np.array([[1.0, 4], [3, 1], [2, 2]]),
    "capacities": np.array([[9.0, 18], [6, 12]]),
    "weights": np.array([1.0, 2, 1]),
}
MAGNITUDES = (
    [2.3e-308, 1e-300, 1e-200, 1e-160, 1e160, 1e200, 1e300, 1e308]
    if PROFILE == "nightly"
    else [1e-300, 1e300]
)
#: Times so much, what the tasks are multiplied by.
TASKS = {
    "demands": lambda size: 1 / size,
    "capacities": lambda size: size,
    "weights": lambda size: 1.0,
    "both": lambda size: 1.0,
}
SINGLE = {
    "one demand": ("demands", (0, 0)),
    "one weight": ("weights", 0),
    "one capacity": ("capacities", (0, 0)),
}


def changed(field, size, pooled):
    """The usual instance with some numbers times a size."""
    parts = {name: numbers.copy() for name, numbers in USUAL.items()}
    names = ("demands", "capacities") if field == "both" else (field,)
    with np.errstate(over="ignore"):
        for name in names if field in TASKS else ():
            parts[name] *= size
        if field in SINGLE:
            array, place = SINGLE[field]
            parts[array][place] *= size
    if field == "limit":
        parts["task_limits"] = [size, None, 5]
    if pooled:
        parts["capacities"] = parts["capacities"][:1]
    return Instance.from_arrays(**parts, queue=["q", "q", "r"])


def of_usual(mechanism):
    """Return whether the mechanism needs one pool, and its tasks of the usual instance."""
    for pooled in (False, True):
        try:
            return pooled, fairlp.allocate(changed("", 1.0, pooled), mechanism).totals.to_numpy()
        except NotDefinedError:
            continue
    pytest.skip("it needs data of its own")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", fairlp.mechanisms().index)
def test_extreme_magnitudes(mechanism):
    pooled, usual = of_usual(mechanism)
    whole = any(word in mechanism for word in ("whole", "discrete", "drfh-", "slots", "drf-milp"))
    for field in (*TASKS, *SINGLE, "limit"):
        for size in MAGNITUDES:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                warnings.simplefilter("ignore", FairlpWarning)
                try:
                    allocation = fairlp.allocate(changed(field, size, pooled), mechanism)
                    allocation.to_dict(), str(allocation)
                except FairlpError as error:
                    assert len(str(error)) < 1000
                    continue
            totals = allocation.totals.to_numpy()
            assert np.isfinite(totals).all() and (totals >= 0).all()
            if field in TASKS and not whole and not getattr(allocation, "unproved", ""):
                assert totals == pytest.approx(usual * TASKS[field](size), rel=AUDIT, abs=0), (
                    field,
                    size,
                )


def test_weights_of_one_size_are_no_weights_however_small():
    """Weights of 1e-310 had no end in H-DRF, and were a ValueError in others; of 1e-307 they are as good as of 1."""
    for mechanism in ("h-drf", "h-drf-counted", "dynamic-drf", "cautious-lp"):
        parts = {**USUAL, "capacities": USUAL["capacities"].sum(axis=0, keepdims=True)}
        usual = fairlp.allocate(Instance.from_arrays(**parts), mechanism)
        small = fairlp.allocate(
            Instance.from_arrays(**{**parts, "weights": parts["weights"] * 1e-307}), mechanism
        )
        assert small.totals.to_numpy() == pytest.approx(usual.totals.to_numpy(), rel=AUDIT)
