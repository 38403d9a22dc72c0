"""Exit codes of audits: broken is 1, kept and not asked are 0, and what does not exist is refused."""

from __future__ import annotations

import pytest

from cli_runner import run
from fairlp.auditing import promises


def test_a_broken_property_ends_with_1_and_one_that_is_kept_or_open_with_0():
    found = run("audit", "khamse-ashari-figure-1", "-m", "tsf", "-p", "PS-DSF (rdm)", code=1)
    assert "broken: PS-DSF (rdm)" in found.output
    assert "nothing is broken" in run("audit", "khamse-ashari-figure-1", "-m", "tsf", "-p", "feasible").output
    # there are several resources, so that there is nothing to check
    assert "nothing is broken" in run("audit", "khamse-ashari-figure-1", "-m", "tsf", "-p", "single-resource").output


@pytest.mark.parametrize(("broken", "code"), [(0, 0), (1, 1)])
def test_a_broken_promise_ends_with_1(monkeypatch, broken, code):
    table = promises.promises(mechanisms=["drf"]).iloc[:1].assign(audited=3, broken=broken)
    monkeypatch.setattr(promises, "promises", lambda *_, **__: table)
    run("promises", code=code)


def test_no_counterexample_ends_with_1(monkeypatch):
    monkeypatch.setattr(promises, "counterexample", lambda *_, **__: None)
    for how in ([], ["--search", "--tries", "3"]):
        assert "proves nothing" in run("counterexample", "drf", "envy-free", *how, code=1).output


def test_a_division_that_does_not_exist_is_refused():
    found = run("audit", "ghodsi", "-m", "drf", "--division", "xdm", code=2)
    assert "neither 'rdm' nor 'tdm'" in found.stderr
