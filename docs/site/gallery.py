"""A gallery: every picture with the lines that draw it, which are run when the site is built."""

from __future__ import annotations

import re
from pathlib import Path

#: Title → the lines, of which the last gives the figure.
PICTURES = {
    "Who gets what": """
import fairlp
from fairlp import plots

cluster = fairlp.examples.load("khamse-ashari-figure-1")
plots.plot_allocation(fairlp.allocate(cluster, "c-drfh"), by="server")
""",
    "Mechanisms beside each other": """
import fairlp
from fairlp import plots

cluster = fairlp.examples.load("khamse-ashari-figure-1")
plots.plot_comparison(fairlp.allocate_all(cluster, ["c-drfh", "tsf", "asset"]))
""",
    "What is used": """
import fairlp
from fairlp import plots

cluster = fairlp.examples.load("wang-figure-4")
plots.plot_utilization(fairlp.allocate_all(cluster, ["drfh", "naive-drf"]))
""",
    "Task by task": """
import fairlp
from fairlp import plots

plots.plot_progressive_filling(fairlp.examples.ghodsi())
""",
    "Round by round": """
import fairlp
from fairlp import plots

cluster = fairlp.Instance.from_arrays(
    [[1, 0], [1, 2], [0, 1]], [[9, 30], [4, 0]], users=["ann", "bob", "cat"]
)
plots.plot_path(fairlp.leximin(fairlp.formulate(cluster, "drfh")))
""",
    "Efficiency against fairness": """
import fairlp
import fairlp_research

cluster = fairlp.examples.load("khamse-ashari-figure-1")
found = fairlp_research.frontier(cluster, alphas=[0, 0.5, 1, 2, 4, "inf"])
found.plot()
""",
    "Shares of users": """
import fairlp
from fairlp import plots

cluster = fairlp.examples.google_cluster(users=40, seed=1)
plots.plot_shares(fairlp.allocate_all(cluster, ["drfh", "naive-drf"]))
""",
    "Queues with a guarantee": """
import fairlp
from fairlp import plots

users = {"users": ["ann", "bob", "cat"], "queue": ["ml", "ml", "web"]}
queues = {"ml": {"weight": 1}, "web": {"weight": 1, "guarantee": {"cpu": 50}}}
cluster = fairlp.Instance.from_arrays(
    [[1, 4], [2, 2], [4, 1]], [[64, 256]], resources=["cpu", "memory"], queues=queues, **users
)
plots.plot_queues(fairlp.allocate(cluster, "h-drf"))
""",
    "A fair division without complaints": """
import fairlp

cluster = fairlp.Instance.from_arrays([[4, 1], [1, 4], [2, 2]], [[12, 12]], task_limits=[9, 9, 9])
beside = fairlp.complaints.against_drf(cluster)
beside.users[["njc", "drf"]].plot.bar(ylabel="tasks").figure
""",
    "A production plan": """
from fairlp import Index, Model

p, k = Index("p", ["chair", "desk", "shelf"], "product"), Index("k", ["saw", "paint"], "machine")
model = Model("plan", indices=(p, k))
h = model.parameter("h", (k, p), [[1, 3, 2], [1, 2, 0.5]])
x = model.variable("x", p, upper=15)
model.constraint("time", (h * x).sum(p) <= [40, 24])
model.maximize(([20, 50, 30] * x).sum())
model.solve().plot("x").figure
""",
    "Sensitivity of a profit": """
from fairlp import Index, Model

p = Index("p", ["chair", "desk", "shelf"], "product")
model = Model("plan", indices=(p,))
hours, x = model.parameter("hours", (), 40), model.variable("x", p, upper=15)
model.constraint("saw", ([1, 3, 2] * x).sum() <= hours)
model.maximize(([20, 50, 30] * x).sum())
swept = model.sweep("hours", range(0, 121, 5), read="saw")
swept[["objective", "saw"]].plot(subplots=True, title=["profit", "price of an hour"])[0].figure
""",
    "Unit commitment": """
from fairlp import Index, Model

g, h = Index("g", ["coal", "gas"], "plant"), Index("h", range(12), "hour")
model = Model("units", indices=(g, h))
power, on = model.variable("power", g, h), model.variable("on", g, h, binary=True)
load = [40, 35, 45, 70, 110, 130, 120, 125, 140, 110, 80, 50]
model.constraint("load", power.sum(g) == load)
model.constraint("most", power <= [100, 60] * on)
model.constraint("least", power >= [30, 10] * on)
model.minimize(([20, 35] @ power).sum() + ([500, 100] @ on).sum())
model.solve().values["power"].T.plot.area(ylabel="power").figure
""",
    "Users who arrive and leave": """
import fairlp
import fairlp_research
from fairlp_research import plots

cluster = fairlp.Instance.from_arrays([[1, 2], [2, 1]], [[9, 9], [12, 6]], users=["ann", "bob"])
found = fairlp_research.distributed.track(cluster, {"ann": (100, 250)}, until=300)
plots.plot_tracking(found)
""",
    "How methods converge": """
import fairlp
import fairlp_research
from fairlp_research import plots

entry = fairlp_research.library.load("uniform", users=30, servers=15)
methods = ["best-response", "sweeps", "algorithm-1"]
runs = {name: fairlp.allocate(entry.instance, "psdsf-rdm", method=name) for name in methods}
plots.plot_convergence({name: run.rounds["change"] for name, run in runs.items()})
""",
    "A Monte Carlo study": """
from fairlp_research import study

experiment = study.Study(
    name="limits",
    generator="uniform-integers",
    grid={"users": [5, 10, 20, 40], "resources": [3], "demands": [[1, 10]], "reserves": [[100, 200]]},
    mechanisms={"exact": "drf-discrete", "precomputed": {"mechanism": "pdrf"}},
    statistics=[{"name": "deviation", "of": "precomputed", "from": "exact"}],
    runs=20, seed=0)
experiment.run(progress=False).plot("deviation.under")
""",
    "Utilisation over time": """
from fairlp_research import plots
from fairlp_research.simulation import experiments, generators

servers = generators.google_sample(30, seed=1)
load = generators.synthetic(200, users=10, hours=1, seed=1)
found = experiments.compare_policies(servers, load, ("best-fit", "slots"), until=7200, every=60)
plots.plot_utilization_over_time(found)
""",
    "Completion times": """
from fairlp_research import plots
from fairlp_research.simulation import experiments, generators

servers = generators.google_sample(30, seed=1)
load = generators.synthetic(200, users=10, hours=1, seed=1)
found = experiments.compare_policies(servers, load, ("best-fit", "slots"), until=7200)
plots.plot_completion_times(found)
""",
}


