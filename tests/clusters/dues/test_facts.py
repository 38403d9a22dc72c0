"""The subject of a report: dumps and instances, classes of servers, users who are left out, the default mechanism."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
import fairlp_clusters
from fairlp.errors import FairlpWarning, FileFormatError, InstanceError
from fairlp_clusters.dues.facts import facts_of, mechanism_or_default
from kubernetes_dumps import node, pod, thing, written
from report_cases import shared
from verdicts import judged

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)


def test_the_mechanism_goes_with_the_instance():
    assert mechanism_or_default(shared(), None) == "h-drf-counted"
    assert mechanism_or_default(shared(), "tsf") == "tsf"
    assert mechanism_or_default(fairlp.examples.load("wang-figure-1"), None) == "drfh"
    assert mechanism_or_default(fairlp.examples.load("ghodsi"), None) == "drf"
    rated = fairlp.Instance.from_arrays([[1.0]], [[4.0]], rates=[[2.0]])
    assert fairlp.allocate(
        rated, mechanism_or_default(rated, None)
    ).totals.tolist() == pytest.approx([2.0])


def test_what_excluded_users_use_counts_for_the_caps_and_guarantees_of_their_queues(tmp_path):
    """A namespace of 2 cores whose excluded user runs on both: nothing is owed to the other, who waits."""
    quota = thing("ResourceQuota", "q", {"hard": {"requests.cpu": "2"}}, namespace="web")
    items = [node("n1", allocatable={"cpu": "10"}), quota]
    items += [
        pod(f"a{k}", "web", owner=("Job", "a"), on="n1", requests={"cpu": "1"}) for k in range(2)
    ]
    items += [pod(f"b{k}", "web", owner=("Job", "b"), requests={"cpu": "1"}) for k in range(3)]
    rest = facts_of(fairlp_clusters.snapshot(written(tmp_path, *items))).without(["web/a"])
    assert judged(rest).dues.fair.totals.to_dict() == {"web/b": 0}
    instance = fairlp.Instance.from_arrays(
        [[1], [1]],
        [[10]],
        users=["a", "b"],
        resources=["r"],
        queue=["q/x", "q/y"],
        queues={"q": {"guarantee": {"r": 3}, "cap": {"r": 8}}, "q/y": {"guarantee": {"r": 2}}},
    )
    queues = facts_of(instance, [[2], [0]]).without(["a"]).instance.queues
    assert queues.guarantees[:, 0].tolist() == [0, 1, 2, 0]
    assert queues.caps[:, 0].tolist() == [np.inf, 6, np.inf, np.inf]


def observed_cluster():
    return fairlp.Instance.from_arrays(
        [[1], [1]],
        [[4], [4]],
        users=["ann", "bob"],
        servers=["s", "t"],
        eligible=[None, ["t"]],
    )


def test_a_negative_number_of_running_tasks_is_refused():
    with pytest.raises(
        InstanceError, match=r"user 'bob' runs -2 tasks on 't'; expected at least 0"
    ):
        fairlp_clusters.fair_shares(observed_cluster(), observed=[[1, 0], [0, -2]])


def test_a_user_who_runs_where_it_may_not_is_warned_of():
    with pytest.warns(FairlpWarning, match=r"user 'bob' runs 1 tasks on 's', which it may not use"):
        fairlp_clusters.fair_shares(observed_cluster(), observed=[[1, 0], [1, 2]])


@pytest.mark.parametrize("form", ["frame", "long", "wide file", "long file"])
def test_users_without_tasks_count_as_running_none_in_every_form(form, tmp_path):
    """One rule for tables and files, of reports and of audits: 0, and a warning that names them."""
    cluster = observed_cluster()
    wide = pd.DataFrame([[2, 1]], ["ann"], ["s", "t"]).rename_axis("user")
    long = pd.DataFrame({"user": ["ann"] * 2, "server": ["s", "t"], "tasks": [2, 1]})
    observed = {"frame": wide, "long": long}.get(form)
    if observed is None:
        observed = tmp_path / "observed.csv"
        (wide.reset_index() if form == "wide file" else long).to_csv(observed, index=False)
    with pytest.warns(FairlpWarning, match=r"has no tasks of 'bob', who counts as running none"):
        shares = fairlp_clusters.fair_shares(cluster, observed=observed)
    assert shares["tasks"].to_dict() == {"ann": 3, "bob": 0}
    with pytest.warns(FairlpWarning, match="'bob'"):
        assert fairlp.audit(cluster, observed, "feasible").holds.iloc[0]


def test_a_folder_of_several_dumps_is_no_subject_of_one_page(tmp_path):
    for name in ("monday", "tuesday"):
        written(tmp_path / name, node("n1"), pod("a", on="n1"))
    with pytest.raises(FileFormatError, match=r"has 2 dumps \(monday is the first\)"):
        fairlp_clusters.fair_shares(tmp_path)
