"""Labels are data: labelled input gives the same instance in any order, or is refused by name; never by position."""

from __future__ import annotations

import pandas as pd
import pytest

import fairlp
from fairlp import Instance
from fairlp.errors import InstanceError

USERS, SERVERS, RESOURCES = ["ann", "bob", "cat"], ["s1", "s2"], ["cpu", "memory"]
DEMANDS = pd.DataFrame([[1.0, 4.0], [3.0, 1.0], [2.0, 0.0]], USERS, RESOURCES)
CAPACITIES = pd.DataFrame([[9.0, 18.0], [5.0, 7.0]], SERVERS, RESOURCES)
BY_USER = pd.Series([1.0, 2.0, 5.0], USERS)
RATES = pd.DataFrame([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], USERS, SERVERS)
GIVEN = {
    "weights": BY_USER,
    "task_limits": BY_USER + 10,
    "counts": pd.Series([3, 4], SERVERS),
    "entitlements": BY_USER / 8,
    "rates": RATES,
    "eligible": RATES > 1,
    "user_attributes": pd.DataFrame({"team": ["a", "b", "c"]}, USERS),
    "server_attributes": pd.DataFrame({"kind": ["big", "small"]}, SERVERS),
}


def plain(values):
    """The same numbers without labels."""
    return values.to_numpy()


def reference(**options):
    names = {"users": USERS, "servers": SERVERS, "resources": RESOURCES}
    return Instance.from_arrays(DEMANDS.to_numpy(), CAPACITIES.to_numpy(), **names, **options)


def turned(values):
    """The same, with its labels in another order."""
    values = values.iloc[::-1]
    return values[values.columns[::-1]] if isinstance(values, pd.DataFrame) else values


def nested(values):
    """The same as mappings from labels."""
    if isinstance(values, pd.DataFrame):
        return {row: values.loc[row].to_dict() for row in values.index}
    return values.to_dict()


def test_the_capacities_of_one_server_are_found_by_their_labels():
    demands = pd.DataFrame({"cpu": [1, 3], "mem": [4, 1]}, index=["A", "B"])
    for capacities in (
        pd.Series({"mem": 18, "cpu": 9}),
        {"mem": 18, "cpu": 9},
        [pd.Series({"mem": 18, "cpu": 9})],
        {"pool": {"mem": 18, "cpu": 9}},
        pd.DataFrame({"mem": [18], "cpu": [9]}),
    ):
        instance = Instance.from_arrays(demands, capacities)
        assert fairlp.allocate(instance, "drf").totals.to_dict() == pytest.approx({"A": 3, "B": 2})


@pytest.mark.parametrize("form", [turned, nested, lambda values: nested(turned(values))])
def test_demands_and_capacities_are_put_in_the_order_of_the_labels(form):
    expected = reference()
    assert Instance.from_arrays(
        form(DEMANDS), form(CAPACITIES), users=USERS, servers=SERVERS, resources=RESOURCES
    ).equals(expected)
    assert Instance.from_arrays(DEMANDS, form(CAPACITIES), servers=SERVERS).equals(expected)


@pytest.mark.parametrize("name", GIVEN)
def test_every_argument_is_put_in_the_order_of_the_labels(name):
    expected = reference(**{name: GIVEN[name] if "attributes" in name else plain(GIVEN[name])})
    forms = [GIVEN[name], turned(GIVEN[name])]
    if "attributes" not in name and name != "eligible":
        forms += [nested(GIVEN[name]), nested(turned(GIVEN[name]))]
    for form in forms:
        instance = reference(**{name: form})
        assert instance.equals(expected)
        if "attributes" in name:
            assert getattr(instance, name).to_dict() == GIVEN[name].to_dict()


@pytest.mark.parametrize("name", GIVEN)
def test_missing_unknown_and_repeated_labels_are_named(name):
    values = GIVEN[name]
    first = values.index[0]
    kind = "user" if first == "ann" else "server"
    wrong_forms = {
        f"names {kind} 'xyz'": values.rename(index={first: "xyz"}),
        f"{kind} {first!r} twice": values.rename(index={values.index[1]: first}),
    }
    if "attributes" not in name:
        wrong_forms[f"has no {kind} {first!r}"] = values.iloc[1:]
        wrong_forms["names "] = pd.concat([values, values.iloc[:1].rename(index={first: "more"})])
    if isinstance(values, pd.DataFrame) and "attributes" not in name:
        wrong_forms["names server 's3'"] = values.assign(s3=values["s1"])
        wrong_forms["has no server 's2'"] = values[["s1"]]
        wrong_forms["server 's1' twice"] = values.rename(columns={"s2": "s1"})
    for message, bad in wrong_forms.items():
        with pytest.raises(InstanceError, match=message):
            reference(**{name: bad})


def test_weights_by_resource_are_found_by_both_labels():
    weights = pd.DataFrame([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], USERS, RESOURCES)
    by_pair = pd.Series({(user, r): weights.loc[user, r] for user in USERS for r in RESOURCES})
    expected = reference(weights=weights.to_numpy())
    for form in (
        weights,
        turned(weights),
        nested(turned(weights)),
        by_pair.sample(frac=1, random_state=1),
    ):
        assert reference(weights=form).equals(expected)
    with pytest.raises(InstanceError, match="names resource 'disk'"):
        reference(weights=weights.rename(columns={"cpu": "disk"}))
    with pytest.raises(InstanceError, match=r"no user 'bob' and resource 'cpu'"):
        reference(weights=by_pair.drop(("bob", "cpu")))