def write_gallery(folder: Path) -> None:
    """Draw the pictures and write the page."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from fairlp.plots.style import image

    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Gallery",
        "",
        "Every picture with its lines; `fairlp.plots` and `fairlp_research.plots` draw with Matplotlib.",
        "",
    ]
    for title, code in PICTURES.items():
        figure = drawn(code)
        name = f"{title.lower().replace(' ', '-')}.svg"
        (folder / name).write_bytes(image(figure, "svg", bbox_inches="tight"))
        plt.close("all")
        lines += [
            f"## {title}",
            "",
            f"![{title}]({name})",
            "",
            f"```python\n{code.strip()}\n```",
            "",
        ]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def drawn(code: str) -> object:
    """Run the lines and return the figure that the last one gives."""
    *before, last = code.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(before), names)
    return eval(last, names)


#: Colours of a picture where the page is dark: paper, letters and axes. A page and a picture that
#: disagree about the dark are readable, too.
IN_THE_DARK = """
@media (prefers-color-scheme: dark) {
  svg { fill: #e6edf3 }
  [style*="fill: #ffffff"] { fill: #0d1117 !important }
  [style*="stroke: #000000"] { stroke: #e6edf3 !important }
}
"""


def write_front(folder: Path) -> None:
    """Draw the picture of the front page: the model, the allocation and the proof, beside each other."""
    import matplotlib.pyplot as plt

    import fairlp
    from fairlp.plots.style import COLOURS, image, places

    users, servers, resources = ["ann", "bob"], ["big-memory", "big-cpu"], ["cpu", "memory"]
    cluster = fairlp.Instance.from_arrays(
        [[0.2, 1.0], [1.0, 0.2]],
        [[2, 12], [12, 2]],
        users=users,
        servers=servers,
        resources=resources,
    )
    model = fairlp.formulate(cluster, "drfh")
    proved = model.solve(solver="highs").verify()
    exact = fairlp.allocate(cluster, "drfh").certify(exact=True)
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(11, 2.7), width_ratios=(1.25, 1, 1.1), layout="constrained"
    )
    says = "\n".join(line.replace("  (Wang", "\n(Wang") for line in str(model).splitlines()[:5])
    for axes, title, words in (
        (left, "Write it as the paper does", says),
        (
            right,
            "Check it, send it",
            f'{_folded(str(proved))}\n\n{_folded(str(exact))}\n\nmodel.write("drfh.mps")',
        ),
    ):
        axes.set_axis_off()
        axes.set_title(title, loc="left", fontweight="bold")
        axes.text(
            0,
            0.95,
            words,
            family="monospace",
            fontsize=10,
            va="top",
            transform=axes.transAxes,
            linespacing=1.4,
        )
    tasks = fairlp.compare(cluster, ["drfh", "naive-drf"])
    tasks.plot.bar(
        ax=middle,
        rot=0,
        color=[COLOURS[k] for k in places(tasks.columns)],
        ylabel="tasks",
        xlabel="user",
    )
    middle.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, -0.55), ncols=2)
    middle.set_title("Solve it, by any solver", loc="left", fontweight="bold")
    path = folder / "front.svg"
    text = image(figure, "svg", bbox_inches="tight").decode()
    plt.close("all")
    path.write_text(text.replace("</style>", f"{IN_THE_DARK}</style>", 1), encoding="utf-8")


def write_second_model(folder: Path) -> None:
    """Draw the picture of the front page's second model, by the lines that stand on the page."""
    import matplotlib as mpl

    mpl.use("Agg")
    from fairlp.plots.style import image

    page = (Path(__file__).parents[1] / "index.md").read_text(encoding="utf-8")
    _, code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    text = image(names["figure"], "svg").decode()
    text = text.replace("</style>", f"{IN_THE_DARK}</style>", 1)
    (folder / "unit-commitment.svg").write_text(text, encoding="utf-8")


def _folded(text: str) -> str:
    """Return text in lines of at most 36 letters."""
    import textwrap

    return textwrap.fill(text, 36)


if (
    __name__ == "__main__"
):  # docs/figures/front.svg, which the README shows too, and unit-commitment.svg
    write_front(Path(__file__).parents[1] / "figures")
    write_second_model(Path(__file__).parents[1] / "figures")
