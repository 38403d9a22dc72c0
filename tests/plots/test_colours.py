"""The palette by calculation, and a mechanism's one colour."""

import itertools

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import fairlp
from fairlp.plots import style

#: Machado, Oliveira and Fernandes (2009): how colours look to whom one kind of cones is missing, of
#: linear RGB.
SEEN = {
    "by most": np.eye(3),
    "without long cones": [
        [0.1523, 1.0526, -0.2049],
        [0.1145, 0.7863, 0.0992],
        [-0.0039, -0.0481, 1.0520],
    ],
    "without middle cones": [
        [0.3673, 0.8606, -0.2280],
        [0.2801, 0.6725, 0.0474],
        [-0.0118, 0.0429, 0.9689],
    ],
    "without short cones": [
        [1.2555, -0.0767, -0.1788],
        [-0.0784, 0.9308, 0.1476],
        [0.0047, 0.6914, 0.3039],
    ],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
#: A step of 2.3 in CIELAB is just noticed; a graph asks for several times that.
APART, DARK = 14.0, 3.0


def linear(colour):
    """Linear RGB of #rrggbb."""
    part = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(light):
    """CIELAB of linear RGB."""
    x = XYZ @ np.clip(light, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", SEEN)
def test_every_two_colours_are_told_apart(eyes):
    found = [lab(np.array(SEEN[eyes]) @ linear(colour)) for colour in style.COLOURS]
    apart = {
        pair: float(np.linalg.norm(found[pair[0]] - found[pair[1]]))
        for pair in itertools.combinations(range(9), 2)
    }
    assert min(apart.values()) >= APART, min(apart, key=apart.get)


@pytest.mark.parametrize("colour", style.COLOURS)
def test_every_colour_stands_out_from_white(colour):
    assert 1.05 / (XYZ[1] @ linear(colour) + 0.05) >= DARK


def test_a_mechanism_looks_the_same_everywhere():
    cluster = fairlp.examples.load("khamse-ashari-figure-1")
    seen = {}
    for names in (["c-drfh", "tsf"], ["asset", "tsf", "c-drfh"], ["tsf"]):
        axes = fairlp.plots.plot_shares(fairlp.allocate_all(cluster, names)).axes
        handles, labels = axes[0].get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            look = (
                handle.patches[0].get_facecolor()
                if hasattr(handle, "patches")
                else handle.get_color()
            )
            assert seen.setdefault(label, look) == look, label
    assert len(set(seen.values())) == 3


def test_who_is_no_mechanism_is_counted():
    assert style.places(["a", "b", "c"]) == [0, 1, 2]
    drf, tsf = style.places(["drf", "tsf"])
    assert style.places(["somebody's", "tsf", "drf"])[1:] == [tsf, drf]
    assert len(set(style.places(["x", "drf", "y", "drf"]))) == 4
    assert (
        style.places(["best-fit"]) == style.places(["drfh-best-fit"]) != style.places(["first-fit"])
    )


def test_an_allocation_draws_itself():
    found = fairlp.allocate(fairlp.examples.load("khamse-ashari-figure-1"), "c-drfh")
    drawn, expected = found.plot(by="server"), fairlp.plots.plot_allocation(found, by="server")
    assert len(drawn.axes) == len(expected.axes)
    for one, other in zip(drawn.axes, expected.axes, strict=True):
        assert [bar.get_height() for bar in one.patches] == [
            bar.get_height() for bar in other.patches
        ]
