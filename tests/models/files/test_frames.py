"""Instances from tables and back."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from fairlp import Instance
from fairlp.errors import InstanceError
from fairlp.models.files.frames import from_frames, to_frames
from instance_strategies import instances


def users(**columns):
    return pd.DataFrame({"cpu": [1, 3], "memory": [4, 1]} | columns, index=["ann", "bob"])


def servers(**columns):
    return pd.DataFrame({"memory": [18, 64], "cpu": [9, 16]} | columns, index=["s1", "s2"])


def test_all_columns_arrive():
    instance = from_frames(
        users(
            weight=[2, 1],
            task_limit=[None, 10],
            entitlement=[0.25, 0.75],
            eligible=["gpu_model == 'T4'", ["s2"]],
            arrival=[0, 3.5],
            team=["red", None],
        ),
        servers(count=[5, 1], gpu_model=["T4", None], year=[2019, 2021]),
        name="tables",
    )
    expected = Instance.from_arrays(
        [[4, 1], [1, 3]],
        [[18, 9], [64, 16]],
        users=["ann", "bob"],
        servers=["s1", "s2"],
        resources=["memory", "cpu"],
        weights=[2, 1],
        task_limits=[np.inf, 10],
        entitlements=[0.25, 0.75],
        eligible=["gpu_model == 'T4'", ["s2"]],
        counts=[5, 1],
        server_attributes=pd.DataFrame({"gpu_model": ["T4", None], "year": [2019, 2021]}),
        user_attributes=pd.DataFrame({"arrival": [0, 3.5], "team": ["red", None]}),
        name="tables",
    )
    assert instance.equals(expected)


def test_labels_may_be_a_column():
    instance = from_frames(
        pd.DataFrame({"user": ["x", "y"], "cpu": [1, 2]}),
        pd.DataFrame({"server": [7], "cpu": [4.0]}),
    )
    assert list(instance.users) == ["x", "y"]
    assert list(instance.servers) == [7]
    assert list(from_frames(pd.DataFrame({"cpu": [1, 2]}), pd.DataFrame({"cpu": [1]})).users) == [
        0,
        1,
    ]


def test_units_in_headers_and_arguments():
    with_unit = users().rename(columns={"cpu": "cpu [cores]"})
    assert from_frames(with_unit, servers()).units == {"cpu": "cores"}
    assert from_frames(with_unit, servers(), units={"memory": "GiB"}).units == {
        "cpu": "cores",
        "memory": "GiB",
    }
    instance = from_frames(with_unit, servers(), resources={"cpu": "cores", "memory": None})
    assert (list(instance.resources), instance.units) == (["cpu", "memory"], {"cpu": "cores"})
    for options in ({"units": {"cpu": "millicores"}}, {"resources": {"cpu": "millicores"}}):
        with pytest.raises(
            InstanceError, match="'cpu' is in 'cores' in the table of users and in 'millicores' in"
        ):
            from_frames(with_unit, servers(), **options)
    with pytest.raises(
        InstanceError, match="in the table of users and in '%' in the table of servers; convert"
    ):
        from_frames(with_unit, servers().rename(columns={"cpu": "cpu [%]"}))


def test_weights_for_each_resource():
    instance = from_frames(users(**{"weight:cpu": [1, 2], "weight:memory": [3, 4]}), servers())
    assert instance.weights.tolist() == [[3, 1], [4, 2]]
    with pytest.raises(InstanceError, match="has no 'weight:memory'"):
        from_frames(users(**{"weight:cpu": [1, 2]}), servers())
    with pytest.raises(
        InstanceError, match="'weight:memry' names no resource; did you mean 'memory'"
    ):
        from_frames(users(**{"weight:memry": [1, 2]}), servers())
    with pytest.raises(InstanceError, match="expected one or the other"):
        from_frames(
            users(weight=[1, 1], **{"weight:cpu": [1, 2], "weight:memory": [3, 4]}), servers()
        )


def test_rates_are_columns_or_an_argument():
    table = users(**{"rate:s2": [1, 2], "rate:s1": [3, 0]})
    assert from_frames(table, servers()).rates.tolist() == [[3, 1], [0, 2]]
    assert from_frames(users(), servers(), rates=[[1, 2], [3, 4]]).rates.tolist() == [
        [1, 2],
        [3, 4],
    ]
    with pytest.raises(InstanceError, match="rates are given twice"):
        from_frames(table, servers(), rates=[[1, 2], [3, 4]])
    with pytest.raises(InstanceError, match="has no 'rate:s1', but one for another server"):
        from_frames(table.drop(columns="rate:s1"), servers())


def test_eligible_as_argument():
    assert from_frames(users(), servers(), eligible={"bob": "cpu > 9"}).eligible.tolist() == [
        [True, True],
        [False, True],
    ]
    with pytest.raises(InstanceError, match="eligible is given twice"):
        from_frames(users(eligible=["", ""]), servers(), eligible=["", ""])


def test_a_column_of_numbers_that_no_server_has_is_refused():
    for numbers in ([1, 2], pd.Series([1.5, None], dtype=object).tolist()):
        with pytest.raises(
            InstanceError, match="'disk' of users holds numbers but is not in the table of servers"
        ):
            from_frames(users(disk=numbers), servers())
    assert "disk" in from_frames(users(disk=[1, 2]), servers(), resources=["cpu"]).user_attributes
    assert "disk" in from_frames(users(**{"attribute:disk": [1, 2]}), servers()).user_attributes
    assert "vip" in from_frames(users(vip=[True, False]), servers()).user_attributes


def test_prefixes_settle_what_a_column_is():
    instance = from_frames(
        users(count=[1, 0], **{"attribute:gpu": ["a", "b"]}),
        servers(gpu=["x", "y"], count=[2, 2], **{"resource:count": [5, 5]}),
    )
    assert list(instance.resources) == ["memory", "cpu", "count"]
    assert instance.counts.tolist() == [2, 2]
    assert list(instance.user_attributes) == ["gpu"]
    with pytest.raises(InstanceError, match="users has no column for resource 'disk'"):
        from_frames(users(), servers(**{"resource:disk": [1, 1]}))
    with pytest.raises(InstanceError, match="servers has no column for resource 'disk'"):
        from_frames(users(**{"resource:disk": [1, 1]}), servers())


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        (([[1]], servers()), {}, "the table of users is list"),
        (
            (users(), servers()),
            {"resources": ["cpu", "memry"]},
            "users has no column for resource 'memry'; did you",
        ),
        (
            (users(disk=[1, 1]), servers()),
            {"resources": ["disk"]},
            "servers has no column for resource 'disk'",
        ),
        (
            (users()[["cpu"]], servers()[["memory"]]),
            {},
            r"no column is in both .*\['cpu'\].*\['memory'\]",
        ),
        (
            (users(memory=["4GB", "1"]), servers()),
            {},
            "column 'memory' of user 'ann' is '4GB'; expected a number",
        ),
        (
            (users(zone=["a", "b"]), servers(zone=["a", "b"])),
            {},
            "'zone' of user 'ann' is 'a'.*'attribute:zone'",
        ),
        ((users(cpu=[1, None]), servers()), {}, "demand of user 'bob' and resource 'cpu' is nan"),
        (
            (users(), servers(cpu=[1, None])),
            {},
            "capacity of server 's2' and resource 'cpu' is nan",
        ),
        ((users(weight=[1, None]), servers()), {}, "weight of user 'bob' is nan"),
        (
            (users(**{"cpu [x]": [1, 1]}), servers()),
            {},
            "two columns for 'cpu'",
        ),
        ((users(**{"attribute:a": [1, 1], "a": ["", ""]}), servers()), {}, "attribute 'a' twice"),
        ((pd.concat([users(), users()], axis=1), servers()), {}, "users has column 'cpu' twice"),
        ((users().iloc[:0], servers()), {}, "no users"),
        ((users(), servers().iloc[:0]), {}, "there are no servers"),
        ((users().set_axis(["ann", "ann"]), servers()), {}, "user 'ann' occurs twice"),
    ],
)
def test_wrong_tables_name_the_column(tables, options, message):
    with pytest.raises(InstanceError, match=message):
        from_frames(*tables, **options)


@settings(deadline=None)
@given(instances())
def test_tables_give_the_same_instance_back(instance):
    assert from_frames(*to_frames(instance), name=instance.name).equals(instance)


def test_queues_are_a_table_of_the_same_call():
    queues = {"q": {"weight": 2, "guarantee": {"resource1": 1}}, "r": {}}
    instance = Instance.from_arrays(
        [[1, 2], [3, 1]], [[10, 12]], users=["a", "b"], queue=["q", "r"], queues=queues
    )
    assert len(instance.to_frames()) == 3
    assert Instance.from_frames(*instance.to_frames()).equals(instance)


def test_names_that_mean_something_else_survive():
    names = [
        "weight",
        "count",
        "weight:cpu",
        "user",
        "resource:x",
        "attribute:y",
        "cpu [cores]",
        "rate:s",
        "eligible",
    ]
    instance = Instance.from_arrays(
        np.ones((2, len(names))),
        np.ones((2, len(names))),
        resources=names,
        units={"count": "pieces"},
        user_attributes=pd.DataFrame({name: [1, 2] for name in names}),
        server_attributes=pd.DataFrame({name: ["a", None] for name in names}),
    )
    assert from_frames(*to_frames(instance)).equals(instance)


USERS = pd.DataFrame({"user": ["ann", "bob"], "cpu": [1, 3], "memory": [4, 1]})


SERVERS = pd.DataFrame({"server": ["s1", "s2"], "cpu": [9, 16], "memory": [18, 64]})


def test_an_attribute_may_be_called_as_the_labels_of_the_other_table():
    users = USERS.set_index("user").assign(server=["old", "new"], User=["a", "b"])
    instance = Instance.from_frames(users, SERVERS)
    assert list(instance.users) == ["ann", "bob"]
    assert Instance.from_frames(*instance.to_frames()).user_attributes["server"].tolist() == [
        "old",
        "new",
    ]


def warnings_of(users, servers, **options):
    with warnings.catch_warnings(record=True) as warnings_shown:
        warnings.simplefilter("always")
        Instance.from_frames(pd.DataFrame(users), pd.DataFrame(servers), **options)
    assert all(warning.filename == __file__ for warning in warnings_shown)
    return [str(warning.message) for warning in warnings_shown]


NEEDS = {"user": ["ann"], "memory": [4]}
HAS = {"server": ["s"], "memory": [64]}


def test_a_resource_that_only_servers_have_is_warned_of():
    (message,) = warnings_of(NEEDS, HAS | {"cpu [cores]": [16], "gpu": [1.0]})
    assert "that no user needs, ['cpu [cores]', 'gpu']" in message
    (message,) = warnings_of(NEEDS, HAS | {"counts": [16]})
    assert "is 'count' misspelt?" in message


@pytest.mark.parametrize(
    ("users", "servers", "options"),
    [
        (NEEDS, HAS | {"attribute:rack": [3]}, {}),
        (NEEDS, HAS | {"zone": ["eu"], "ssd": [True]}, {}),
        (NEEDS | {"eligible": ["rack >= 2"]}, HAS | {"rack": [3]}, {}),
        (NEEDS | {"eligible": ["`rack no` >= 2"]}, HAS | {"rack no": [3]}, {}),
        (NEEDS, HAS | {"rack": [3]}, {"eligible": [{"rack": [3]}]}),
        (NEEDS, HAS | {"rack": [3]}, {"resources": ["memory"]}),
    ],
)
def test_attributes_of_servers_need_no_warning(users, servers, options):
    assert warnings_of(users, servers, **options) == []


def test_tables_of_an_instance_are_read_back_without_a_warning():
    attributes = pd.DataFrame({"rack": [3], "zone": ["eu"]})
    instance = Instance.from_arrays([[1]], [[4]], server_attributes=attributes)
    users, servers = instance.to_frames()
    assert "attribute:rack" in servers and warnings_of(users, servers) == []
    assert Instance.from_frames(users, servers).equals(instance)
