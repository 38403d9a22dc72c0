"""What the page of features says: what works runs, what is refused is refused."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fairlp
from fairlp import Index, Model, log
from fairlp.errors import FairlpError
from paths import ROOT

PAGE = (
    (ROOT / "docs" / "features.md")
    .read_text(encoding="utf-8")
    .partition("## What users of other")[2]
)
ROWS = [
    line.strip("| ").split(" | ")
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| ---")
]
FEATURES = [row for row in ROWS if len(row) == 2]


def names(folder):
    """Return what the code of the page may name."""
    n, i = Index("n", ["ann", "bob", "cat"], "user"), Index("i", ["s1", "s2"], "server")
    t = Index("t", range(4), "step")
    model = Model("page", indices=(n, i, t))
    x, z = model.variable("x", n, i, upper=9), model.variable("z", t, upper=9)
    y = model.variable("y", t)
    c, u = model.parameter("c", n, [1, 2, 3]), model.parameter("u", (), 4)
    model.constraint("most", x.sum(n) <= u)
    model.maximize((c * x).sum() - z.sum())
    whole = Model("whole", indices=(n,))
    k = whole.variable("k", n, integer=True, upper=5)
    whole.constraint("row", 2 * k.sum() <= 9)
    whole.maximize(k.sum())
    instance = fairlp.examples.ghodsi()
    return {
        "instance": instance, "text": fairlp.allocate(instance, "drf").to_json(), "fairlp": fairlp, "log": log,
        "np": np, "folder": folder, "n": n, "i": i, "t": t, "model": model, "x": x, "z": z, "y": y, "c": c,
        "whole": whole, "solution": model.solve(), "mask": np.eye(3, 2) > 0,
        "demand": pd.Series({"cat": 1, "ann": 2, "bob": 3}),
        "costs": pd.DataFrame(1.0, list(n), list(i)).to_numpy(), "sparse": sp.coo_array(np.eye(3, 4)),
        "team": pd.Series(["a", "b", "a"], list(n), name="team"),
    }  # fmt: skip


@pytest.mark.parametrize("row", FEATURES, ids=[row[0] for row in FEATURES])
def test_what_the_page_says(row, tmp_path):
    cell = row[1]
    if cell == "missing":
        return
    code = re.search("`(.*)`", cell)[1]
    if "read_program" in code:
        fairlp.formulate(fairlp.examples.ghodsi(), "drf").write(tmp_path / "m.mps")
    if cell.startswith("refused"):
        with pytest.raises((FairlpError, TypeError)):
            eval(code, names(tmp_path))
    else:
        eval(code, names(tmp_path))


def test_the_page_has_the_features_that_users_ask_for():
    assert len(FEATURES) >= 45 and sum(row[1] == "missing" for row in FEATURES) <= 3
