"""VIPR certificates: of random programs, checked by an independent reader, and by viprchk where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import fairlp
import vipr_checker
from fairlp import examples
from instances import random_instance
from profiles import many

pytest.importorskip("flint")


def certificate(program_or_model):
    return program_or_model.solve(method="simplex").certify(exact=True)


def sides():
    """A model with bounds, both sides of a row, equations, free and fixed columns, and a constant."""
    k = fairlp.Index("k", ["a", "b", "c", "d"])
    model = fairlp.Model("both sides", "", (k,))
    v = model.variable("v", k, lower=[-np.inf, 1, 0, 3], upper=[np.inf, 5, 2, 3])
    model.constraint("sum", v.sum(k) == 10)
    model.constraint("range", (v["a"] - v["c"]).between(-4, 4))
    return model, v


@settings(max_examples=many(20), deadline=None)
@given(seed=st.integers(0, 10**9), mechanism=st.sampled_from(["drfh", "tsf", "asset"]))
def test_certificates_of_first_rounds_hold(seed, mechanism, tmp_path_factory):
    proof = certificate(fairlp.formulate(random_instance(seed, integers=seed % 2 == 0), mechanism))
    path = proof.write(tmp_path_factory.mktemp("vipr") / "one.vipr")
    low, high = vipr_checker.check(path.read_text(encoding="utf-8"))
    assert low == high == proof.objective


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_every_kind_of_bound_and_a_constant(sense, tmp_path):
    model, v = sides()
    getattr(model, sense)(v["a"] + 2 * v["b"] - v["c"] + 0.5)
    proof = certificate(model)
    text = proof.write(tmp_path / "sides.vipr").read_text(encoding="utf-8")
    assert vipr_checker.check(text) == (proof.objective - Fraction(1, 2),) * 2
    assert "leaves out: 1/2" in text and "bound#3 E 3 1  3 1" in text and "range#least G -4" in text


def test_every_changed_word_is_wrong_or_says_the_same(tmp_path):
    """Each number of a certificate plus one: another program, another point, other multipliers, or another range."""
    proof = certificate(fairlp.formulate(examples.load("wang-figure-1"), "drfh"))
    text = proof.write(tmp_path / "one.vipr").read_text(encoding="utf-8")
    assert vipr_checker.check(text) == (proof.objective,) * 2
    head, tail = text[: text.index("RTP")], text[text.index("RTP") :]
    numbers = tail.split()
    refused = 0
    for k, word in enumerate(numbers):
        try:
            number = Fraction(word)
        except ValueError:
            continue
        changed = [*numbers[:k], str(number + 1), *numbers[k + 1 :]]
        try:
            vipr_checker.check(head + " ".join(changed))
        except vipr_checker.WrongError:
            refused += 1
        else:
            assert k in (2, 3, len(numbers) - 1), (
                word
            )  # a weaker range, and the index that only saves memory
    assert refused > 15


@pytest.mark.skipif(shutil.which("viprchk") is None, reason="viprchk is not installed")
def test_viprchk_agrees(tmp_path):
    for name in ("wang-figure-1", "khamse-ashari-figure-1"):
        path = certificate(fairlp.formulate(examples.load(name), "drfh")).write(
            tmp_path / "one.vipr"
        )
        process = subprocess.run(["viprchk", str(path)], capture_output=True, text=True, timeout=60)
        assert process.returncode == 0 and "Successfully verified" in process.stdout