def test_a_default_index_is_labels_like_any_other():
    table = pd.DataFrame(DEMANDS.to_numpy(), columns=DEMANDS.columns)
    for arguments in ({"demands": table}, {"weights": pd.Series([1.0, 2.0, 5.0])}):
        with pytest.raises(InstanceError, match=r"names user 0.*\.to_numpy\(\)"):
            Instance.from_arrays(
                **{"demands": DEMANDS, "capacities": CAPACITIES, "users": USERS, **arguments}
            )
    assert reference(weights=[1.0, 2.0, 5.0]).equals(reference(weights=BY_USER))
    turned_labels = Instance.from_arrays(
        [[1], [2]], [[3]], users=[1, 0], weights=pd.Series([10.0, 20.0])
    )
    assert turned_labels.weights.tolist() == [20, 10]
    with pytest.raises(InstanceError, match="names user 0"):
        reference(weights=pd.Series([1.0, 2.0, 5.0], index=[0, 2, 1]))


def test_replace_is_as_careful_and_keeps_attributes_with_their_users():
    instance = reference(user_attributes=GIVEN["user_attributes"])
    assert instance.replace(weights=turned(BY_USER)).weights.tolist() == [1, 2, 5]
    with pytest.raises(InstanceError, match="has no user 'ann'"):
        instance.replace(weights=BY_USER.iloc[1:])
    renamed = instance.replace(users=["cat", "ann", "bob"])
    assert renamed.user_attributes["team"].to_dict() == {"cat": "a", "ann": "b", "bob": "c"}
    assert list(instance.replace(users=None).user_attributes.index) == ["user1", "user2", "user3"]


def test_whole_number_labels_keep_their_attributes_through_files(tmp_path):
    attributes = pd.DataFrame({"arrival": [1, 2]}, index=[1, 0])
    instance = Instance.from_arrays([[1], [2]], [[3]], users=[1, 0], user_attributes=attributes)
    for name in ("a.json", "a.yaml"):
        instance.write(tmp_path / name)
        assert fairlp.read(tmp_path / name).user_attributes["arrival"].to_dict() == {1: 1, 0: 2}
    assert Instance.from_frames(*instance.to_frames()).equals(instance)


def test_users_who_arrive_keep_their_order_when_their_labels_are_numbers():
    cluster = fairlp.Arrivals({"cpu": 10}, horizon=2)
    cluster.add(1, {"cpu": 1})
    cluster.add(0, {"cpu": 2})
    assert cluster.instance().user_attributes["arrival"].to_dict() == {1: 1, 0: 2}


TWICE = ["a", "b"]
ALIKE = pd.DataFrame(
    [[1.0, 4.0], [3.0, 2.0]], pd.Index(TWICE, name="user"), pd.Index(TWICE, name="server")
)


def alike(demands=((1.0, 4.0), (3.0, 1.0)), **fields):
    return Instance.from_arrays(
        demands, [[9, 18], [5, 7]], users=TWICE, servers=TWICE, resources=TWICE, **fields
    )


@pytest.mark.parametrize("name", ["rates", "eligible"])
def test_tables_are_found_by_the_names_of_their_dimensions(name):
    xarray = pytest.importorskip("xarray")
    table = ALIKE if name == "rates" else ALIKE < 4
    expected = alike(**{name: table.to_numpy()})
    for form in (
        table,
        table.T,
        xarray.DataArray(table).T.to_series(),
        xarray.DataArray(table).T,
        xarray.DataArray(table).T[::-1],
    ):
        assert alike(**{name: form}).equals(expected)
    with pytest.raises(InstanceError, match=r"over .'user', 'node'.; expected .'user', 'server'"):
        alike(**{name: xarray.DataArray(table).rename(server="node")})


def test_demands_and_capacities_are_found_by_the_names_of_their_dimensions():
    xarray = pytest.importorskip("xarray")
    demands = xarray.DataArray(DEMANDS.rename_axis(index="user", columns="resource"))
    capacities = xarray.DataArray(CAPACITIES.rename_axis(index="server", columns="resource"))
    expected = Instance.from_arrays(DEMANDS, CAPACITIES)
    for form in (demands, demands.T, demands.T.to_pandas(), demands.T.to_series()):
        assert Instance.from_arrays(form, capacities.T).equals(expected)
        changed = expected.replace(users=None, demands=form)
        assert changed.equals(expected)
    case = Instance.from_arrays(demands, capacities[0][::-1].drop_vars("server"))
    assert case.capacities.tolist() == [[9, 18]]
    turned_weights = xarray.DataArray([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]], dims=["resource", "user"])
    assert expected.replace(weights=turned_weights).weights.tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(InstanceError, match=r"'weights' is over .'resource'.; expected .'user'"):
        expected.replace(weights=turned_weights[:, 0])
    with pytest.raises(InstanceError, match=r"'weights' is over .'resource'.; expected .'user'"):
        alike(weights=pd.Series([1.0, 2.0], pd.Index(TWICE, name="resource")))
