"""``compare``: a column a mechanism, a row of figures each, options to those that have them, and what is left out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fairlp
from fairlp import Instance, examples
from fairlp.errors import (
    OversizedTaskWarning,
    SkippedMechanismWarning,
)
from own_mechanisms import EVERY

#: cyd needs no memory: what counts is its share of the CPU
OWN_INSTANCE = fairlp.Instance.from_arrays(
    [[1, 4], [3, 1], [1, 0]], [[9, 18]], users=["ann", "bob", "cyd"], resources=["cpu", "memory"]
)


OWN_TASKS = {
    "memory-first": [0.6, 2.4, 1.2],  # 4x/18 = y/18 = z/9, and the CPU is full
    "half-guaranteed": [4.375, 0.5, 3.125],  # bob has its half; then memory, then CPU
    "own-part": [1.5, 1.0, 3.0],  # a third of everything
    "one-by-one": [1, 2, 2],
    "most-tasks": [0, 0, 9],
}


def test_a_summary_has_the_figures_of_each_allocation():
    instance = examples.ghodsi()
    summary = fairlp.compare(instance, ["drf", "drf-discrete"], value="summary")
    for name, figures in summary.iterrows():
        allocation = fairlp.allocate(instance, name)
        shares = allocation.shares.to_numpy()
        assert figures["total tasks"] == allocation.totals.sum()
        assert figures["smallest share"] == shares.min()
        assert figures["largest share"] == shares.max()
    assert "seconds" not in summary, "the first mechanism in a process pays for the start"


def test_mechanisms_of_ones_own_stand_beside_those_of_fairlp():
    table = fairlp.compare(OWN_INSTANCE, [*EVERY, "drf"])
    assert list(table.columns) == [*(row.name for row in EVERY), "drf"]
    for row in EVERY:
        np.testing.assert_allclose(table[row.name], OWN_TASKS[row.name], rtol=1e-9, atol=1e-12)
    assert not set(OWN_TASKS) & set(fairlp.compare(OWN_INSTANCE).columns), (
        "asked for nothing, it takes ours"
    )


def test_compare_hands_options_to_those_who_have_them():
    comparison = fairlp.compare(
        examples.load("ghodsi-59-19"), ["drf", "drf-discrete", "pdrf"], rule="stop", solver="scipy"
    )
    assert comparison["drf-discrete"].to_dict() == {"A": 2, "B": 8}
    assert comparison["drf"].to_dict() == pytest.approx({"A": 19 / 8, "B": 19 / 2})


def test_compare_leaves_out_what_given_rates_contradict():
    instance = examples.load("khamse-ashari-figure-4")
    assert list(fairlp.compare(instance).columns) == [
        "cdrf",
        "tsf",
        "naive-drf",
        "gavel",
        "oef",
        "shockwave",
        "psdsf-rdm",
        "psdsf-tdm",
    ]
    with pytest.warns(SkippedMechanismWarning, match="drfh is left out: .* rates are given"):
        table = fairlp.compare(instance, ["drfh", "cdrf"])
    assert table["drfh"].isna().all()
    # channel by channel: halves; together: equal parts of 2750 and 1750, the first two channels to
    # whom they suit
    assert fairlp.allocate(instance, "naive-drf").totals.tolist() == pytest.approx([1375, 875])
    cdrf = fairlp.allocate(instance, "cdrf")
    assert cdrf.totals.tolist() == pytest.approx([2750 * 24 / 43, 1750 * 24 / 43])
    assert cdrf.utilization.to_numpy() == pytest.approx(1, rel=1e-9)


def two(**options):
    return Instance.from_arrays(
        [[1.0, 2.0], [2.0, 1.0]], [[12.0, 12.0]], users=["ann", "bob"], **options
    )


def test_one_name_instead_of_a_list_of_mechanisms():
    assert list(fairlp.api.allocate_all(two(), "drf")) == ["drf"]
    (allocation,) = fairlp.api.allocate_all(two(), "drf").values()
    assert allocation.mechanism == "drf"


_LOOP = """
for k in range(5):
    users = [f"user {k}", "small"]
    instance = fairlp.Instance.from_arrays([[8.0], [1.0]], [[6.0]] * 2, users=users)
    fairlp.allocate(instance, "drfh")
"""


@pytest.mark.parametrize(("action", "count"), [("default", 1), ("once", 1), ("always", 5)])
def test_a_loop_shows_one_warning_of_oversized_tasks(action, count):
    """Each text names another user; the filter "always" shows all of them."""
    code = compile(_LOOP, f"loop-{action}.py", "exec")
    with warnings.catch_warnings(record=True) as warnings_shown:
        warnings.simplefilter(action)
        exec(code, {"fairlp": fairlp})
    texts = [str(warning.message) for warning in warnings_shown]
    assert len(texts) == count and all(f"user {k}" in text for k, text in enumerate(texts))
    assert {warning.filename for warning in warnings_shown} == {f"loop-{action}.py"}


@pytest.mark.parametrize("mechanism", ["drfh", "drfh-best-fit", "slots"])
def test_every_way_warns_of_a_task_that_fits_no_server(mechanism):
    instance = fairlp.Instance.from_arrays([[8.0], [9.0], [1.0]], [[6.0]] * 2)
    with pytest.warns(OversizedTaskWarning, match="and so for 1 more user ") as warnings_shown:
        allocation = fairlp.allocate(instance, mechanism)
    assert str(warnings_shown[0].message) in allocation.notes
    if mechanism != "drfh":
        assert "they get nothing, since tasks are whole" in allocation.notes[-1]
        assert allocation.totals[:2].tolist() == [0, 0]


def test_a_model_of_a_task_that_fits_no_server_warns():
    instance = fairlp.Instance.from_arrays([[8.0], [1.0]], [[6.0]] * 2)
    with pytest.warns(OversizedTaskWarning, match="the model lets fractions of it run"):
        fairlp.formulate(instance, "drfh")
    with pytest.warns(OversizedTaskWarning, match="the model runs no such task"):
        fairlp.formulate(instance, "drfh", whole=True)
