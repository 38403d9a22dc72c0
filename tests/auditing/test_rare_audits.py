"""Audits that have nothing to ask, or cannot ask it: they say so, in words, and never "holds"."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import Instance, examples
from fairlp.auditing import arrivals, basics, blocking, fairness, reports
from fairlp.auditing.findings import Case
from fairlp.auditing.search import Search
from fairlp.errors import NotDefinedError, SolverError, UnknownNameError


def pool(**more):
    return Instance.from_arrays([[1.0, 1.0], [1.0, 2.0]], [[10.0, 20.0]], **more)


def by_resource():
    return pool(weights=[[1.0, 2.0], [2.0, 1.0]])


def case(instance, tasks, **how):
    return Case(instance, np.array(tasks, dtype=float), **how)


@pytest.mark.parametrize(
    "audit",
    [
        basics.envy_free,
        basics.sharing_incentive,
        lambda one: fairness.per_server(one, "rdm"),
    ],
)
def test_weights_by_resource_are_not_compared(audit):
    found = audit(case(by_resource(), [[2], [2]]))
    assert found.holds is None and np.isnan(found.margin) and "weights are given per resource" in found.witness


def test_one_resource_with_given_rates_compares_no_users():
    instance = Instance.from_arrays([[1.0], [1.0]], [[4.0]], rates=[[2.0], [4.0]])
    found = fairlp.audit(instance, np.array([[1.0], [2.0]]), "single-resource")
    assert found.holds.iloc[0] is None and "rates are given" in found.witness.iloc[0]


def test_a_server_on_which_nobody_may_run_blocks_nobody():
    instance = Instance.from_arrays(
        [[1.0], [1.0]], [[4.0], [6.0]], servers=["used", "left"], eligible=np.array([[True, False], [True, False]])
    )
    found = blocking.blockers(instance, np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert "left" not in found.to_string()


def test_an_audit_whose_program_has_no_answer_is_no_answer(monkeypatch):
    def fails(*_, **__):
        raise SolverError("out of time")

    monkeypatch.setattr(basics, "Market", type("Market", (), {"of": staticmethod(fails)}))
    found = fairlp.audit(pool(), np.array([[1.0], [1.0]]), "non-wasteful")
    assert found.holds.iloc[0] is None and "it could not be judged: out of time" in found.witness.iloc[0]


def test_a_mechanism_that_is_not_defined_for_a_lie_proves_nothing_by_it(monkeypatch):
    def refuses(self, instance):
        raise NotDefinedError("not for this one")

    monkeypatch.setattr(Case, "again", refuses)
    one = case(pool(), [[2], [2]], mechanism="drf", tries=5)
    alone = reports.population_monotonic(one)
    assert alone.holds is None and "not defined for the others alone" in alone.witness
    lying = reports.strategy_proof(one)
    assert lying.holds is None and "no lie that pays was found in 5 tries" in lying.witness


def test_arrivals_for_which_no_lie_is_defined(monkeypatch):
    found = fairlp.allocate(pool(), "dynamic-drf")

    def refuses(*_, **__):
        raise NotDefinedError("not for this one")

    monkeypatch.setattr(arrivals, "allocate", refuses)
    assert arrivals.lies(found, 5, 0).holds is None


def test_trees_that_leave_nothing_to_compare():
    flat = pool(queue=["a", "b"])
    found = fairlp.audit(flat, np.array([[2.0], [2.0]]), "group strategy-proof")
    assert found.holds.iloc[0] is None
    weighted = by_resource().replace(queue=["a", "b"])
    found = fairlp.audit(weighted, np.array([[2.0], [2.0]]), "hierarchical share guarantee")
    assert found.holds.iloc[0] is None and "each user has one" in found.witness.iloc[0]
    served = pool(queue=["a", "b"], task_limits=[1, 1])
    found = fairlp.audit(served, np.array([[1.0], [1.0]]), "hierarchical share guarantee")
    assert found.holds.iloc[0] is True and found.witness.iloc[0] == "everyone has all its tasks"
    nobody = pool(queue=["a", "b"], task_limits=[0, 0])
    found = fairlp.audit(nobody, np.zeros((2, 1)), "hierarchical share guarantee")
    assert found.holds.iloc[0] is None and "nobody can run anything" in found.witness.iloc[0]


def test_options_of_the_search_are_for_the_search():
    with pytest.raises(UnknownNameError, match=r"option 'seed' is one of the search; give search=True"):
        fairlp.counterexample("drfh", "sharing incentive", seed=3)
    with pytest.raises(UnknownNameError, match="the search has no option 'trys'; did you mean 'tries'"):
        Search.of({"trys": 3})
    with pytest.raises(UnknownNameError, match="'trys'"):
        fairlp.counterexample("drfh", "sharing incentive", search=True, trys=3)


def test_what_is_asked_of_every_step_is_not_asked_of_one_allocation():
    with pytest.raises(UnknownNameError, match=r"'irrevocable' is asked of every step, and this is one allocation"):
        fairlp.audit(examples.ghodsi(), fairlp.allocate(examples.ghodsi(), "drf"), "irrevocable")


def test_whole_tasks_on_rows_of_identical_servers_are_not_judged_by_server():
    instance = Instance.from_arrays([[1.0], [3.0]], [[4.0], [6.0]], counts=[2, 3], users=["a", "b"], servers=["s", "t"])
    table = pd.DataFrame([[1.0, 2.0], [1.0, 4.0]], index=["a", "b"], columns=["s", "t"])
    asked = ["feasible", "non-wasteful", "Pareto-optimal"]
    whole = fairlp.audit(instance, table, asked, whole_tasks=True)
    assert whole.holds.tolist() == [True, None, None]
    assert all("give servers one by one" in witness for witness in whole.witness[1:])
    assert fairlp.audit(instance, table, asked, whole_tasks=False).holds.tolist() == [True, False, False]
