"""One door for numbers: what is a number and what is not, the same in a model and in an instance."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import fairlp
import fairlp_research
from fairlp import Index, Instance, Model
from fairlp.errors import FairlpError
from fairlp.models.notation.reals import NumberError, floats, number
from fairlp_clusters.dues.weights import with_weights

N = Index("n", ["ann", "bob"], "user")
HUGE = 10**400
IS_LONG = np.finfo(np.longdouble).max > np.finfo(float).max


def model_doors():
    """Every place of a model that takes numbers, by name; each is given two numbers or one."""
    model = Model("m")
    x = model.variable("x", N, upper=[4, 4])
    p = model.parameter("p", N, [1, 2])
    q = model.parameter("q", (), 3)
    return {
        "parameter": lambda v: Model("k").parameter("p", N, [v, 1]),
        "one parameter": lambda v: Model("k").parameter("p", (), v),
        "set": lambda v: p.set([v, 1]),
        "set one": lambda v: q.set(v),
        "upper": lambda v: Model("k").variable("y", N, upper=[v, 1]),
        "one upper": lambda v: Model("k").variable("y", N, upper=v),
        "bounds": lambda v: x.set(upper=[v, 1]),
        "fix": lambda v: x.fix({"ann": v, "bob": 1}),
        "coefficient": lambda v: v * x,
        "coefficients": lambda v: [v, 1] * x,
        "quotient": lambda v: x / v,
        "constant": lambda v: x + v,
        "side": lambda v: x <= v,
        "sides": lambda v: x <= [v, 1],
        "sides by label": lambda v: x <= {"bob": v, "ann": 1},
        "Series": lambda v: x <= pd.Series([v, 1], list(N), dtype=object),
        "range": lambda v: x.between(None, [v, 1]),
        "one end": lambda v: x.between(0, v),
        "power": lambda v: x.sum() ** v,
        "least": lambda v: model.semicontinuous(f"s{len(model.variables)}", x, v),
        "big M": lambda v: model.indicator(
            f"i{len(model.constraints)}",
            model.variable(f"z{len(model.variables)}", N, binary=True),
            x <= 1,
            big_m=v,
        ),
        "breakpoints": lambda v: model.piecewise(
            f"y{len(model.variables)}", x["ann"], [0, v], [0, 1]
        ),
        "sweep": lambda v: model.sweep({"q": [v, 1]}) if model.objective else None,
    }


def instance_doors():
    """Every place of an instance that takes numbers."""
    base = Instance.from_arrays(
        [[1.0], [1.0]], [[4.0]], users=list(N), servers=["s"], resources=["cpu"], queue=["a", "b"]
    )
    users = pd.DataFrame({"cpu": [1, 1]}, list(N), dtype=object)
    servers = pd.DataFrame({"cpu": [4]}, ["s"], dtype=object)

    def replaced(name, form):
        return lambda v: base.replace(**{name: form(v)})

    return {
        "demands": replaced("demands", lambda v: [[v], [1]]),
        "capacities": replaced("capacities", lambda v: [[v]]),
        "capacities of one server": replaced("capacities", lambda v: [v]),
        "weights": replaced("weights", lambda v: [v, 1]),
        "weights by label": replaced("weights", lambda v: {"bob": v, "ann": 1}),
        "task_limits": replaced("task_limits", lambda v: [v, 1]),
        "counts": replaced("counts", lambda v: [v]),
        "rates": replaced("rates", lambda v: [[v], [1]]),
        "entitlements": replaced("entitlements", lambda v: [v, 0.5]),
        "queue": replaced("queues", lambda v: {"a": v}),
        "guarantee": replaced("queues", lambda v: {"a": {"guarantee": {"cpu": v}}}),
        "users": lambda v: Instance.from_frames(
            users.assign(cpu=pd.Series([v, v], list(N), dtype=object)), servers
        ),
        "frontier": lambda v: fairlp_research.frontier(base.replace(queue=None, queues=None), [v]),
        "weights by name": lambda v: with_weights(base, {"queue:a": v}),
        "allocation": lambda v: fairlp.audit(base, [[v], [1]]),
        "alpha": lambda v: fairlp.allocate(
            base.replace(queue=None, queues=None), "alpha-fair", alpha=v
        ),
    }


WRONG = {
    "int": HUGE,
    "negative int": -HUGE,
    "fraction": Fraction(HUGE, 3),
    "decimal": Decimal("1e400"),
    "text": "1",
    "bytes": b"1",
    "NumPy text": np.str_("2"),
    "complex": 1j,
    "signalling NaN": Decimal("sNaN"),
    "mapping": {"a": 1},
    "object": object(),
} | ({"long double": np.longdouble("1e400")} if IS_LONG else {})


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("door", [*model_doors()])
def test_what_is_no_number_of_a_model_is_refused_in_words(door, kind):
    if door == "sweep":
        return
    with pytest.raises(FairlpError) as caught:
        model_doors()[door](WRONG[kind])
    assert "np." not in str(caught.value) and len(str(caught.value)) < 700


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("door", [*instance_doors()])
def test_what_is_no_number_of_an_instance_is_refused_in_words(door, kind):
    with pytest.raises(FairlpError) as caught:
        instance_doors()[door](WRONG[kind])
    assert "np." not in str(caught.value) and len(str(caught.value)) < 700


@pytest.mark.parametrize(
    "value", [Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.longdouble(0.5)]
)
def test_numbers_of_all_kinds_are_taken_everywhere(value):
    whole = {"breakpoints", "sweep"}
    for name, door in model_doors().items():
        if name not in whole:
            door(value)
    for name, door in instance_doors().items():
        if name != "counts":
            door(value)


@given(st.fractions())
def test_a_fraction_becomes_the_nearest_float(value):
    try:
        expected = value.numerator / value.denominator
    except OverflowError:
        with pytest.raises(NumberError):
            number(value)
        return
    if expected == 0 and value:
        with pytest.raises(NumberError, match="nearer to 0"):
            number(value)
    else:
        assert number(value) == expected and floats([value, 1]).tolist() == [expected, 1]


MISSING = [None, float("nan"), pd.NA, pd.NaT, np.ma.masked, Decimal("NaN")]


@pytest.mark.parametrize("missing", MISSING, ids=lambda value: type(value).__name__)
def test_a_missing_entry_is_named(missing):
    for entries in ([1, missing], np.array([1, missing], dtype=object)):
        with pytest.raises(FairlpError, match="bob"):
            Model("m").parameter("p", N, entries)
        with pytest.raises(FairlpError, match="bob"):
            _ = Model("m").variable("x", N) <= entries
        with pytest.raises(FairlpError, match="bob"):
            Instance.from_arrays([[1], [1]], [[4]], users=list(N), weights=entries)


def test_masked_entries_are_named_at_every_door():
    masked = np.ma.masked_array([1.0, -999.0], mask=[False, True])
    model = Model("m")
    x = model.variable("x", N)
    flags = np.ma.masked_array([True, True], mask=[False, True])
    table = np.ma.masked_array([[1.0], [-999.0]], mask=[[False], [True]])
    for door in (
        lambda: model.parameter("p", N, masked),
        lambda: x <= masked,
        lambda: masked * x,
        lambda: x.between(masked, None),
        lambda: model.variable("y", N, upper=masked),
        lambda: x.fix(masked),
        lambda: model.variable("y", N, where=flags),
        lambda: model.constraint("c", x <= 1, where=flags),
        lambda: x[flags],
        lambda: x.groupby(np.ma.masked_array(["a", "b"], mask=[False, True]), "g"),
        lambda: model.parameter("p", (Index("k", ["a"]), N), [masked]),
        lambda: Instance.from_arrays([[1], [1]], [[4]], users=list(N), weights=masked),
        lambda: Instance.from_arrays(table, [[4]], users=list(N)),
        lambda: Instance.from_arrays([[1], [1]], [[4]], users=list(N), rates=table),
        lambda: Instance.from_arrays([[1], [1]], [[4]], users=list(N), eligible=table > 0),
    ):
        with pytest.raises(FairlpError, match=r"of .*'bob'"):
            door()
    with pytest.raises(FairlpError, match="server 'server1' and entry 1 is masked"):
        Instance.from_arrays([[1]], np.ma.masked_array([[4.0]], mask=[[True]]), servers=["server1"])
    assert model.parameter("whole", N, np.ma.masked_array([1, 2])).values.tolist() == [1, 2]
