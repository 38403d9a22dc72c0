"""Messages quote labels and values shortly, and as Python writes them: no types of NumPy, no whole arrays."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_clusters
import fairlp_research
from fairlp import Index, Instance, Model
from fairlp.errors import FairlpError, nearest, quoted
from fairlp_clusters.dues.weights import with_weights

#: Letters of a message that a person reads.
_MOST = 800
LONG = "long " * 4000
SCALARS = [
    np.int64(99),
    np.uint8(9),
    np.float64(2.5),
    np.float32(-1.5),
    np.longdouble(7.5),
    np.bool_(True),
    np.str_("zed"),
    np.bytes_(b"zed"),
    np.datetime64("2024-01-01"),
    np.timedelta64(3, "s"),
    np.complex128(1j),
    np.float64("nan"),
    np.float64("inf"),
    np.int64(-3),
]
ARRAYS = [
    np.arange(5000),
    np.zeros((40, 40)),
    np.array([np.int64(1), "a", None], dtype=object),
    list(np.arange(5000)),
    [np.str_("zed"), np.str_("yak")],
    (np.int64(98), np.int64(99)),
    {np.int64(7): np.float64(3.5)},
    {f"label {k}": np.int64(k) for k in range(2000)},
    pd.Series(np.arange(3000)),
    pd.Series(np.arange(3), [np.int64(5), np.int64(6), np.int64(7)]),
    pd.DataFrame(np.ones((30, 30))),
    np.ma.masked_array([1, 2], mask=[True, False]),
    LONG,
    [LONG],
    {LONG: 1},
    10**1000,
    object(),
    len,
    {1, 2},
]
WRONG = [*SCALARS, *ARRAYS]


def model_uses():
    """What takes labels or values of a model, by name."""
    n, k = Index("n", ["ann", "bob"], "user"), Index("k", [1, 2, 3])
    model = Model("m", indices=(n, k))
    x = model.variable("x", n, k)
    z = model.variable("z", n, binary=True)
    p = model.parameter("p", n, [1, 2])
    model.constraint("cap", x <= 4)
    model.minimize(x.sum())
    return {
        "label": lambda v: x[v],
        "labels": lambda v: x[[v]],
        "two labels": lambda v: x["ann", v],
        "slice": lambda v: x["ann":v],
        "selected": lambda v: (2 * x)["ann", v],
        "parameter label": lambda v: p[v],
        "index": lambda v: Index("q", v),
        "index label": lambda v: Index("q", [v, v]),
        "symbol": lambda v: Index(v, ["a"]),
        "name": lambda v: model.variable(v, n),
        "parameter name": lambda v: model.parameter(v, n, [1, 2]),
        "parameter name and values": lambda v: model.parameter(v, n, [1]),
        "another model": lambda v: model.equals(v),
        "program file": lambda v: fairlp.read_program(str(quoted(v)) * 40),
        "constraint name": lambda v: model.constraint(v, x <= 1),
        "over": lambda v: model.variable("w", v),
        "sum": lambda v: x.sum(v),
        "mean": lambda v: x.mean(v),
        "shift": lambda v: x.shift(v),
        "steps": lambda v: x.shift(k, v) and None,
        "cumsum": lambda v: x.cumsum(v),
        "groups": lambda v: x.groupby(v, "g"),
        "name of groups": lambda v: x.groupby({"ann": 1, "bob": 2}, v) and None,
        "values": lambda v: model.parameter("q", (n, k), v),
        "labelled values": lambda v: model.parameter("q", n, {"ann": v, "bob": [v]}),
        "unknown label": lambda v: model.parameter("q", n, {"ann": 1, "bob": 2, LONG[:300]: v}),
        "set": lambda v: p.set({"ann": v, "bob": [v, v]}),
        "mask": lambda v: model.variable("w", n, where=v),
        "subset": lambda v: model.subset("E", n, v),
        "bounds": lambda v: model.variable("w", n, lower=[1, 2], upper=[v, v, v]),
        "fix": lambda v: x.fix(v),
        "beside": lambda v: x <= [v, [v]],
        "relation": lambda v: model.constraint("c", v),
        "objective": lambda v: model.maximize(v),
        "power": lambda v: x.sum() ** v and None,
        "between": lambda v: x.between([v], [v]),
        "indicator": lambda v: model.indicator("i", v, x <= 1),
        "active": lambda v: model.indicator("i", z, x <= 1, active=v) and None,
        "sos": lambda v: model.sos1("s", v, n),
        "breakpoints": lambda v: model.piecewise("f", x["ann", 1], v, v),
        "item": lambda v: model[v],
        "remove": lambda v: model.remove(v),
        "solver": lambda v: model.solve(v),
        "start by name": lambda v: model.solve(start={quoted(v): 1}),
        "source": lambda v: Model("m", v) and None,
        "sweep": lambda v: model.sweep(v, [1]),
        "swept": lambda v: model.sweep("p", [v, [v]]),
        "read": lambda v: model.sweep("p", [[1, 2]], read=v if v is not len else [v]),
        "point": lambda v: model.evaluate("x", v),
    }


def instance_uses():
    """What takes labels or values of an instance, by name."""
    base = Instance.from_arrays(
        [[1, 1], [2, 1]],
        [[9, 9], [4, 8]],
        users=["ann", "bob"],
        servers=["s1", "s2"],
        resources=["cpu", "memory"],
    )
    queued = base.replace(queue=["a", "b"])
    names = sorted({*Instance.from_arrays.__kwdefaults__, "demands", "capacities"} - {"name"})
    names.append("eligible")
    frames = base.to_frames()
    return (
        {f"replace {name}": lambda v, name=name: base.replace(**{name: v}) for name in names}
        | {
            f"replace two {name}": lambda v, name=name: base.replace(**{name: [v, v]})
            for name in names
        }
        | {
            f"replace by label {name}": lambda v, name=name: base.replace(
                **{name: {"ann": v, "zed": v}}
            )
            for name in names
        }
        | {
            "eligible of a user": lambda v: base.replace(eligible=[[v], None]),
            "queue": lambda v: queued.replace(queues={"a": v}) and None,
            "guarantee": lambda v: queued.replace(queues={"a": {"guarantee": {"cpu": [v]}}}),
            "resource of a queue": lambda v: queued.replace(queues={"a": {"cap": {LONG[:300]: v}}}),
            "key of a queue": lambda v: queued.replace(queues={"a": {LONG[:300]: v}}),
            "users": lambda v: Instance.from_frames(v, frames[1]),
            "servers": lambda v: Instance.from_frames(frames[0], v),
            "column": lambda v: Instance.from_frames(
                frames[0].assign(cpu=pd.Series([v, "x"], frames[0].index, dtype=object)), frames[1]
            ),
            "resources": lambda v: Instance.from_frames(*frames, resources=[v]),
            "mechanism": lambda v: fairlp.allocate(base, v),
            "method": lambda v: fairlp.allocate(base, "drfh", method=v),
            "solver": lambda v: fairlp.allocate(base, "drfh", solver=v),
            "alpha": lambda v: fairlp.allocate(base, "alpha-fair", alpha=[v]),
            "steps": lambda v: fairlp.allocate(base, "gavel", steps=v),
            "oversized": lambda v: fairlp.allocate(base, "drfh", oversized=v),
            "compare": lambda v: fairlp.compare(base, [v]),
            "audit": lambda v: fairlp.audit(base, v),
            "property": lambda v: fairlp.audit(base, [[1, 1], [1, 1]], [v]),
            "alphas": lambda v: fairlp_research.frontier(base, [[v]]),
            "observed": lambda v: fairlp_research.frontier(base, [1], observed=v),
            "weights": lambda v: with_weights(base, {"ann": [v]}),
            "name of a weight": lambda v: with_weights(base, {LONG[:300]: v}),
            "by": lambda v: fairlp_clusters.fair_shares(base, by=v),
        }
    )


@pytest.mark.parametrize("use", [*model_uses(), *instance_uses()])
def test_messages_are_short_and_of_plain_values(use):
    uses = model_uses() | instance_uses()
    if use in model_uses() and use in instance_uses():
        uses = model_uses()
    refused = 0
    for value in WRONG:
        try:
            uses[use](value)
        except FairlpError as error:
            message = str(error)
            refused += 1
            problem = re.search(r"\bnp\.|\barray\(|dtype=|<NA>, | at 0x|Length: ", message)
            assert not problem, f"{quoted(value)}: {message}"
            assert len(message) <= _MOST, f"{quoted(value)}: {len(message)} letters: {message}"
    # a mapping has labels, whatever its values
    assert refused >= 3 or use in [
        f"replace by label {name}s" for name in ("user", "server", "resource")
    ]


def test_a_value_is_quoted_shortly():
    for value in WRONG:
        text = quoted(value)
        assert len(text) < 200 and "np." not in text and "\n" not in text
    assert quoted(np.ma.masked) == "masked" and quoted(("ann",)) == "('ann',)"
    assert quoted(pd.Timestamp("2024-01-01")).startswith("Timestamp(")


def test_many_names_are_not_all_listed():
    assert len(nearest("q", [f"{LONG[:150]} {k}" for k in range(99)])) < 800
    assert nearest(np.int64(3), [np.int64(1), np.int64(2)]) == "known: 1, 2"
