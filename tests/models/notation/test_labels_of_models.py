"""Parameters, bounds and masks of a model take labelled input by its labels, with the function that instances use."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp.errors import ModelError
from fairlp.models.notation.expressions import Index
from fairlp.models.notation.model import Model

N = Index("n", ["ann", "bob"], "user")
R = Index("r", ["cpu", "memory"], "resource")
TABLE = pd.DataFrame([[1.0, 4.0], [3.0, 1.0]], list(N), list(R))


def test_a_parameter_is_put_in_the_order_of_its_indices():
    pairs = pd.Series({(user, r): TABLE.loc[user, r] for user in N for r in R})
    for form in (TABLE, TABLE.iloc[::-1, ::-1], pairs.sample(frac=1, random_state=2), TABLE.T.to_dict()):
        assert Model("m").parameter("d", (N, R), form).values.tolist() == TABLE.to_numpy().tolist()
    assert Model("m").parameter("c", R, pd.Series({"memory": 18, "cpu": 9})).values.tolist() == [9, 18]
    assert Model("m").parameter("c", R, {"memory": 18, "cpu": 9}).values.tolist() == [9, 18]
    assert Model("m").parameter("c", R, pd.Series([9, 18])).values.tolist() == [9, 18]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pd.Series({"memory": 18, "disk": 9}), "parameter 'c' names resource 'disk', which is unknown"),
        (pd.Series({"memory": 18}), "parameter 'c' has no resource 'cpu'; expected every resource: 'cpu', 'memory'"),
        (pd.Series([1, 2, 3], ["cpu", "memory", "cpu"]), "resource 'cpu' twice"),
        ("many", "not all numbers"),
    ],
)
def test_a_parameter_with_other_labels_is_refused(values, said):
    with pytest.raises(ModelError, match=said):
        Model("m").parameter("c", R, values)


def test_bounds_and_masks_have_labels_too():
    model = Model("m")
    x = model.variable("x", N, lower=pd.Series({"bob": 1.0, "ann": 0.5}), upper={"bob": 2.0, "ann": 3.0})
    assert x.lower.tolist() == [0.5, 1] and x.upper.tolist() == [3, 2]
    y = model.variable("y", N, R, where=(TABLE > 1).iloc[::-1, ::-1])
    assert y.positions is not None and y.positions.tolist() == np.flatnonzero(TABLE > 1).tolist()
    model.constraint("one", x >= 1, where=pd.Series({"bob": True, "ann": False}))
    assert model.constraints["one"].positions.tolist() == [1]
    with pytest.raises(ModelError, match="'where' of constraint 'two' has no user 'ann'"):
        model.constraint("two", x >= 1, where=pd.Series({"bob": True}))
    with pytest.raises(ModelError, match="the lower bound of variable 'z' names user 'cat', who is unknown"):
        model.variable("z", N, lower={"ann": 0, "cat": 1})
