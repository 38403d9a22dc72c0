"""What objects say that they are, in a console and in a notebook; all text escaped, nothing cut off that matters."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from html import escape
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Index, Model, log
from fairlp.models.programs.proof import Proof

N, I = Index("n", ["ann", "<b>"], "user"), Index("i", ["s1", "s2", "s3"], "server")  # noqa: E741
MASK = np.array([[True, True, False], [False, True, True]])


def model():
    model = Model("<m>", indices=(N, I))
    d, h = (
        model.parameter("d", (N, I), np.ones((2, 3)), "units & more"),
        model.parameter("h", (), 0.5),
    )
    g, t = model.variable("g", N, I, where=MASK), model.variable("t", upper=1)
    model.variable("y", N, upper=[1, 2], integer=True)
    model.variable("b", N, binary=True)
    model.constraint("capacity", (d * g).sum(N) <= h)
    model.constraint("some", g.sum(I) >= t, where=[True, False])
    model.maximize(t)
    return model


def reprs(m):
    g, d, t = m["g"], m["d"], m["t"]
    return {
        "<Index n: 2 users ann, <b>>": N,
        "<Index k: 6 labels 0, 1, 2, 3, …>": Index("k", range(6)),
        "<Parameter d[n,i]: 2 users × 3 servers>": d,
        "<Parameter h: 0.5>": m["h"],
        "<Variable g[n,i] ≥ 0: 4 of 6 exist>": g,
        "<Variable 0 ≤ t ≤ 1>": t,
        "<Variable lower ≤ y[n] ≤ upper integer: 2 users>": m["y"],
        "<Variable b[n] ∈ {0,1}: 2 users>": m["b"],
        "<Element g[ann,i] of a variable: 3 servers>": g["ann"],
        "<Element d[ann,s2] of a parameter>": d["ann", "s2"],
        "<Expression ∑_n d[n,i]·g[n,i] over i>": (d * g).sum(N),
        "<Expression log(t)>": log(t),
        "<Relation g[n,i] ≤ 3 ∀ n, i>": g <= 3,
        "<Range 1 ≤ t ≤ 3>": t.between(1, 3),
        "<Constraint capacity: ∑_n d[n,i]·g[n,i] ≤ h ∀ i: 3 rows>": m["capacity"],
        "<Constraint some: ∑_i g[n,i] ≥ t ∀ n: 1 of 2 rows>": m["some"],
        "<Model '<m>': 4 variables, 2 constraints>": m,
    }


@pytest.mark.parametrize("text", reprs(model()))
def test_every_object_says_what_it_is(text):
    assert repr(reprs(model())[text]) == text


def test_a_long_formula_is_one_line():
    t = model()["t"]
    total = t + 1
    for _ in range(60):
        total = total + t
    assert len(repr(total)) < 130 and "…" in repr(total) and repr(total <= 3).endswith("…>")


def test_the_model_in_a_notebook_has_masks_and_a_table_of_symbols():
    latex = model()._repr_latex_()
    assert r"g_{n,i} \ge 0 \quad \forall\, (n,i) \in E\ \text{(0 elsewhere)}" in latex
    assert r"E = \{(\text{ann},\text{s1}), (\text{ann},\text{s2}), (\text{<b>},\text{s2})" in latex
    assert r"\quad \text{(4 of 6)}" in latex and r"\forall\, n \in E1" not in latex
    assert (
        r"d_{n,i} \quad \text{units \& more} \\" in latex and r"& h \quad \text{given} \\" in latex
    )
    assert r"& n \quad \text{user (2)} \\" in latex and latex.count(r"\text{with}") == 1
    assert r"\text{with}" not in model().to_latex() and model().to_latex(symbols=True) in latex
    assert model()["capacity"]._repr_latex_() == r"$\displaystyle \sum_{n} d_{n,i}\, g_{n,i} \le h$"


def test_a_solution_as_html_is_escaped_and_says_what_there_is():
    html = model().solve()._repr_html_()
    assert "&lt;Solution of &#x27;&lt;m&gt;&#x27; by highs: optimal, objective" in html
    assert "<b>" not in html.replace("</b>", "") and "&lt;b&gt;" in html and "<th>t</th>" in html
    infeasible_model = model()
    infeasible_model.constraint("never", infeasible_model["t"] >= 2)
    assert (
        "infeasible" in infeasible_model.solve()._repr_html_()
        and "<table" not in infeasible_model.solve()._repr_html_()
    )


def test_numbers_by_name_a_certificate_and_a_leximin_as_html():
    solution = model().solve()
    values = solution.values._repr_html_()
    duals = model().relax_integrality().solve().duals._repr_html_()
    assert solution._repr_html_().endswith(values)
    for name in ("t", "g", "y", "b"):
        assert name in values
    assert values.count("<table") == 4 and "&lt;b&gt;" in values and "<b>" not in values
    assert duals.count("<table") == 2 and "capacity" in duals
    certificate = solution.verify()
    assert certificate._repr_html_() == f"<p>{escape(str(certificate))}</p>"
    leximin = fairlp.leximin(fairlp.formulate(fairlp.examples.ghodsi(), "drfh"))
    page = leximin._repr_html_()
    assert page.startswith(f"<p>{escape(repr(leximin))}</p><table") and page.count("<tr") == 4


def test_ipython_shows_the_line_that_called_fairlp_and_the_error():
    shell = pytest.importorskip("IPython").core.interactiveshell.InteractiveShell()
    with redirect_stdout(StringIO()) as shown:
        shell.run_cell(
            "import fairlp\ndef ask():\n    fairlp.allocate(fairlp.examples.ghodsi(), 'drg')\n"
        )
        shell.run_cell("ask()")
    lines = shown.getvalue().strip().splitlines()
    assert [line for line in lines if line.lstrip().startswith("File ")] == lines[:1]
    assert lines[1].strip() == "fairlp.allocate(fairlp.examples.ghodsi(), 'drg')"
    assert lines[-1] == (
        "fairlp.errors.UnknownNameError: no mechanism is called 'drg'; did you mean 'drf'?"
    )


def test_an_instance_a_verdict_and_an_audit_as_html():
    instance = fairlp.Instance.from_arrays(
        [[1, 4], [3, 1]],
        [[9, 18]],
        users=["<i>ann", "bob"],
        resources=["cpu", "memory"],
        task_limits=[None, 3],
        name="<x>",
    )
    instance_html = instance._repr_html_()
    assert (
        "&lt;i&gt;ann" in instance_html
        and "<i>" not in instance_html
        and "&lt;x&gt;" in instance_html
        and "task_limit" in instance_html
    )
    assert "inf" not in instance_html and "count" not in instance_html
    assert Proof(False, "1 < 2")._repr_html_() == "<p><b>not proved</b>: 1 &lt; 2</p>"
    assert Proof(True, "optimal")._repr_html_() == "<p><b>proved</b>: optimal</p>"
    audit = fairlp.audit(instance, np.array([[0.5], [0.25]]))
    assert isinstance(audit, pd.DataFrame) and audit["witness"].str.len().max() > 60
    for table in (audit, audit.iloc[:3], audit[["holds", "witness"]]):
        html = table._repr_html_()
        for witness in table["witness"]:
            assert witness.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in html
    assert "<i>" not in audit._repr_html_() and "None" not in audit._repr_html_()


def test_answers_over_three_indices_are_a_series_and_a_dataset():
    xarray = pytest.importorskip("xarray")
    k = Index("k", [3, 1], "step")
    cube_model = Model("m", indices=(N, I, k))
    weight = cube_model.parameter("w", (N, I, k), np.arange(12.0).reshape(2, 3, 2))
    x = cube_model.variable("x", N, I, k, upper=weight.values)
    cube_model.variable("i", N, where=[True, False], upper=2)
    cube_model.maximize(x.sum() + cube_model["i"].sum())
    answer = cube_model.solve()
    series, dataset = answer.values["x"], answer.to_xarray()
    assert isinstance(series.index, pd.MultiIndex) and series.loc[("<b>", "s2", 1)] == 9
    assert isinstance(dataset, xarray.Dataset) and dataset["x"].dims == (
        "n",
        "i_",
        "k",
    )  # "i" is a variable here
    np.testing.assert_array_equal(dataset["x"].values, weight.values)
    assert (
        float(dataset["x"].sel(n="<b>", i_="s2", k=1)) == 9 and dataset.attrs["solver"] == "highs"
    )
    assert dataset["i"].sel(n="ann") == 2 and np.isnan(dataset["i"].sel(n="<b>"))
    none = model()
    none.constraint("never", none["t"] >= 2)
    with pytest.raises(fairlp.errors.NoSolutionError, match="gave no solution"):
        none.solve().to_xarray()


def test_without_xarray_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(fairlp.errors.UnsupportedError, match=r'pip install "fairlp\[xarray\]"'):
        model().solve().to_xarray()
