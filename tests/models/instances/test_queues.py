"""Queues of an instance: what makes them, what is refused, and what stays when an instance changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairlp import Instance
from fairlp.errors import InstanceError
from profiles import many
from tree_instances import tree_instance


def made(**fields):
    return Instance.from_arrays(
        [[0, 1], [1, 0], [0, 1]],
        [[1, 1]],
        users=["n1", "a", "b"],
        resources=["cpu", "gpu"],
        **fields,
    )


def test_paths_alone_make_a_tree_with_what_leads_to_them():
    tree = made(queue=["org/team", None, "/org/other/"]).queues
    assert list(tree.paths) == ["", "org", "org/team", "org/other"]
    assert tree.parents.tolist() == [0, 0, 1, 1] and tree.depths.tolist() == [0, 1, 2, 2]
    assert tree.weights.tolist() == [1] * 4 and not tree.has_limits and not tree.is_flat
    assert tree.below.toarray().tolist() == [[1, 1, 1], [1, 0, 1], [1, 0, 0], [0, 0, 1]]
    assert tree.names() == ("org/team", "", "org/other")
    assert [tree.paths[v] for v in tree.at_depth(1)] == ["org", "", "org"]
    assert repr(tree) == "<Queues: 3 below the root, depth 2>"


def test_mapping_and_table_say_the_same_and_labels_are_aligned():
    rows = {
        "q": {"weight": 2, "guarantee": {"gpu": 0.25}, "cap": {"cpu": 0.5}},
        "": {"cap": {"gpu": 1}},
        "idle": 3,
    }
    by_mapping = made(queue={"b": "q", "n1": "", "a": "q"}, queues=rows)
    table = pd.DataFrame(
        [[2, 0.25, 0.5, None], [np.nan, None, None, 1], [3, None, None, None]],
        columns=["weight", "guarantee:gpu", "cap:cpu", "cap:gpu"],
        index=["q", "", "idle"],
    )
    by_table = made(queue=pd.Series({"a": "q", "b": "q", "n1": None}), queues=table)
    assert by_mapping.equals(by_table) and by_mapping.queue == ("", "q", "q")
    assert made(queue=["", "q", "q"], queues=table.rename_axis("queue").reset_index()).equals(
        by_table
    )
    round_trip = by_mapping.queues.table(by_mapping.resources)
    assert made(queue=by_mapping.queue, queues=round_trip).equals(by_mapping)
    assert repr(by_mapping.queues) == "<Queues: 2 below the root, depth 1, guarantees, caps>"
    assert "2 queues" in repr(by_mapping)


def test_a_table_of_paths_alone_is_a_tree_without_limits():
    by_table = made(queue=["", "q", "q/r"], queues=pd.DataFrame({"queue": ["q", "q/r"]}))
    assert by_table.equals(made(queue=["", "q", "q/r"]))


def test_what_stays_and_what_goes():
    first = made(queue=["", "q", "q"], queues={"q": {"weight": 2, "cap": {"gpu": 0.5}}})
    assert first.replace(weights=[1, 2, 3]).queues.equals(first.queues)
    assert first.replace(queue=["q", "", ""]).queues.weights.tolist() == [1, 2]
    heavier = first.replace(queues={"q": 5})
    assert (
        heavier.queue == first.queue
        and heavier.queues.weights.tolist() == [1, 5]
        and not heavier.queues.has_limits
    )
    for queueless in (first.replace(queues=None), first.replace(queue=None, queues=None)):
        assert queueless.queues is None and queueless.queue is None and not queueless.equals(first)
    assert not first.equals(heavier) and first.equals(first.replace())
    assert not heavier.equals(first.replace(queues={"q": 4})) and heavier.equals(
        first.replace(queues={"q": 5})
    )
    assert first.select_users(np.array([2, 0])).queue == ("q", "")
    assert first.pooled().queues.equals(first.queues)
    other = Instance.from_arrays(
        [[1]] * 2, [[2]], queue=["b", "a"], queues={"a": 2}
    ), Instance.from_arrays([[1]] * 2, [[2]], queue=["b", "a"], queues={"b": 1, "a": 2})  # fmt: skip
    assert other[0].equals(other[1])  # whatever the order of siblings


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"queue": ["", "q"]}, "expected the path of each user's queue"),
        ({"queue": "q"}, "expected the path of each user's queue"),
        ({"queue": [1, 2, 3]}, "path of a queue of user 'n1' is 1; expected text"),
        ({"queue": ["a//b", "", ""]}, "queue 'a//b' of user 'n1' has an empty name"),
        ({"queue": {"n1": "q", "a": "q", "x": "q"}}, "'x'"),
        ({"queue": ["teem", "", ""], "queues": {"team": 2}}, "user 'n1' stands in queue 'teem'.* did you mean 'team'"),
        ({"queues": 5}, "queues are int; expected a mapping"),
        ({"queues": {"q": 0}}, "weight of queue 'q' is 0; expected a finite number > 0"),
        ({"queues": {"q": np.inf}}, "weight of queue 'q' is inf"),
        ({"queues": {"q": "much"}}, "weight of queue 'q' is 'much'"),
        ({"queues": {"q": True}}, "weight of queue 'q' is True"),
        ({"queues": {"q": {"wieght": 1}}}, "queue 'q' has 'wieght'; did you mean 'weight'"),
        ({"queues": {"q": {"cap": {"cpus": 1}}}}, "names 'cpus'; did you mean 'cpu'"),
        ({"queues": {"q": {"cap": 3}}}, "cap of queue 'q' is 3; expected a mapping"),
        ({"queues": {"q": {"cap": {"cpu": -1}}}}, "cap of queue 'q' of resource 'cpu' is -1; expected a number >= 0"),
        ({"queues": {"q": {"cap": {"cpu": np.nan}}}}, "cap of queue 'q' of resource 'cpu' is nan"),
        ({"queues": {"q": {"guarantee": {"cpu": np.inf}}}}, "guarantee of queue 'q' of resource 'cpu' is inf"),
        ({"queues": {"q": {"guarantee": {"cpu": 2}, "cap": {"cpu": 1}}}}, "guarantee of queue 'q'.* its cap"),
        ({"queues": {"q": {"weight": [1]}}}, "weight of queue 'q' is \\[1\\]; expected a number"),
        ({"queues": "q"}, "queues are str; expected a mapping"),
        ({"queues": pd.DataFrame([[1, 2]], index=["q"], columns=["weight"] * 2)}, "has a column twice"),
        ({"queues": {"q": 1, "/q": 2}}, "queue 'q' occurs twice"),
        ({"queues": pd.DataFrame({"wait": [1]}, index=["q"])}, "the table of queues has a column 'wait'"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(fields, message):
    with pytest.raises(InstanceError, match=message):
        made(**fields)


def test_a_list_of_paths_and_blank_amounts():
    tree = made(queue=["q", "", ""], queues=["q", "r"]).queues
    assert (
        list(tree.paths) == ["", "q", "r"] and tree.weights.tolist() == [1, 1, 1] and len(tree) == 3
    )
    blank = made(
        queue=["q", "", ""],
        queues={"q": {"cap": pd.Series({"cpu": 0.5}), "guarantee": {"gpu": None}}},
    ).queues
    assert blank.caps[1].tolist() == [0.5, np.inf] and not blank.guarantees.any()
    assert list(tree) == ["", "q", "r"] and tree.at_depth().tolist() == tree.of.tolist()
    weighed = Instance.from_arrays([[1.0]], [[2.0]], queues=tree_of_one())
    assert weighed.queue == ("q",)


def tree_of_one():
    return Instance.from_arrays([[1.0]], [[2.0]], queue=["q"], queues={"q": 3}).queues


def test_caps_that_are_broken_or_bar_somebody():
    instance = made(queue=["q", "q", ""], queues={"q": {"cap": {"gpu": 0, "cpu": 0.5}}})
    assert instance.queues.barred(instance.demands).tolist() == [True, False, False]
    over, v, r = instance.queues.over_caps(np.array([0.0, 0.75, 1.0]), instance.demands)
    assert (
        over == pytest.approx(0.5)
        and instance.queues.paths[v] == "q"
        and instance.resources[r] == "cpu"
    )
    raised = instance.queues.with_room_for(np.array([0.0, 0.75, 1.0]), instance.demands)
    assert raised.caps[1].tolist() == [0.75, 0.0]


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_chain_goes_from_a_queue_up_to_the_root(seed):
    tree = tree_instance(np.random.default_rng(seed)).tree
    for v, path in enumerate(tree.paths):
        steps = path.split("/") if path else []
        expected = ["/".join(steps[:depth]) for depth in range(len(steps), -1, -1)]
        assert [tree.paths[u] for u in tree.chain(v)] == expected
