"""The look of figures: colours that all readers can distinguish, labels that do not meet, notebooks, no pyplot."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import fairlp
import fairlp_research
from fairlp import examples, plots
from fairlp.errors import FairlpError
from fairlp.plots import style
from figure_checks import legend_names, tick_labels
from profiles import chequered

pytest.importorskip("matplotlib")


def collisions(figure):
    """Pairs of bar names, or of names of horizontal axes, that touch; slanted lines of text may be a line apart."""
    figure.draw_without_rendering()
    pairs = []
    rows = [[axis.xaxis.label for axis in figure.axes]]
    rows += [list(axis.get_xticklabels()) for axis in figure.axes]
    for row in rows:
        texts = [text for text in row if text.get_visible() and text.get_text()]
        if not texts:
            continue  # panels one above the other name their bars once
        boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.x1)
        slant = np.sin(np.deg2rad(texts[0].get_rotation()))
        line = texts[0].get_fontsize() * figure.dpi / 72
        for first, second in pairwise(boxes):
            if first.x1 > second.x0 if slant == 0 else (second.x1 - first.x1) * slant < line:
                pairs.append((first, second))
    return pairs


#: Names of bars, and whether they are slanted.
NAMES_OF_BARS = [
    (["compute", "memory", "t4", "a100"], True),  # as wide as a panel, with their numbers
    (["a", "b", "c", "d"], False),
    (["a" * 30], False),
    (["long name of the first", "b"], True),
    ([f"c{k}" for k in range(24)], True),
]


@pytest.mark.slow
@pytest.mark.parametrize(("resources", "bars"), chequered([2, 3], NAMES_OF_BARS))
def test_bar_names_do_not_meet_in_narrow_panels(resources, bars):
    names, slanted = bars
    instance = fairlp.Instance.from_arrays(
        np.eye(resources) + 0.1,
        np.arange(1, 1 + len(names) * resources).reshape(len(names), resources),
        servers=names,
        counts=np.full(len(names), 8),
    )
    figure = plots.plot_allocation(fairlp.allocate(instance, "drfh"))
    assert tick_labels(figure.axes[-1]) == [f"{name} (8)" for name in names]
    assert not collisions(figure)
    assert all((label.get_rotation() > 0) == slanted for label in figure.axes[-1].get_xticklabels())


def test_colours_never_repeat_alike():
    looks = [tuple(style.bar(k).values()) for k in range(30)]
    assert len(set(looks)) == 30


def test_missing_matplotlib_is_explained(monkeypatch):
    allocation = fairlp.allocate(examples.load("ghodsi"), "drf")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (
        plots.plot_allocation,
        plots.plot_shares,
        plots.plot_utilization,
        plots.plot_comparison,
    ):
        with pytest.raises(
            plots.PlottingNotAvailableError, match=r'pip install "fairlp\[plot\]"'
        ) as caught:
            draw(allocation)
        assert isinstance(caught.value, FairlpError)
        assert isinstance(caught.value, ImportError)


@pytest.mark.slow
def test_no_pyplot_and_no_import_before_a_figure_is_drawn(tmp_path):
    script = (
        "import sys, fairlp\n"
        "fairlp.plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        "a = fairlp.allocate(fairlp.examples.load('ghodsi'), 'drf')\n"
        "fairlp.plots.plot_allocation(a).savefig('a.png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    import os
    from pathlib import Path

    source = str(Path(fairlp.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.mark.parametrize("draw", ["allocation", "shares", "utilization", "frontier", "means"])
def test_labels_are_not_cut_in_a_low_figure(draw):
    from matplotlib import pyplot

    panels = 3 if draw == "allocation" else 1
    figure, axes = pyplot.subplots(1, panels, figsize=(7, 2.2), layout="constrained")
    answer = fairlp.allocate(examples.load("khamse-ashari-figure-1"), "c-drfh")
    if draw == "frontier":
        fairlp_research.frontier(examples.ghodsi(), (1, 2)).plot(ax=axes)
    elif draw == "means":
        study = fairlp_research.study.Study(
            "a", "uniform-integers", {"users": [3, 4], "resources": [2]}, ["drf"], ["jain"], 3
        )
        study.run(progress=False).plot("jain", ax=axes)
    else:
        getattr(plots, f"plot_{draw}")(answer, ax=axes)
    figure.canvas.draw()
    axes = np.atleast_1d(axes)
    texts = [text for axis in axes for text in (axis.xaxis.label, axis.yaxis.label, axis.title)]
    texts += [text for axis in axes if axis.get_legend() for text in axis.get_legend().get_texts()]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    pyplot.close(figure)
    assert len(boxes) >= 3
    for box in boxes:
        assert (
            box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
        ), box


@pytest.mark.slow
def test_names_are_no_formulas():
    r"""A user called ``$\foo$`` ended the drawing of every figure."""
    from io import BytesIO

    name = r"$\foo$"
    instance = fairlp.Instance.from_arrays(
        [[1, 2], [3, 1]],
        [[10, 12]],
        users=[name, "a$b"],
        resources=[r"$\r$", "memory"],
        servers=[r"$\s$"],
        queue=[r"$\q$", "b"],
        queues={r"$\q$": {}, "b": {}},
        name=r"$\n$",
    )
    allocation = fairlp.allocate(instance, "h-drf")
    solution = fairlp.formulate(instance, "drfh").solve()
    figures = [
        allocation.plot(),
        fairlp.plots.plot_shares({r"$\m$": allocation}),
        fairlp.plots.plot_comparison(fairlp.allocate_all(instance, ["drfh", "drf"])),
        fairlp.plots.plot_utilization({r"$\m$": allocation}),
        fairlp.plots.plot_queues(allocation),
        fairlp.plots.plot_path(allocation),
        solution.plot("g").figure,
    ]
    for figure in figures:
        figure.savefig(BytesIO(), format="png")
    texts = [
        label.get_text()
        for figure in figures
        for axes in figure.axes
        for label in axes.get_xticklabels()
    ]
    assert name in texts  # as it is, with its dollars


def test_long_names_show_both_ends_and_stay_different():
    users = [
        f"organisation-of-research/department-3/group-of-people/user-{n:03d}" for n in range(3)
    ]
    same_ends = [f"{'x' * 40}{n}{'y' * 40}" for n in range(3)]
    for names, ends in ((users, [name[-8:] for name in users]), (same_ends, ["y"] * 3)):
        instance = fairlp.Instance.from_arrays(np.ones((3, 1)), [[6.0]], users=names)
        figure = plots.plot_allocation(fairlp.allocate(instance, "drfh"))
        names_shown = legend_names(figure)[:-1]
        assert len(set(names_shown)) == 3 and all(
            name.endswith(end) for name, end in zip(names_shown[::-1], ends, strict=True)
        )
        assert (max(map(len, names_shown)) <= 40) == (names is users)


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
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(light):
    """CIELAB of linear RGB."""
    x = XYZ @ np.clip(light, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", SEEN)
def test_every_two_colours_are_told_apart(eyes):
    coordinates = [lab(np.array(SEEN[eyes]) @ linear(colour)) for colour in style.COLOURS]
    apart = {
        pair: float(np.linalg.norm(coordinates[pair[0]] - coordinates[pair[1]]))
        for pair in itertools.combinations(range(9), 2)
    }
    assert min(apart.values()) >= APART, min(apart, key=apart.get)


@pytest.mark.parametrize("colour", style.COLOURS)
def test_every_colour_stands_out_from_white(colour):
    assert 1.05 / (XYZ[1] @ linear(colour) + 0.05) >= DARK


def test_a_mechanism_looks_the_same_everywhere():
    cluster = fairlp.examples.load("khamse-ashari-figure-1")
    looks = {}
    for names in (["c-drfh", "tsf"], ["asset", "tsf", "c-drfh"], ["tsf"]):
        axes = fairlp.plots.plot_shares(fairlp.allocate_all(cluster, names)).axes
        handles, labels = axes[0].get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            look = (
                handle.patches[0].get_facecolor()
                if hasattr(handle, "patches")
                else handle.get_color()
            )
            assert looks.setdefault(label, look) == look, label
    assert len(set(looks.values())) == 3


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_picture_of_the_command_line_is_the_same_from_run_to_run(suffix, tmp_path):
    pictures = []
    for seed in ("1", "2"):
        picture = tmp_path / f"{seed}.{suffix}"
        arguments = [
            "compare",
            "khamse-ashari-figure-1",
            "-m",
            "c-drfh,tsf",
            "--plot",
            str(picture),
        ]
        subprocess.run(
            [sys.executable, "-m", "fairlp", *arguments],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        pictures.append(picture.read_bytes())
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_a_picture_has_neither_a_day_nor_random_names(suffix):
    from fairlp.plots.style import image

    allocation = fairlp.allocate(fairlp.examples.load("wang-figure-1"), "drfh")
    content = image(fairlp.plots.plot_allocation(allocation), suffix)
    assert content == image(fairlp.plots.plot_allocation(allocation), suffix)
    assert b"CreationDate" not in content and b"<dc:date>" not in content
