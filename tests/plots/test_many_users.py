"""Figures of a hundred users: those who take most of a bar have colours, and the others are counted."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import examples, plots
from fairlp.plots import style

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def google():
    return fairlp.allocate(examples.load("google-cluster"), "drfh")


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def parts(allocation):
    """Users × resources × classes of servers: the fraction of the class that each user has."""
    instance = allocation.instance
    names = instance.server_attributes if len(instance.server_attributes.columns) else None
    assert names is None  # every row is a class of its own
    used = allocation.tasks.to_numpy()[:, :, None] * instance.demands[:, None, :]
    return np.swapaxes(used / (instance.capacities * instance.counts[:, None]), 1, 2)


def test_users_who_take_most_of_a_bar_have_colours_and_the_others_are_counted(google):
    figure = plots.plot_allocation(google)
    names = legend_of(figure)
    most = pd.Series(
        parts(google).max(axis=(1, 2)), index=[str(user) for user in google.instance.users]
    )
    assert names[0] == "91 others, number on each bar" and names[-1] == "not in use"
    assert set(names[1:-1]) == set(most.sort_values(ascending=False, kind="stable").index[:9])
    assert most[names[1:-1]].min() >= most.drop(names[1:-1]).max()


def test_the_numbers_on_the_bars_are_the_others_who_run_there(google):
    figure = plots.plot_allocation(google)
    coloured = legend_of(figure)[1:-1]
    others = ~google.instance.users.labels.astype(str).isin(coloured)
    found = parts(google)[others]
    for r, axis in enumerate(figure.axes):
        shown = {round(text.xy[0]): int(text.get_text()) for text in axis.texts}
        expected = {
            k: int((found[:, r, k] > 1e-9).sum())
            for k in range(found.shape[2])
            if found[:, r, k].sum() > 0.06
        }
        assert shown == expected and len(shown) >= 4
        grey = dict(enumerate(list(axis.containers)[-1]))
        for text in axis.texts:
            band = grey[round(text.xy[0])]
            assert text.xy[1] == pytest.approx(band.get_y() + band.get_height() / 2)


def test_many_bars_have_no_numbers():
    instance = fairlp.Instance.from_arrays(np.ones((20, 1)), np.full((61, 1), 7.0))
    figure = plots.plot_allocation(fairlp.allocate(instance, "drfh"), by="server")
    assert legend_of(figure)[0] == "11 others" and not figure.axes[0].texts


@pytest.mark.parametrize(("users", "named"), [(13, 13), (14, 9)])
def test_up_to_thirteen_users_all_have_a_look_of_their_own(users, named):
    instance = fairlp.Instance.from_arrays(np.ones((users, 1)), [[7.0], [9.0]])
    names = legend_of(plots.plot_allocation(fairlp.allocate(instance, "drfh")))
    assert names[::-1][1 : named + 1] == [
        f"user{n + 1}" for n in range(named)
    ]  # equal ones in their order
    assert len(names) == 1 + named + (users > named)


def test_larger_shares_are_lower_on_the_bars():
    instance = fairlp.Instance.from_arrays(np.ones((3, 1)), [[6.0]], weights=[1, 3, 2])
    names = legend_of(plots.plot_allocation(fairlp.allocate(instance, "drfh")))
    assert names == ["user1", "user3", "user2", "not in use"]


def test_long_names_show_both_ends_and_stay_different():
    users = [
        f"organisation-of-research/department-3/group-of-people/user-{n:03d}" for n in range(3)
    ]
    same_ends = [f"{'x' * 40}{n}{'y' * 40}" for n in range(3)]
    for names, ends in ((users, [name[-8:] for name in users]), (same_ends, ["y"] * 3)):
        instance = fairlp.Instance.from_arrays(np.ones((3, 1)), [[6.0]], users=names)
        figure = plots.plot_allocation(fairlp.allocate(instance, "drfh"))
        shown = legend_of(figure)[:-1]
        assert len(set(shown)) == 3 and all(
            name.endswith(end) for name, end in zip(shown[::-1], ends, strict=True)
        )
        assert (max(map(len, shown)) <= 40) == (names is users)


def test_of_many_users_over_time_nine_have_colours_and_one_name_is_of_the_others():
    times = np.array([0.0, 1.0, 2.0])
    users = [f"u{n}" for n in range(30)]
    shares = pd.DataFrame(
        [[n / 100, 0.0, (29 - n) / 50] for n in range(30)], columns=times, index=users
    ).T
    usage = pd.concat({"cpu": shares}, axis=1, names=["resource", "user"])
    found = SimpleNamespace(
        usage=usage, shares=shares, utilization=pd.DataFrame(0.0, index=times, columns=["cpu"])
    )
    figure = plots.plot_user_shares(found)
    assert legend_of(figure) == ["21 others", *users[:9]]
    for axis in figure.axes:
        colours = [line.get_color() for line in axis.lines]
        assert len(colours) == 30 and colours.count(style.OTHERS) == 21
        drawn = {
            line.get_label(): line.get_ydata().tolist()
            for line in axis.lines
            if line.get_color() != style.OTHERS
        }
        assert drawn == {user: shares[user].tolist() for user in users[:9]}
        assert axis.get_ylim() == (0, pytest.approx(1.1 * 29 / 50))
    assert len(legend_of(plots.plot_user_shares(found, users=users[:13]))) == 13
